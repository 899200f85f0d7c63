package kill

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
)

// agent is a site's agent as processes of its own.
type agent struct {
	join *plane.Process
	*plane.Process
}

// newAgent prepares an agent that joins the site with a code.
func newAgent(t *testing.T, p *plane.Plane, site string) agent {
	t.Helper()
	code := p.Must(http.MethodPost, "/ferrule/v1/join-codes", map[string]any{"site": site})["code"]
	ports, err := plane.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	return agent{
		join: plane.NewProcess(t, t.TempDir(), []string{"agent", "join", fmt.Sprint(code), "--data", data}),
		Process: plane.NewProcess(t, t.TempDir(), []string{
			"agent", "run", "--data", data, "--open-networks", "127.0.0.0/8", "--listen", fmt.Sprintf("127.0.0.1:%d", ports[0]),
		}),
	}
}

// joinWithKills has the agent join, killed where its answer could be lost.
func (a agent) joinWithKills(t *testing.T) {
	t.Helper()
	for _, point := range points(t, "link/client") {
		dieAt(t, a.join, point, 1)
	}
}

// awaitOnLine waits until clients see the site's agent among the conductors.
func awaitOnLine(t *testing.T, p *plane.Plane, site string) {
	t.Helper()
	err := again(t.Context(), "see the agent", func() (bool, any, error) {
		a, err := p.Try(t.Context(), http.MethodGet, "/v1/conductors", nil)
		if err != nil {
			return false, nil, err
		}
		list, _ := a.Body["conductors"].([]any)
		for _, item := range list {
			if c, _ := item.(map[string]any); c["conductor_group"] == site && c["alive"] == true {
				return true, nil, nil
			}
		}
		return false, a.Text, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// killsOfAgent is how many random instants are tried of agent, control plane,
// or both.
const killsOfAgent = 8

func TestNodesArriveAfterKillsOfTheirAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	choose := chance(t)
	const site = "east"
	p := plane.Start(t, plane.Options{})
	a := newAgent(t, p, site)
	a.joinWithKills(t)
	a.Launch()
	awaitOnLine(t, p, site)
	a.Kill()
	f := startFleet(t, p, startServers(t, "3", "127.0.103.1"), site)
	all := points(t, "siteagent", "drivers")
	choose.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, point := range all {
		dieAt(t, a, point, 1+choose.IntN(6))
		f.check()
	}
	a.Launch()
	for range killsOfAgent {
		killSome(t, choose, p, a)
		f.check()
	}
	f.arrive()
	a.Stop()
	p.Stop()
	judgeDatabase(t, database(t, p.DataDir))
}

// killSome lets the processes run for a while, then kills one or two of them,
// and starts again what it has killed.
func killSome(t *testing.T, choose *rand.Rand, all ...victim) {
	t.Helper()
	timer := time.NewTimer(time.Duration(200+choose.IntN(2000)) * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	for i, v := range all {
		select {
		case <-v.Ended():
			t.Fatalf("process %d of %d ended by itself", i+1, len(all))
		default:
		}
	}
	choose.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	some := all[:1+choose.IntN(2)]
	for _, v := range some {
		v.Kill()
	}
	for _, v := range some {
		v.Launch()
	}
}
