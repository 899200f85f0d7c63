package kill

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
)

// servers are emulated machines in a process that nobody kills.
type servers struct {
	*lab.Client
	ready       lab.Ready
	all         []lab.Identity
	credentials map[string]lab.Credential
}

// startServers runs a lab whose BMCs begin at an address of their own.
func startServers(t *testing.T, count string, firstBMC string) *servers {
	t.Helper()
	dir := t.TempDir()
	process := plane.NewProcess(t, dir, []string{
		"lab", "--servers", count, "--data", dir, "--bmc-base", firstBMC, "--control", "127.0.0.1:0", "--images", "127.0.0.1:0",
		"--step-time", "200ms", "--beat", "100ms", "--power-delay", "1s",
	})
	process.Launch()
	process.AwaitPrinted(`{"ready":true`)
	s := &servers{credentials: map[string]lab.Credential{}}
	text, err := os.ReadFile(process.Log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var one lab.Identity
		into := any(&one)
		if strings.HasPrefix(line, `{"ready":true`) {
			into = &s.ready
		}
		if err := json.Unmarshal([]byte(line), into); err != nil {
			t.Fatalf("the lab said %q: %v", line, err)
		}
		if one.Name != "" {
			s.all = append(s.all, one)
		}
	}
	secrets, err := os.ReadFile(s.ready.CredentialsFile)
	if err == nil {
		err = json.Unmarshal(secrets, &s.credentials)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Client = lab.NewClient(s.ready.Control)
	t.Cleanup(s.Close)
	return s
}

// image is the one that is deployed: the compact form of a whole disk.
func (s *servers) image() lab.ServedImage { return s.ready.Images[len(s.ready.Images)-1] }
