package main

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATakenPortNamesTheOptionThatMovesIt(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for set, want := range map[string]string{"api.port=" + port: "--listen", "link.port=" + port: "[link] host_ip and port"} {
		cfg, err := sources{Data: t.TempDir(), Set: []string{"api.port=0", set, "DEFAULT.log_file=" + filepath.Join(t.TempDir(), "log")}}.load()
		if err != nil {
			t.Fatal(err)
		}
		p, err := openPlane(t.Context(), cfg, parts{api: true, conductor: true})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "in use") {
			t.Errorf("%s: %v, %v", set, p, err)
		}
	}
}

func TestServeWithoutADatabaseSaysSo(t *testing.T) {
	for _, set := range [][]string{nil, {"database.connection=mysql+pymysql://u@h/ironic"}} {
		err := serveCommand{sources{Data: t.TempDir(), Set: set}}.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "store.connection=postgresql://") {
			t.Errorf("%v: %v", set, err)
		}
	}
}

// A proxy on the same machine reaches the API by a Unix socket, after a killed
// process has left one behind too.
func TestTheAPIListensOnAUnixSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ironic.socket")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	cfg, err := sources{Data: dir, Set: []string{
		"api.unix_socket=" + path, "api.unix_socket_mode=0660", "link.port=0", "DEFAULT.log_file=" + filepath.Join(dir, "log"),
	}}.load()
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPlane(t.Context(), cfg, parts{api: true, conductor: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.serveAPI(ctx) }()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}}
	answer, err := client.Get("http://localhost/v1")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("answered %s", answer.Status)
	}
	if at, err := os.Stat(path); err != nil || at.Mode().Perm() != fs.FileMode(0o660) {
		t.Errorf("mode %v, %v", at.Mode(), err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
