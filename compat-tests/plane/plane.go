package plane

import (
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
	Config string   // an ironic.conf; "": none
	Args   []string // further flags, such as "--auth", "http_basic" or "--set", "section.option=value"
	Env    []string // KEY=VALUE, beside those that every program has
}

// startLimit is far more than a start takes on a machine that does other work.
const startLimit = time.Minute

// ready is what ferrule prints before its address.
const ready = "ferrule is ready at "

// Plane is a running "ferrule up".
type Plane struct {
	*Process
	URL     string // without a trailing slash
	DataDir string // database, keys, and the embedded agent's files
}

// Start runs ferrule on an empty data folder, with ports of its own, until the
// test ends. It returns once ferrule says that it is ready.
func Start(t testing.TB, o Options) *Plane {
	t.Helper()
	dir := t.TempDir()
	p := &Plane{DataDir: filepath.Join(dir, "data")}
	ports, err := FreePorts(3)
	if err != nil {
		t.Fatalf("ferrule: %v", err)
	}
	args := []string{
		"up", "--data", p.DataDir, "--listen", fmt.Sprintf("127.0.0.1:%d", ports[0]),
		"--set", "link.host_ip=127.0.0.1", "--set", fmt.Sprintf("link.port=%d", ports[1]),
		"--set", "siteagent.host_ip=127.0.0.1", "--set", fmt.Sprintf("siteagent.port=%d", ports[2]),
	}
	if o.Config != "" {
		conf := filepath.Join(dir, "ironic.conf")
		if err := os.WriteFile(conf, []byte(o.Config), 0o600); err != nil {
			t.Fatalf("ferrule: %v", err)
		}
		args = append(args, "--config", conf)
	}
	p.Process = NewProcess(t, dir, append(args, o.Args...), o.Env...)
	p.Launch()
	p.URL = p.AwaitPrinted(ready)
	return p
}

// Restart stops the process if it runs, and starts it again on the same data
// folder and the same ports. env is added for this run only.
func (p *Plane) Restart(env ...string) {
	p.t.Helper()
	p.Stop()
	p.Launch(env...)
	p.URL = p.AwaitPrinted(ready)
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
