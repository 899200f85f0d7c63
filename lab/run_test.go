package lab_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ferrule/lab"
	"ferrule/lab/event"
	"ferrule/lab/image"
	"ferrule/lab/machine"
	"ferrule/lab/redfish"
)

// runLab starts a lab as a process would run it, and stops it at the end.
func runLab(t *testing.T, cfg lab.RunConfig) ([]lab.Identity, lab.Ready) {
	t.Helper()
	cfg.Dir = t.TempDir()
	cfg.Control, cfg.Images = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Timing = quick()
	ctx, cancel := context.WithCancel(context.Background())
	lines, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := lab.Run(ctx, cfg, out)
		out.Close()
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if _, err := os.Stat(filepath.Join(cfg.Dir, lab.CredentialsFile)); !os.IsNotExist(err) {
			t.Errorf("the credentials file after the end: %v", err)
		}
	})
	var identities []lab.Identity
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() {
		var ready lab.Ready
		if err := json.Unmarshal(scanner.Bytes(), &ready); err != nil {
			t.Fatal(err)
		}
		if ready.Ready {
			return identities, ready
		}
		var id lab.Identity
		if err := json.Unmarshal(scanner.Bytes(), &id); err != nil {
			t.Fatal(err)
		}
		identities = append(identities, id)
	}
	t.Fatal("the lab ended before it was ready")
	return nil, lab.Ready{}
}

func TestRun(t *testing.T) {
	identities, ready := runLab(t, lab.RunConfig{Config: lab.Config{Servers: 3, DiskSize: 16 << 20}, ImageSeed: 4})
	if len(identities) != 3 {
		t.Fatalf("%d servers announced", len(identities))
	}
	st, err := os.Stat(ready.CredentialsFile)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("credentials file: %v, %v", st, err)
	}
	content, err := os.ReadFile(ready.CredentialsFile)
	if err != nil {
		t.Fatal(err)
	}
	var credentials map[string]lab.Credential
	if err := json.Unmarshal(content, &credentials); err != nil || len(credentials) != 3 {
		t.Fatalf("credentials: %d, %v", len(credentials), err)
	}
	passwords := map[string]bool{}
	for _, id := range identities {
		c := credentials[id.Name]
		passwords[c.Password] = true
		if c.Username != id.Username || id.SPKISHA256 == "" || len(id.NICs) == 0 {
			t.Errorf("server %+v", id)
		}
	}
	if len(passwords) != 3 {
		t.Error("servers share a password")
	}
	for _, i := range ready.Images {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(i.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || image.SHA256(body) != i.SHA256 {
			t.Errorf("image %+v differs from its digest (%v)", i, err)
		}
	}
}

func TestControl(t *testing.T) {
	identities, ready := runLab(t, lab.RunConfig{Config: lab.Config{Servers: 2, DiskSize: 16 << 20}})
	client := lab.NewClient(ready.Control)
	defer client.Close()
	ctx := t.Context()
	name := identities[0].Name
	servers, err := client.Servers(ctx)
	if err != nil || len(servers) != 2 {
		t.Fatalf("servers: %d, %v", len(servers), err)
	}
	if err := client.Press(ctx, name, "press"); err != nil {
		t.Fatal(err)
	}
	s, err := client.Server(ctx, name)
	if err != nil || s.Power != machine.On || len(s.BMC.Actions) != 0 {
		t.Errorf("after a press at the server: %+v, %v", s.Snapshot, err)
	}
	events, err := client.Events(ctx, name, 0, time.Second)
	if err != nil || len(events) == 0 || events[0].Kind != event.PowerChanged {
		t.Errorf("events: %v, %v", events, err)
	}
	if none, err := client.Events(ctx, name, 1<<20, 0); err != nil || len(none) != 0 {
		t.Errorf("events of the future: %v, %v", none, err)
	}
	faults := lab.ServerFaults{
		Faults: redfish.Faults{RefusePassword: true},
		Steps:  map[string]lab.StepFault{"write_image": {Fail: "no"}},
	}
	if err := client.SetFaults(ctx, name, faults); err != nil {
		t.Fatal(err)
	}
	if s, err = client.Server(ctx, name); err != nil || !s.Faults.RefusePassword {
		t.Errorf("faults: %+v, %v", s.Faults, err)
	}
	if err := client.Reset(ctx, name); err != nil {
		t.Fatal(err)
	}
	if s, err = client.Server(ctx, name); err != nil || s.Power != machine.Off || s.Faults.RefusePassword {
		t.Errorf("after a reset: %+v, %+v, %v", s.Snapshot, s.Faults, err)
	}
	if err := client.Press(ctx, name, "explode"); err == nil {
		t.Error("an unknown action was taken")
	}
	if err := client.Press(ctx, "nobody", "on"); err == nil {
		t.Error("an unknown server was pressed")
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, cfg := range map[string]lab.Config{
		"no folder":    {},
		"no address":   {Dir: dir, BMCBase: "bmc.example"},
		"not loopback": {Dir: dir, MachineBase: "192.0.2.1"},
		"small disk":   {Dir: dir, DiskSize: 100},
		"same names":   {Dir: dir, Definitions: []lab.Definition{{Name: "a"}, {Name: "a"}}},
	} {
		if l, err := lab.New(cfg); err == nil {
			l.Close()
			t.Errorf("%s: taken", name)
		}
	}
}

// TestManyServers shows that hundreds of servers fit in one process.
func TestManyServers(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 30
	}
	l, _ := start(t, lab.Config{Servers: n, DiskSize: 16 << 20})
	p := newPlane(t)
	boot := p.bootISO()
	for _, s := range l.Servers() {
		newConsole(t, s).bootMedium(boot)
	}
	for _, s := range l.Servers() {
		await(t, s, event.Heartbeat)
	}
}
