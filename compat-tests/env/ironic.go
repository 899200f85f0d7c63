package env

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// IronicServer is a running real Ironic.
type IronicServer struct {
	URL string // without a trailing slash
	Dir string // its working folder: ironic.conf, log, database
	Log string
}

// ironicLimit bounds its start, which takes seconds of CPU.
const ironicLimit = 2 * time.Minute

// RealIronic starts Ironic as one process (API and conductor, SQLite) with this
// ironic.conf, and stops it with the test. Where it listens and keeps its files
// is decided here, over what the file says; without a word on it, there is no
// authentication. It returns once its conductor has registered its drivers.
func RealIronic(t testing.TB, conf string) *IronicServer {
	t.Helper()
	python := Venv(t, Ironic)
	// Removed by the process's supervisor, even when the test is killed.
	dir, err := os.MkdirTemp("", "ferrule-ironic-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	server := &IronicServer{Dir: dir, Log: filepath.Join(dir, "ironic.log")}
	process, err := server.start(t.Context(), python, conf)
	if err != nil {
		t.Fatalf("real Ironic: %v", errors.Join(err, os.RemoveAll(dir)))
	}
	t.Cleanup(process.stop)
	err = process.await(t.Context(), ironicLimit, func() bool { return server.ready(t.Context()) })
	if err != nil {
		t.Fatalf("real Ironic: %v", err)
	}
	return server
}

func (s *IronicServer) start(ctx context.Context, python, conf string) (*process, error) {
	for _, folder := range []string{"state", "http", "images", "tftp"} {
		if err := os.Mkdir(filepath.Join(s.Dir, folder), 0o755); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(s.Dir, "ironic.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s.URL = "http://" + address
	if err := s.makeDatabase(ctx, python); err != nil {
		return nil, err
	}
	return program{
		arguments: []string{
			python, "-W", "ignore", "-c",
			"import sys; sys.argv[0]='ironic'; from ironic.command.singleprocess import main; sys.exit(main())",
			"--config-file", file,
		},
		environ: s.environ(conf, address), stop: "TERM", folder: s.Dir, log: s.Log,
	}.start()
}

// environ says what is not the caller's to say: oslo.config takes it over the
// file.
func (s *IronicServer) environ(conf, address string) []string {
	host, port, _ := strings.Cut(address, ":")
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "LC_ALL=C.UTF-8",
		"OS_API__HOST_IP=" + host, "OS_API__PORT=" + port,
		"OS_DATABASE__CONNECTION=sqlite:///" + s.Database(),
		"OS_DEFAULT__STATE_PATH=" + filepath.Join(s.Dir, "state"),
		"OS_DEFAULT__USE_STDERR=true", "OS_DEFAULT__RPC_TRANSPORT=none",
		"OS_DEPLOY__HTTP_ROOT=" + filepath.Join(s.Dir, "http"),
		"OS_PXE__IMAGES_PATH=" + filepath.Join(s.Dir, "images"),
		"OS_PXE__TFTP_ROOT=" + filepath.Join(s.Dir, "tftp"),
		"OS_PXE__TFTP_MASTER_PATH=" + filepath.Join(s.Dir, "tftp", "master"),
	}
	if !strings.Contains(conf, "auth_strategy") {
		environ = append(environ, "OS_DEFAULT__AUTH_STRATEGY=noauth")
	}
	return environ
}

// Database is its SQLite file.
func (s *IronicServer) Database() string { return filepath.Join(s.Dir, "ironic.sqlite") }

// makeDatabase copies the empty database that is kept beside the environment:
// making the schema takes longer than all the rest.
func (s *IronicServer) makeDatabase(ctx context.Context, python string) error {
	kept := filepath.Join(filepath.Dir(filepath.Dir(python)), "empty.sqlite")
	unlock, err := lock(kept + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(kept); err != nil {
		if err := makeSchema(ctx, python, kept); err != nil {
			return err
		}
	}
	empty, err := os.ReadFile(kept)
	if err != nil {
		return err
	}
	return os.WriteFile(s.Database(), empty, 0o600)
}

func makeSchema(ctx context.Context, python, kept string) error {
	ctx, cancel := context.WithTimeout(ctx, ironicLimit)
	defer cancel()
	half := kept + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, python, "-W", "ignore", "-c",
		"import sys; sys.argv[0]='ironic-dbsync'; from ironic.command.dbsync import main; sys.exit(main())",
		"--config-dir", filepath.Dir(python), "create_schema")
	command.Env = append(os.Environ(), "OS_DATABASE__CONNECTION=sqlite:///"+half)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make Ironic's schema: %w\n%s", err, tail(output, 2000))
	}
	return os.Rename(half, kept)
}

// ready says whether the conductor has registered any driver.
func (s *IronicServer) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/drivers", nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	text := make([]byte, 256)
	n, _ := response.Body.Read(text) // a short answer names no driver
	return response.StatusCode == http.StatusUnauthorized || strings.Contains(string(text[:n]), `"name"`)
}

// freeAddress is an address on loopback that nothing listens on.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
