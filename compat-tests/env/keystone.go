package env

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// KeystoneServer is a running real Keystone. Its user admin, of the project
// admin and of the system, both in the domain Default, has the role admin.
type KeystoneServer struct {
	URL      string // with /v3, without a trailing slash
	Password string // of the user admin, made for this server
	Log      string

	dir string
}

// RealKeystone starts a Keystone on an SQLite database of its own, and stops it
// with the test.
func RealKeystone(t testing.TB) *KeystoneServer {
	t.Helper()
	python := Venv(t, Keystone)
	// Removed by the process's supervisor, even when the test is killed.
	dir, err := os.MkdirTemp("", "ferrule-keystone-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	s := &KeystoneServer{Password: rand.Text(), Log: filepath.Join(dir, "log"), dir: dir}
	process, err := s.start(t.Context(), filepath.Dir(python))
	if err != nil {
		t.Fatalf("real Keystone: %v", errors.Join(err, os.RemoveAll(dir)))
	}
	t.Cleanup(process.stop)
	if err := process.await(t.Context(), time.Minute, func() bool { return s.ready(t.Context()) }); err != nil {
		t.Fatalf("real Keystone: %v", err)
	}
	return s
}

func (s *KeystoneServer) start(ctx context.Context, bin string) (*process, error) {
	for _, folder := range []string{"fernet", "credential"} {
		if err := os.Mkdir(filepath.Join(s.dir, folder), 0o700); err != nil {
			return nil, err
		}
	}
	// The cost of a password's hash is for attackers, not for tests.
	conf := fmt.Sprintf("[database]\nconnection = sqlite:///%[1]s/keystone.sqlite\n[token]\nprovider = fernet\n"+
		"[fernet_tokens]\nkey_repository = %[1]s/fernet\n[credential]\nkey_repository = %[1]s/credential\n"+
		"[identity]\npassword_hash_rounds = 4\n", s.dir)
	if err := os.WriteFile(filepath.Join(s.dir, "keystone.conf"), []byte(conf), 0o600); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s.URL = "http://" + address + "/v3"
	if err := s.prepare(ctx, bin); err != nil {
		return nil, err
	}
	return program{
		arguments: []string{
			filepath.Join(bin, "uwsgi"), "--http", address, "--module", "keystone.wsgi.api:application", "--need-app", "--master",
			"--die-on-term", "--buffer-size", "65535",
		},
		environ: s.environ(), stop: "TERM", folder: s.dir, log: s.Log,
	}.start()
}

func (s *KeystoneServer) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "LC_ALL=C.UTF-8", "OS_KEYSTONE_CONFIG_DIR=" + s.dir,
		"PYTHONWARNINGS=ignore", "OS_BOOTSTRAP_PASSWORD=" + s.Password,
	}
}

// prepare makes database, keys and the first user.
func (s *KeystoneServer) prepare(ctx context.Context, bin string) error {
	who, err := user.Current()
	if err != nil {
		return err
	}
	group, err := user.LookupGroupId(who.Gid)
	if err != nil {
		return err
	}
	owner := []string{"--keystone-user", who.Username, "--keystone-group", group.Name}
	for _, arguments := range [][]string{
		{"db_sync"}, append([]string{"fernet_setup"}, owner...), append([]string{"credential_setup"}, owner...),
		{"bootstrap", "--bootstrap-region-id", "R", "--bootstrap-public-url", s.URL, "--bootstrap-internal-url", s.URL, "--bootstrap-admin-url", s.URL},
	} {
		if err := s.manage(ctx, bin, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// manage runs keystone-manage. Making the schema takes longer than all the
// rest, so that it is kept beside the environment.
func (s *KeystoneServer) manage(ctx context.Context, bin string, arguments ...string) error {
	database, kept := filepath.Join(s.dir, "keystone.sqlite"), filepath.Join(filepath.Dir(bin), "empty.sqlite")
	if arguments[0] == "db_sync" {
		unlock, err := lock(kept + ".lock")
		if err != nil {
			return err
		}
		defer unlock()
		if empty, err := os.ReadFile(kept); err == nil {
			return os.WriteFile(database, empty, 0o600)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(bin, "keystone-manage"),
		append([]string{"--config-file", filepath.Join(s.dir, "keystone.conf")}, arguments...)...)
	command.Env = s.environ()
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("keystone-manage %s: %w\n%s", arguments[0], err, tail(output, 2000))
	}
	if arguments[0] != "db_sync" {
		return nil
	}
	made, err := os.ReadFile(database)
	if err != nil {
		return err
	}
	if err := os.WriteFile(kept+".half", made, 0o600); err != nil {
		return err
	}
	return os.Rename(kept+".half", kept)
}

func (s *KeystoneServer) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.URL, "/"), nil)
	if err != nil {
		return false
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
