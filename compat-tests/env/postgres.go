package env

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Postgres gives the URL of a fresh, empty database on a PostgreSQL server that
// this test process has to itself. The database goes with the test; the server,
// with its data, with the process.
//
// The server's default collation is English, not bytewise, so that a query that
// forgets to say how text compares shows itself. It listens on a Unix socket
// only.
func Postgres(t testing.TB) string {
	t.Helper()
	server, err := theServer()
	if err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	database := "t" + strconv.FormatInt(server.databases.Add(1), 10)
	if err := server.run(t.Context(), "createdb", database); err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now.
		if err := server.run(context.Background(), "dropdb", "--force", "--if-exists", database); err != nil {
			t.Errorf("PostgreSQL: %v", err)
		}
	})
	return server.url(database)
}

// pgUser is the owner of the throw-away server's databases. It has no password:
// only processes that may open the socket's folder reach the server.
const pgUser = "ferrule"

type pgServer struct {
	bin       string
	folder    string
	as        *syscall.Credential
	process   *process
	databases atomic.Int64
}

// theServer is started by the first test that asks for it.
var theServer = sync.OnceValues(startPostgres)

func startPostgres() (*pgServer, error) {
	s, err := newPostgres()
	if err != nil {
		return nil, err
	}
	if err := s.launch("QUIT", s.folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.folder))
	}
	return s, nil
}

// newPostgres makes the data of a server, in a folder of its own.
func newPostgres() (*pgServer, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "ferrule-pg-")
	if err != nil {
		return nil, err
	}
	s := &pgServer{bin: bin, folder: folder, as: as}
	if as != nil {
		if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	if err := s.initialize(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, nil
}

// findPostgres finds the folder with the newest server's programs: Debian keeps
// them out of PATH.
func findPostgres() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // no number sorts first
		return n
	}
	if len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
		return filepath.Dir(newest), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("no initdb found: run compat-tests/env/setup.sh")
	}
	return filepath.Dir(path), nil
}

// unprivileged is whom the server runs as: PostgreSQL refuses root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("an account to run as: %w", err)
		}
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("id of the account %s: %w", account.Username, err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("group of the account %s: %w", account.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (s *pgServer) data() string { return filepath.Join(s.folder, "data") }

func (s *pgServer) initialize() error {
	args := []string{
		"--pgdata", s.data(), "--username", pgUser, "--auth", "trust", "--no-sync",
		"--encoding", "UTF8", "--locale", "C", "--no-instructions",
	}
	help, err := exec.Command(filepath.Join(s.bin, "initdb"), "--help").Output()
	if err != nil {
		return fmt.Errorf("initdb --help: %w", err)
	}
	if bytes.Contains(help, []byte("--icu-locale")) {
		args = append(args, "--locale-provider", "icu", "--icu-locale", "en")
	}
	return s.run(context.Background(), "initdb", args...)
}

// launch starts the server. The signal is what ends it, and goes is the folder
// that goes with it.
func (s *pgServer) launch(signal, goes string) error {
	settings := []string{
		"listen_addresses=", "unix_socket_directories=" + s.folder, "max_connections=300",
		"fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB",
	}
	arguments := []string{filepath.Join(s.bin, "postgres"), "-D", s.data()}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting)
	}
	var err error
	s.process, err = program{
		arguments: arguments, environ: s.environ(), as: s.as,
		stop: signal, folder: goes, log: filepath.Join(s.folder, "log"),
	}.start()
	if err != nil {
		return err
	}
	err = s.process.await(context.Background(), time.Minute, func() bool {
		return s.run(context.Background(), "pg_isready", "--quiet") == nil
	})
	if err != nil {
		s.process.stop()
	}
	return err
}

func (s *pgServer) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "PGHOST=" + s.folder, "PGUSER=" + pgUser, "LC_ALL=C"}
}

// run runs one of PostgreSQL's own programs against the server.
func (s *pgServer) run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	command.Env, command.Dir = s.environ(), "/"
	command.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, tail(output, 1000))
	}
	return nil
}

func (s *pgServer) url(database string) string {
	return "postgresql://" + pgUser + "@/" + database + "?host=" + url.QueryEscape(s.folder)
}
