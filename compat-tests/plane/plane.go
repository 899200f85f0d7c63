package plane

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Options say how to run ferrule. The zero value is "ferrule up" with nothing
// set.
type Options struct {
	Command string   // "up" or "serve"; "": up
	Config  string   // an ironic.conf; "": none
	Args    []string // further flags, such as "--auth", "http_basic" or "--set", "section.option=value"
	Env     []string // KEY=VALUE, beside those that every program has
}

// startLimit is far more than a start takes on a machine that does other work.
const startLimit = time.Minute

// Plane is a control plane, "ferrule up" where nothing else was asked for.
type Plane struct {
	*Process
	URL     string // without a trailing slash
	DataDir string // database, keys, and the embedded agent's files
}

// Start runs ferrule on an empty data folder, with ports of its own, until the
// test ends. It returns once ferrule says that it is ready.
func Start(t testing.TB, o Options) *Plane {
	t.Helper()
	p := New(t, o)
	p.Launch()
	p.AwaitReady()
	return p
}

// New prepares ferrule, and starts nothing: that is for Launch.
func New(t testing.TB, o Options) *Plane {
	t.Helper()
	dir := t.TempDir()
	ports, err := FreePorts(3)
	if err != nil {
		t.Fatalf("ferrule: %v", err)
	}
	api := fmt.Sprintf("127.0.0.1:%d", ports[0])
	p := &Plane{URL: "http://" + api, DataDir: filepath.Join(dir, "data")}
	args := []string{
		cmp.Or(o.Command, "up"), "--data", p.DataDir, "--listen", api,
		"--set", "link.host_ip=127.0.0.1", "--set", fmt.Sprintf("link.port=%d", ports[1]),
		"--set", "siteagent.host_ip=127.0.0.1", "--set", fmt.Sprintf("siteagent.port=%d", ports[2]),
		"--set", "siteagent.open_networks=127.0.0.0/8", // the lab is all on loopback
	}
	if o.Config != "" {
		conf := filepath.Join(dir, "ironic.conf")
		if err := os.WriteFile(conf, []byte(o.Config), 0o600); err != nil {
			t.Fatalf("ferrule: %v", err)
		}
		args = append(args, "--config", conf)
	}
	p.Process = NewProcess(t, dir, append(args, o.Args...), o.Env...)
	return p
}

// AwaitReady waits until ferrule says that it is ready.
func (p *Plane) AwaitReady() {
	p.t.Helper()
	if url := p.AwaitPrinted("ferrule is ready at "); url != p.URL {
		p.t.Fatalf("ferrule is at %s, not at %s", url, p.URL)
	}
}

// Restart stops the process if it runs, and starts it again on the same data
// folder and the same ports. env is added for this run only.
func (p *Plane) Restart(env ...string) {
	p.t.Helper()
	p.Stop()
	p.Launch(env...)
	p.AwaitReady()
}

// FreePorts gives ports on loopback that nothing listens on. They lie below
// those that the kernel gives to connections, so that they are still free when
// a program comes back to them.
func FreePorts(n int) ([]int, error) {
	const lowest, highest, tries = 12000, 32000, 1000
	var ports []int
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
		port := lowest + rand.IntN(highest-lowest)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer listener.Close() // until all are found, so that each is found once
		ports = append(ports, port)
	}
	return nil, errors.New("no ports are free")
}
