package siteagent

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/drivers"
	"ferrule/metal"
)

func (r *rig) get(address string) (int, []byte) {
	r.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(address)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, data
}

// checkNowhere looks for a secret in the agent's folder and in its log.
func (r *rig) checkNowhere(secret string) {
	r.t.Helper()
	forms := map[string]string{"raw": secret, "hex": hex.EncodeToString([]byte(secret))}
	for shift := range 3 { // base64 of the secret at each alignment, less its uncertain ends
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		forms["base64 at "+string(rune('0'+shift))] = encoded[4 : len(encoded)-4]
	}
	places := map[string][]byte{"the log": []byte(r.log.String())}
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		places[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	for place, data := range places {
		for form, text := range forms {
			if bytes.Contains(data, []byte(text)) {
				r.t.Errorf("the secret is in %s, %s", place, form)
			}
		}
	}
}

func TestMediumIsPublishedServedAndRetracted(t *testing.T) {
	r := newRig(t)
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, "image at "+q.URL.Path)
	}))
	defer images.Close()
	token := rand.Text() + rand.Text()
	publish := func() string {
		cmd := ownCommand(metal.KindMediaPublish, metal.MediaPublish, metal.PublishMediaArgs{
			Name: "boot-1.iso", KernelURL: images.URL + "/k", RamdiskURL: images.URL + "/r",
			KernelParams: []string{"ipa-api-url={relay}"},
		})
		cmd.Request.Secrets = map[string]string{metal.TokenParam: tokenRef(cmd.NodeUUID)}
		r.secret(tokenRef(cmd.NodeUUID), token)
		result := r.do(cmd)
		var published metal.PublishMediaResult
		if err := json.Unmarshal(result.ResultJSON, &published); err != nil {
			t.Fatalf("%+v: %v", result, err)
		}
		return published.URL
	}
	address := publish()
	status, medium := r.get(address)
	if status != http.StatusOK {
		t.Fatalf("%s: %d", address, status)
	}
	for _, want := range []string{"image at /k", "image at /r", "ipa-api-url=" + r.agent.URL() + " ", "ipa-agent-token=" + token} {
		if !bytes.Contains(medium, []byte(want)) {
			t.Errorf("the medium lacks %q", want)
		}
	}
	host := r.agent.URL()
	r.restart()
	if status, after := r.get(strings.Replace(address, host, r.agent.URL(), 1)); status != http.StatusOK || !bytes.Equal(medium, after) {
		t.Errorf("after a restart: %d", status)
	}
	if result := r.do(ownCommand(metal.KindMediaRetract, metal.MediaRetract, metal.RetractMediaArgs{Name: "boot-1.iso"})); !result.OK {
		t.Errorf("retract: %+v", result)
	}
	if status, _ := r.get(strings.Replace(address, host, r.agent.URL(), 1)); status != http.StatusNotFound {
		t.Errorf("retracted: %d", status)
	}
	r.checkNowhere(token)
}

func TestSecretsReachTheRamdiskAndNothingElse(t *testing.T) {
	r := newRig(t)
	token, userData, pullSecret, typedSecret := rand.Text()+rand.Text(), rand.Text(), rand.Text(), rand.Text()
	got := make(chan map[string]any, 1)
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(q.Body).Decode(&body)
		body["token"] = q.URL.Query().Get("agent_token")
		got <- body
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "1", "command_name": "execute_deploy_step", "command_status": "RUNNING",
			"command_result": map[string]any{"deploy_step": body["params"].(map[string]any)["step"], "log": "used " + pullSecret},
		})
	}))
	defer machine.Close()
	const text = "secret://tenant/nodes/n/driver_info/redfish_password" // anybody's, in an argument
	cmd := ownCommand(metal.KindRamdisk, metal.RamdiskCall, metal.RamdiskCallArgs{
		AgentURL: machine.URL, Command: "deploy.execute_deploy_step", ConfigDrive: true,
		Params: map[string]any{
			"node": map[string]any{"uuid": "u-1", "name": "n-1"},
			"step": map[string]any{"step": "write_image", "args": map[string]any{
				"image_info": map[string]any{}, "list": []any{nil, map[string]any{"a/b": nil}}, "typed": nil, "text": text,
			}},
		},
	})
	drivePlace := metal.InstanceInfoSecrets(cmd.NodeUUID).Below("configdrive").Ref()
	pull, typed := paramRef(cmd.NodeUUID, "pull"), paramRef(cmd.NodeUUID, "list#json")
	cmd.Request.Secrets = map[string]string{
		metal.TokenParam: tokenRef(cmd.NodeUUID), metal.ConfigDriveParam: drivePlace,
		"/params/step/args/image_info/image_server_password": pull,
		"/params/step/args/list/1/a~1b":                      pull, "/params/step/args/typed": typed,
	}
	r.secret(tokenRef(cmd.NodeUUID), token)
	r.secret(drivePlace, `{"user_data": "`+userData+`"}`)
	r.secret(pull, pullSecret)
	r.secret(typed, `["`+typedSecret+`",7]`)
	result := r.do(cmd)
	if !result.OK || !strings.Contains(string(result.ResultJSON), "write_image") {
		t.Fatalf("result is %+v", result)
	}
	body := wait(t, got)
	args := body["params"].(map[string]any)["step"].(map[string]any)["args"].(map[string]any)
	drive, _ := args["configdrive"].(string)
	if body["token"] != token || !strings.HasPrefix(drive, "H4sI") || args["image_info"].(map[string]any)["image_server_password"] != pullSecret {
		t.Errorf("the ramdisk got %v", body)
	}
	if diff := cmp.Diff([]any{nil, map[string]any{"a/b": pullSecret}}, args["list"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{typedSecret, 7.0}, args["typed"]); diff != "" {
		t.Error(diff)
	}
	if args["text"] != text || slices.Contains(r.askedRefs(), text) {
		t.Errorf("a text in the arguments became %v; the agent asked for %q", args["text"], r.askedRefs())
	}
	for _, secret := range []string{token, userData, pullSecret, typedSecret, drive} {
		r.checkNowhere(secret)
		if strings.Contains(string(result.ResultJSON), secret) {
			t.Errorf("a secret is in the result: %s", result.ResultJSON)
		}
	}
	if left, err := os.ReadDir(r.agent.workDir()); err != nil || len(left) != 0 {
		t.Errorf("work folder holds %v, %v", left, err)
	}
}

func TestSecretParamsNeedAPlace(t *testing.T) {
	r := newRig(t)
	for pointer, params := range map[string]map[string]any{
		"/params/a/b":   {"a": 1},
		"/params/a/b/c": {"a": map[string]any{}},
		"/params/a":     nil,
		"/params/a/1":   {"a": []any{1}},
		"/params/a/-1":  {"a": []any{1}},
		"/params/a/0/x": {"a": []any{1}},
	} {
		cmd := ownCommand(metal.KindRamdisk, metal.RamdiskCall, metal.RamdiskCallArgs{
			AgentURL: "https://127.0.0.1:9", Command: "a.b", Params: params,
		})
		cmd.Request.Secrets = map[string]string{pointer: paramRef(cmd.NodeUUID, "x")}
		r.secret(paramRef(cmd.NodeUUID, "x"), rand.Text())
		if result := r.do(cmd); result.ErrorCode != metal.CodeInvalidArgs {
			t.Errorf("%s: %+v", pointer, result)
		}
	}
}

func TestBMCPasswordIsNowhere(t *testing.T) {
	r := newRig(t)
	creds, secret := account("root")
	r.drivers.execute = func(_ context.Context, _ metal.Request, creds drivers.Credentials) metal.CommandResult {
		return failure(metal.CodeAuthFailed, "the BMC refuses the password")
	}
	for _, kind := range []metal.Kind{metal.KindPower, metal.KindQuery, metal.KindWatch} {
		cmd := command()
		cmd.Kind, cmd.Request.CredentialsRef = kind, bmcRef(cmd.NodeUUID)
		r.secret(cmd.Request.CredentialsRef, secret)
		cmd.Request.ArgsJSON = []byte(`{"intervalSeconds": 60, "leaseSeconds": 60}`)
		if kind != metal.KindPower {
			cmd.Request.Operation = metal.PowerGet
		}
		r.do(cmd)
	}
	wait(t, r.link.observed)
	r.checkNowhere(creds.Password)
}

func TestPowerOfALeasedNodeIsObserved(t *testing.T) {
	r := newRig(t)
	creds, secret := account("root")
	r.drivers.execute = func(_ context.Context, req metal.Request, got drivers.Credentials) metal.CommandResult {
		if got != creds || req.ArgsJSON != nil {
			t.Error("the driver got something else")
		}
		return powerOn()
	}
	cmd := command()
	cmd.Kind, cmd.Request.Operation, cmd.Request.CredentialsRef = metal.KindWatch, metal.PowerGet, bmcRef(cmd.NodeUUID)
	r.secret(cmd.Request.CredentialsRef, secret)
	cmd.Request.ArgsJSON = []byte(`{"intervalSeconds": 1, "leaseSeconds": 60}`)
	if result := r.do(cmd); !result.OK {
		t.Fatalf("result is %+v", result)
	}
	seen := wait(t, r.link.observed)
	if seen.NodeUUID != cmd.NodeUUID || seen.PowerState != metal.PowerOn || seen.SeenAt.IsZero() {
		t.Errorf("seen: %+v", seen)
	}
	if refs := r.askedRefs(); !slices.Equal(refs, []string{bmcRef(cmd.NodeUUID)}) {
		t.Errorf("asked for %q", refs)
	}
}

func TestListenerRelaysAndHidesTheRest(t *testing.T) {
	r := newRig(t)
	if status, body := r.get(r.agent.URL() + "/v1/lookup?addresses=x"); status != http.StatusOK || string(body) != "relayed /v1/lookup" {
		t.Errorf("%d %s", status, body)
	}
	for _, path := range []string{"/v1/nodes", "/media/", "/media/x/y", "//v1/lookup", "/journal.jsonl", "/media/../journal.jsonl"} {
		if status, _ := r.get(r.agent.URL() + path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestTwoAgentsDoNotShareAFolder(t *testing.T) {
	r := newRig(t)
	if _, err := New(Options{DataDir: r.dir, Link: r.link, Drivers: r.drivers, ListenAddr: "127.0.0.1:0"}); err == nil {
		t.Fatal("a second agent was made")
	}
}

func TestHelloTellsWhatTheAgentCanDo(t *testing.T) {
	r := newRig(t)
	h := r.agent.Hello()
	if !slices.Equal(h.HardwareTypes, []string{"redfish"}) || !slices.Equal(keys(h.Operations), []string{"", "fake", "redfish"}) {
		t.Errorf("hello is %+v", h)
	}
	if !slices.Contains(h.Operations[""], metal.RamdiskCall) || h.Version != "test" || h.Hostname == "" {
		t.Errorf("hello is %+v", h)
	}
}

func TestAdvertisedAddress(t *testing.T) {
	for _, c := range []struct{ listen, url, want string }{
		{"127.0.0.1:0", "", "http://127.0.0.1:"},
		{"127.0.0.1:0", "https://site.example/", "https://site.example"},
		{"[::1]:0", "", "http://[::1]:"},
	} {
		agent, err := New(Options{DataDir: t.TempDir(), Link: newFakeLink(), Drivers: &fakeDrivers{}, ListenAddr: c.listen, AdvertiseURL: c.url})
		if err != nil {
			if strings.Contains(c.listen, "::1") { // no IPv6 on this machine
				continue
			}
			t.Fatal(err)
		}
		if !strings.HasPrefix(agent.URL(), c.want) {
			t.Errorf("%s %s: %s", c.listen, c.url, agent.URL())
		}
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRemovedAgentEnds(t *testing.T) {
	gone := &removedLink{newFakeLink()}
	agent, err := New(Options{DataDir: t.TempDir(), Link: gone, Drivers: &fakeDrivers{}, ListenAddr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Run(context.Background()); err == nil {
		t.Error("Run ended without a reason")
	}
}
