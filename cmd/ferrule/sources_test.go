package main

import (
	"context"
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

func TestRelativeFoldersAndFilesAreTakenFromHere(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ set, want string }{
		{"store.data_dir=here", here + "/here/ferrule.sqlite"},
		{"store.connection=sqlite:///mine.sqlite", here + "/mine.sqlite"},
		{"database.connection=sqlite:////abs/mine.sqlite", "/abs/mine.sqlite"},
	} {
		cfg, err := sources{Set: []string{c.set}}.load()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dsn(cfg); err != nil || got != "sqlite://"+c.want {
			t.Errorf("%s: %q, %v", c.set, got, err)
		}
	}
	cfg, err := sources{}.load()
	if err != nil || !filepath.IsAbs(cfg.Store.DataDir) || !filepath.IsAbs(cfg.Trust.DeploymentKeyFile) {
		t.Errorf("with nothing said: %q, %v", cfg.Store.DataDir, err)
	}
	cfg, err = sources{Set: []string{"store.connection=sqlite://"}}.load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dsn(cfg); err == nil || !strings.Contains(err.Error(), "in memory") {
		t.Errorf("a database in memory: %v", err)
	}
}

func TestAWrongFlagIsNamed(t *testing.T) {
	for _, c := range []struct {
		given sources
		want  []string
	}{
		{sources{Listen: ":0"}, []string{"--listen :0", "HOST:PORT", "0.0.0.0"}},
		{sources{Listen: "127.0.0.1"}, []string{"--listen 127.0.0.1:", "HOST:PORT"}},
		{sources{Listen: "127.0.0.1:"}, []string{"--listen 127.0.0.1::", "HOST:PORT"}},
		{sources{Listen: "127.0.0.1:70000"}, []string{"--listen 127.0.0.1:70000: [api] port", "0 to 65535"}},
		{sources{Listen: "no host:1"}, []string{"--listen no host:1: [api] host_ip"}},
	} {
		_, err := c.given.load()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v lacks %q", c.given, err, want)
			}
		}
	}
	cfg, err := sources{Set: []string{"api.port=1"}, Listen: "[::1]:2", Auth: "http_basic"}.load()
	if err != nil || cfg.API.HostIP != "::1" || cfg.API.Port != 2 || cfg.Default.AuthStrategy != "http_basic" {
		t.Errorf("flags are not the strongest: %v, %v", cfg.API, err)
	}
}

func TestWhoMayReachAnAddress(t *testing.T) {
	for text, here := range map[string]bool{
		"127.0.0.1:1": true, "127.8.9.1:1": true, "[::1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "[fd00::1]:1": false,
	} {
		at, err := net.ResolveTCPAddr("tcp", text)
		if err != nil || onThisMachine(at) != here {
			t.Errorf("%s: only from here %t, %v", text, !here, err)
		}
	}
}

func TestADatabaseFileHasOneOwner(t *testing.T) {
	shared := t.TempDir()
	open := func() (*plane, error) {
		cfg, err := sources{Data: t.TempDir(), Listen: "127.0.0.1:0", Set: []string{
			"store.connection=sqlite:///" + filepath.Join(shared, "one.sqlite"),
			"trust.deployment_key_file=" + filepath.Join(shared, "deployment.key"),
		}}.load()
		if err != nil {
			t.Fatal(err)
		}
		cfg.Default.LogFile = filepath.Join(t.TempDir(), "log")
		return openPlane(t.Context(), cfg, parts{api: true, conductor: true})
	}
	first, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := open(); err == nil || !strings.Contains(err.Error(), "in use by another") {
		t.Errorf("a second process on the same database: %v, %v", second, err)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	again, err := open()
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	if err := again.close(); err != nil {
		t.Fatal(err)
	}
}

func TestAnIronicDatabaseIsLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ironic.sqlite")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		"CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)", "INSERT INTO alembic_version VALUES ('abc')",
		"CREATE TABLE nodes (id INTEGER)",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := sources{Data: t.TempDir(), Set: []string{"database.connection=sqlite:///" + file}}.load()
	if err != nil {
		t.Fatal(err)
	}
	s, err := openStore(context.Background(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "a real Ironic's") {
		t.Errorf("migrated: %v", err)
	}
	var tables int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_master WHERE type = 'table'").Scan(&tables); err != nil || tables != 2 {
		t.Errorf("%d tables, %v", tables, err)
	}
}
