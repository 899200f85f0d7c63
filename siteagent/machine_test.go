package siteagent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ferrule/drivers"
	"ferrule/lab"
	"ferrule/lab/ramdisk"
	"ferrule/metal"
)

// beat is what a ramdisk tells in its heartbeat.
type beat struct {
	URL   string `json:"callback_url"`
	Token string `json:"agent_token"`
	CA    string `json:"agent_verify_ca"`
}

// plane answers ramdisks as the API does, and passes their heartbeats on.
func plane(node string, beats chan<- beat) func(*http.Request) (int, string) {
	return func(r *http.Request) (int, string) {
		switch {
		case r.URL.Path == "/":
			return http.StatusOK, `{"default_version": {"id": "v1", "version": "1.109", "min_version": "1.1"}}`
		case r.URL.Path == "/v1/lookup":
			return http.StatusOK, `{"node": {"uuid": "` + node + `"}, "config": {"heartbeat_timeout": 300, "agent_token": "******", "agent_token_required": true}}`
		case strings.HasPrefix(r.URL.Path, "/v1/heartbeat/"):
			var b beat
			if err := json.NewDecoder(r.Body).Decode(&b); err != nil || r.Header.Get("X-OpenStack-Ironic-API-Version") == "" {
				return http.StatusBadRequest, "{}"
			}
			beats <- b
			return http.StatusAccepted, ""
		default:
			return http.StatusNotFound, "{}"
		}
	}
}

// bench is an emulated server under a real driver.
type bench struct {
	*rig
	server *lab.Server
	node   string
}

func newBench(t *testing.T, beats chan<- beat) *bench {
	t.Helper()
	servers, err := lab.New(lab.Config{
		Dir: t.TempDir(), BMCBase: "127.0.109.1", MachineBase: "127.0.189.1", DiskSize: 64 << 20,
		Timing: ramdisk.Timing{HeartbeatDistance: time.Millisecond, RetryAfterError: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	r := idleRig(t)
	b := &bench{rig: r, server: servers.Servers()[0], node: command().NodeUUID}
	registry := drivers.New(drivers.Config{})
	t.Cleanup(func() { _ = registry.Close(context.Background()) })
	r.real, r.link.relay = registry, plane(b.node, beats)
	user, password := b.server.Credentials()
	r.secret(bmcRef(b.node), string(metal.ToJSON(map[string]string{"username": user, "password": password})))
	r.start(time.Minute)
	return b
}

// order has the driver do something to the server's BMC.
func (b *bench) order(kind metal.Kind, op metal.Operation, args any) metal.CommandResult {
	b.t.Helper()
	identity := b.server.Identity()
	cmd := ownCommand(kind, op, args)
	cmd.NodeUUID = b.node
	cmd.Request.Driver, cmd.Request.Address, cmd.Request.CredentialsRef = "redfish", identity.RedfishAddress, bmcRef(b.node)
	cmd.Request.TLSSPKISHA256 = identity.SPKISHA256
	return b.must(cmd)
}

func (b *bench) must(cmd metal.Command) metal.CommandResult {
	b.t.Helper()
	cmd.NodeUUID = b.node
	result := b.do(cmd)
	if !result.OK {
		b.t.Fatalf("%s: %s %s", cmd.Request.Operation, result.ErrorCode, result.Message)
	}
	return result
}

func TestMachineBootsItsMediumAndItsRamdiskWorks(t *testing.T) {
	beats := make(chan beat, 100)
	b := newBench(t, beats)
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "image "+r.URL.Path) }))
	defer images.Close()
	token := rand.Text() + rand.Text()
	b.secret(tokenRef(b.node), token)
	withToken := func(cmd metal.Command) metal.Command {
		cmd.Request.Secrets = map[string]string{metal.TokenParam: tokenRef(b.node)}
		return cmd
	}

	var published metal.PublishMediaResult
	result := b.must(withToken(ownCommand(metal.KindMediaPublish, metal.MediaPublish, metal.PublishMediaArgs{
		Name: "boot-" + b.node + ".iso", KernelURL: images.URL + "/k", RamdiskURL: images.URL + "/r",
		KernelParams: []string{"nofb", "ipa-api-url={relay}", "boot_method=vmedia"},
	})))
	if err := json.Unmarshal(result.ResultJSON, &published); err != nil {
		t.Fatal(err)
	}
	b.order(metal.KindBoot, metal.VirtualMediaInsert, metal.InsertMediaArgs{Device: "cdrom", ImageURL: published.URL})
	b.order(metal.KindBoot, metal.BootDeviceSet, metal.BootDeviceArgs{Device: "cdrom"})
	b.order(metal.KindPower, metal.PowerSet, metal.SetPowerArgs{Target: metal.PowerOn})

	first := wait(t, beats)
	if first.Token != token || !strings.HasPrefix(first.URL, "https://") || first.CA == "" {
		t.Fatalf("the ramdisk calls with %+v", first)
	}
	result = b.must(withToken(ownCommand(metal.KindRamdisk, metal.RamdiskCall, metal.RamdiskCallArgs{
		AgentURL: first.URL, VerifyCA: first.CA, Wait: true,
		Command: "clean.get_clean_steps", Params: map[string]any{"node": map[string]any{"uuid": b.node}, "ports": []any{}},
	})))
	var called metal.RamdiskCallResult
	if err := json.Unmarshal(result.ResultJSON, &called); err != nil || called.Command == nil || called.Command.Result["clean_steps"] == nil {
		t.Errorf("steps: %s, %v", result.ResultJSON, err)
	}
	b.order(metal.KindPower, metal.PowerSet, metal.SetPowerArgs{Target: metal.PowerOff})
	b.order(metal.KindBoot, metal.VirtualMediaEject, metal.EjectMediaArgs{})
	b.must(ownCommand(metal.KindMediaRetract, metal.MediaRetract, metal.RetractMediaArgs{Name: "boot-" + b.node + ".iso"}))
	_, password := b.server.Credentials()
	for _, secret := range []string{token, password} {
		b.checkNowhere(secret)
	}
}

func TestPowerChangedAtTheBMCIsSeen(t *testing.T) {
	b := newBench(t, make(chan beat, 100))
	b.order(metal.KindWatch, metal.PowerGet, metal.WatchArgs{IntervalSeconds: 1, LeaseSeconds: 60})
	if seen := wait(t, b.link.observed); seen.PowerState != metal.PowerOff {
		t.Fatalf("seen: %+v", seen)
	}
	if err := b.server.Press("on"); err != nil {
		t.Fatal(err)
	}
	if seen := wait(t, b.link.observed); seen.PowerState != metal.PowerOn {
		t.Errorf("seen: %+v", seen)
	}
}
