package lab_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ferrule/lab"
	"ferrule/lab/event"
	"ferrule/lab/image"
	"ferrule/lab/ramdisk"
)

// ready boots the ramdisk and waits until it serves.
func ready(t *testing.T, cfg lab.Config, words ...string) (*plane, *lab.Server, *agent) {
	t.Helper()
	p := newPlane(t)
	if cfg.DiskSize == 0 {
		cfg.DiskSize = 96 << 20
	}
	_, s := start(t, cfg)
	newConsole(t, s).bootMedium(p.bootISO(words...))
	p.await("a heartbeat", func() bool { return p.heartbeats > 0 })
	return p, s, p.agent()
}

func TestAgentRefusesWhatTheRealOneRefuses(t *testing.T) {
	_, _, a := ready(t, lab.Config{})
	wrong := url.Values{"agent_token": {"wrong"}}
	command := func(name string, params any) map[string]any { return map[string]any{"name": name, "params": params} }
	cases := []struct {
		name, method, path string
		query              url.Values
		body               any
		want               int
	}{
		{"no token", "GET", "/v1/commands/", nil, nil, 401},
		{"wrong token", "GET", "/v1/commands/", wrong, nil, 401},
		{"wrong token for a command", "POST", "/v1/commands/", wrong, command("standby.sync", map[string]any{}), 401},
		{"no such command id", "GET", "/v1/commands/none", a.query(), nil, 404},
		{"unknown extension", "POST", "/v1/commands/", a.query(), command("iscsi.start", map[string]any{}), 404},
		{"unknown command", "POST", "/v1/commands/", a.query(), command("standby.cache_image", map[string]any{}), 400},
		{"no extension", "POST", "/v1/commands/", a.query(), command("sync", map[string]any{}), 400},
		{"params no object", "POST", "/v1/commands/", a.query(), command("standby.sync", []string{}), 400},
		{"no params", "POST", "/v1/commands/", a.query(), map[string]any{"name": "standby.sync"}, 400},
		{"no object", "POST", "/v1/commands/", a.query(), "x", 400},
		{"status", "GET", "/v1/status", nil, nil, 200},
		{"root", "GET", "/", nil, nil, 200},
		{"v1", "GET", "/v1/", nil, nil, 200},
		{"a good one", "POST", "/v1/commands/", a.query(), command("standby.sync", map[string]any{}), 200},
	}
	for _, c := range cases {
		status, body := a.request(c.method, c.path, c.query, c.body)
		if status != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, status, c.want, body)
		}
		if status >= 400 && !strings.Contains(string(body), "faultstring") {
			t.Errorf("%s: no fault in %s", c.name, body)
		}
	}
}

func TestAgentIsBusyWhileACommandRuns(t *testing.T) {
	_, s, a := ready(t, lab.Config{})
	s.SetStepFaults(map[string]lab.StepFault{"erase_devices": {Hold: true}})
	post := func(name string, params map[string]any) (int, agentCommand) {
		status, body := a.request(http.MethodPost, "/v1/commands/", a.query(), map[string]any{"name": name, "params": params})
		var c agentCommand
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		return status, c
	}
	_, running := post("clean.execute_clean_step", step("erase_devices", nil))
	if running.Status != "RUNNING" {
		t.Fatalf("a held step: %+v", running)
	}
	if status, _ := post("standby.sync", map[string]any{}); status != http.StatusConflict {
		t.Errorf("a command beside a running one: %d, want 409", status)
	}
	s.SetStepFaults(nil)
	query := a.query()
	query.Set("wait", "true")
	_, body := a.request(http.MethodGet, "/v1/commands/"+running.ID, query, nil)
	if !strings.Contains(string(body), "SUCCEEDED") {
		t.Errorf("the step once let go: %s", body)
	}
	if status, _ := post("standby.sync", map[string]any{}); status != http.StatusOK {
		t.Errorf("a command after it: %d", status)
	}
}

func TestStepsThatFail(t *testing.T) {
	_, s, a := ready(t, lab.Config{})
	s.SetStepFaults(map[string]lab.StepFault{"erase_devices": {Fail: "the disk is on fire"}})
	failed := a.run("clean.execute_clean_step", step("erase_devices", nil))
	if failed.Status != "FAILED" || !strings.Contains(failed.Error["details"].(string), "on fire") || failed.Result != nil {
		t.Errorf("failed step: %+v", failed)
	}
	s.SetStepFaults(nil)
	unknown := a.run("clean.execute_clean_step", step("polish", nil))
	if unknown.Status != "FAILED" {
		t.Errorf("unknown step: %+v", unknown)
	}
	old := step("erase_devices", nil)
	old["clean_version"] = map[string]any{"generic_hardware_manager": "1.0"}
	if c := a.run("clean.execute_clean_step", old); c.Status != "CLEAN_VERSION_MISMATCH" {
		t.Errorf("step of another version: %+v", c)
	}
	old["clean_version"] = map[string]any{"generic_hardware_manager": "1.2"}
	a.succeed("clean.execute_clean_step", old)
	stranger := step("erase_devices", nil)
	stranger["node"] = map[string]any{"uuid": "another"}
	if c := a.run("clean.execute_clean_step", stranger); c.Status != "FAILED" {
		t.Errorf("step for another node: %+v", c)
	}
}

func TestHookSeesEveryCommand(t *testing.T) {
	seen := make(chan ramdisk.Call, 10)
	_, _, a := ready(t, lab.Config{Hook: func(_ context.Context, server string, call ramdisk.Call) error {
		seen <- call
		if call.Command == "log.collect_system_logs" {
			return errors.New("no logs for " + server)
		}
		return nil
	}})
	a.succeed("service.execute_service_step", step("burnin_cpu", nil))
	if call := <-seen; call.Command != "service.execute_service_step" || call.Step != "burnin_cpu" {
		t.Errorf("call %+v", call)
	}
	if c := a.run("log.collect_system_logs", map[string]any{}); c.Status != "FAILED" {
		t.Errorf("refused by the hook: %+v", c)
	}
}

func TestImagesThatAreRefused(t *testing.T) {
	p, s, a := ready(t, lab.Config{})
	raw, err := image.GPT(5)
	if err != nil {
		t.Fatal(err)
	}
	source := p.publish("image", raw)
	with := func(changes map[string]any) map[string]any {
		info := imageInfo(source, "raw", raw)
		for k, v := range changes {
			if info[k] = v; v == nil {
				delete(info, k)
			}
		}
		return map[string]any{"image_info": info, "configdrive": configDrive(t, nodeUUID)}
	}
	sum := image.SHA256(raw)
	cases := map[string]struct {
		args map[string]any
		want string
	}{
		"wrong sum":           {with(map[string]any{"os_hash_value": strings.Repeat("0", 64)}), "checksum"},
		"wrong sum, download": {with(map[string]any{"os_hash_value": strings.Repeat("0", 64), "stream_raw_images": false}), "checksum"},
		"no sum":              {with(map[string]any{"os_hash_value": nil}), "no usable checksum"},
		"odd algorithm":       {with(map[string]any{"os_hash_algo": "crc32"}), "unknown checksum algorithm"},
		"no url":              {with(map[string]any{"urls": []string{}}), "no urls"},
		"file url":            {with(map[string]any{"urls": []string{"file:///etc/hostname"}}), "no http"},
		"missing image":       {with(map[string]any{"urls": []string{source + "-none"}}), "answered 404"},
		"partition image":     {with(map[string]any{"image_type": "partition"}), "partition images"},
		"other node":          {with(map[string]any{"node_uuid": "another"}), "another"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := a.run("deploy.execute_deploy_step", step("write_image", c.args))
			if got.Status != "FAILED" || !strings.Contains(got.Error["details"].(string), c.want) {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
	if w := s.Snapshot().Image; w != nil {
		t.Errorf("a refused image counts as written: %+v", w)
	}
	broken := with(nil)
	broken["configdrive"] = "no base64!"
	if c := a.run("deploy.execute_deploy_step", step("write_image", broken)); c.Status != "FAILED" {
		t.Errorf("broken config drive: %+v", c)
	}
	sums := p.publish("SHA256SUMS", []byte(strings.Repeat("0", 64)+"  other\n"+sum+" *image\n"))
	for _, given := range []string{sum, sums} {
		good := with(map[string]any{"os_hash_algo": nil, "os_hash_value": nil, "checksum": given})
		a.succeed("deploy.execute_deploy_step", step("write_image", good))
	}
}

func TestConfigDriveFromURL(t *testing.T) {
	p, s, a := ready(t, lab.Config{})
	raw, err := image.GPT(6)
	if err != nil {
		t.Fatal(err)
	}
	info := imageInfo(p.publish("image", raw), "raw", raw)
	drive := p.publish("drive", []byte(configDrive(t, nodeUUID)))
	a.succeed("deploy.execute_deploy_step", step("write_image", map[string]any{"image_info": info, "configdrive": drive}))
	if got := s.Snapshot().ConfigDrive["openstack/latest/meta_data.json"]; !strings.Contains(got, nodeUUID) {
		t.Errorf("config drive from a URL: %q", got)
	}
}

func TestAgentsOtherCommands(t *testing.T) {
	_, s, a := ready(t, lab.Config{}, "BOOTIF=01-52-54-00-64-01-00")
	if c := a.succeed("poll.get_hardware_info", map[string]any{}); c.Result["memory"] == nil {
		t.Errorf("hardware info: %v", c.Result)
	} else if boot := c.Result["boot"].(map[string]any); boot["pxe_interface"] != "52:54:00:64:01:00" {
		t.Errorf("boot of the inventory: %v", boot)
	}
	if c := a.succeed("log.collect_system_logs", map[string]any{}); c.Result["system_logs"] == "" {
		t.Error("no logs")
	}
	if c := a.run("image.install_bootloader", map[string]any{}); c.Status != "FAILED" {
		t.Errorf("boot loader on a blank disk: %+v", c)
	}
	if c := a.run("rescue.finalize_rescue", map[string]any{"rescue_password": "$6$x", "hashed": false}); c.Status != "FAILED" {
		t.Errorf("rescue with a password in clear: %+v", c)
	}
	a.succeed("rescue.finalize_rescue", map[string]any{"rescue_password": "$6$x", "hashed": true})
	await(t, s, event.RamdiskStopped, "reason", "rescue finalized")
}

func TestRunImageReboots(t *testing.T) {
	_, s, a := ready(t, lab.Config{})
	seq := s.Events.Last()
	a.succeed("standby.run_image", map[string]any{})
	awaitAfter(t, s, seq, event.PowerChanged, "power", "On")
}

func TestLookupIsTriedAgain(t *testing.T) {
	p := newPlane(t)
	p.refuse["lookup"] = []int{404, 409, 500}
	p.refuse["root"] = []int{503}
	p.refuse["heartbeat"] = []int{409, 503}
	_, s := start(t, lab.Config{})
	newConsole(t, s).bootMedium(p.bootISO())
	await(t, s, event.Heartbeat)
}

func TestRamdiskWithoutTheTokenLocksItselfDown(t *testing.T) {
	p := newPlane(t)
	_, s := start(t, lab.Config{})
	newConsole(t, s).bootMedium(p.iso("ipa-api-url="+p.URL, nil))
	if e := await(t, s, event.CallFailed, "call", "lookup"); !strings.Contains(e.Detail["error"], "locked down") {
		t.Errorf("lookup without a token: %v", e)
	}
	if p.heartbeats != 0 {
		t.Error("a ramdisk that is locked down sent heartbeats")
	}
}

func TestOldAPIGetsPlainHTTP(t *testing.T) {
	p := newPlane(t)
	p.version = "1.67"
	_, s := start(t, lab.Config{})
	newConsole(t, s).bootMedium(p.bootISO())
	p.await("a heartbeat", func() bool { return p.heartbeats > 0 })
	if a := p.agent(); !strings.HasPrefix(a.url, "http://") || p.agentCA != "" || p.versions["heartbeat"] != "1.67" {
		t.Errorf("url %s, certificate %q, version %s", a.url, p.agentCA, p.versions["heartbeat"])
	}
}

func TestTrustOfTheAPIOverTLS(t *testing.T) {
	cases := map[string]struct {
		line  string
		files func(ca []byte) map[string][]byte
		calls bool
	}{
		"insecure":  {line: "ipa-insecure=1", calls: true},
		"untrusted": {line: "boot_method=vmedia"},
		"CA on the medium": {line: "boot_method=vmedia", calls: true, files: func(ca []byte) map[string][]byte {
			return map[string][]byte{
				"etc/ironic-python-agent/ironic.crt":        ca,
				"etc/ironic-python-agent.d/ironic-tls.conf": []byte("[DEFAULT]\ncafile = /etc/ironic-python-agent/ironic.crt\n"),
			}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t)
			secure := httptest.NewTLSServer(p.Config.Handler)
			defer secure.Close()
			var files map[string][]byte
			if c.files != nil {
				files = c.files(certificatePEM(secure.Certificate()))
			}
			_, s := start(t, lab.Config{})
			newConsole(t, s).bootMedium(p.iso("ipa-api-url="+secure.URL+" ipa-agent-token="+p.token+" "+c.line, files))
			if c.calls {
				await(t, s, event.Heartbeat)
				return
			}
			if e := await(t, s, event.CallFailed, "call", "lookup"); !strings.Contains(e.Detail["error"], "certificate") {
				t.Errorf("untrusted API: %v", e)
			}
		})
	}
}

func TestInspectionThenHeartbeats(t *testing.T) {
	p := newPlane(t)
	p.refuse["inspection"] = []int{409, 502}
	_, s := start(t, lab.Config{})
	newConsole(t, s).bootMedium(p.bootISO("ipa-inspection-collectors=default,pci-devices,lldp"))
	await(t, s, event.Inspected)
	await(t, s, event.Heartbeat)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inspection["pci_devices"] == nil || p.inspection["lldp_raw"] == nil || p.inspection["logs"] != nil {
		t.Errorf("plugin data of the collectors asked for: %v", p.inspection)
	}
}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
