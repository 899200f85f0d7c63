package kill

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
)

// deployment is the parts of a control plane as processes of their own, on one
// PostgreSQL.
type deployment struct {
	api        *plane.Plane
	conductors []*plane.Plane // the first has the agents
	dsn        string
}

const ready = "ferrule is ready at "

// deploy starts an API and two conductors.
func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{dsn: env.Postgres(t)}
	ports, err := plane.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	shared := []string{
		"--set", "database.connection=" + d.dsn, "--set", "trust.deployment_key_file=" + filepath.Join(t.TempDir(), "deployment.key"),
		"--set", fmt.Sprintf("link.public_address=127.0.0.1:%d", ports[0]),
	}
	part := func(command string, more ...string) *plane.Plane {
		p := plane.New(t, plane.Options{Command: command, Args: append(append([]string{}, shared...), more...)})
		p.Launch()
		p.AwaitPrinted(ready)
		return p
	}
	d.conductors = append(d.conductors,
		part("conductor", "--set", "DEFAULT.host=one", "--set", fmt.Sprintf("link.port=%d", ports[0])),
		part("conductor", "--set", "DEFAULT.host=two"))
	d.api = part("api")
	return d
}

// killsOfDeployment is how many random instants are tried of any of its
// processes and of the agent.
const killsOfDeployment = 10

// TestNodesArriveOnPostgreSQL kills the parts of a deployment. What a killed
// conductor was working on is taken up after a quarter of a minute; all else
// goes on at the other.
func TestNodesArriveOnPostgreSQL(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	choose := chance(t)
	const site = "east"
	d := deploy(t)
	a := newAgent(t, d.api, site)
	a.joinWithKills(t)
	a.Launch()
	awaitOnLine(t, d.api, site)
	f := startFleet(t, d.api, startServers(t, "3", "127.0.104.1"), site)
	for _, point := range append(points(t, "conductor"), points(t, "link/gateway")...) {
		d.conductors[0].Kill()
		dieAt(t, d.conductors[0], point, 1+choose.IntN(4))
		d.conductors[0].Launch()
		f.check()
	}
	for range killsOfDeployment {
		killSome(t, choose, d.api, d.conductors[0], d.conductors[1], a)
		f.check()
	}
	f.arrive()
	a.Stop()
	db, err := sql.Open("pgx", d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	judgeDatabase(t, db)
}
