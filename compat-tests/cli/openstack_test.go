// Package cli_test holds Ferrule to the real openstack client: what its users
// type works, and shows them what it shows with Ironic.
package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ferrule/compat-tests/coprocess"
	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
	"ferrule/compat-tests/warm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openstack is the client, kept warm: a call is a fork of one process.
type openstack struct {
	t    *testing.T
	warm *coprocess.Process
	env  map[string]string
}

// object is what the client prints of one thing with -f json.
type object = map[string]any

// newOpenstack starts the client for this Ferrule, until the test ends.
func newOpenstack(t *testing.T, p *plane.Plane) *openstack {
	t.Helper()
	return &openstack{
		t: t, warm: coprocess.Start(t, env.Venv(t, env.Clients), "-W", "ignore", "-c", warm.Openstack),
		env: map[string]string{
			"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "LC_ALL": "C.UTF-8", "OS_AUTH_TYPE": "none", "OS_ENDPOINT": p.URL,
		},
	}
}

// ended is a call that has ended.
type ended struct {
	Code int
	Out  string
	Err  string
}

// call runs "openstack baremetal" with these arguments.
func (o *openstack) call(args ...string) ended {
	o.t.Helper()
	var e ended
	o.warm.Ask(map[string]any{"args": append([]string{"baremetal"}, args...), "env": o.env}, &e)
	return e
}

// do is a call that must succeed; it gives what was printed.
func (o *openstack) do(args ...string) string {
	o.t.Helper()
	e := o.call(args...)
	if e.Code != 0 {
		o.t.Fatalf("openstack baremetal %s: code %d\n%s%s", strings.Join(args, " "), e.Code, e.Out, e.Err)
	}
	return e.Out
}

// one is a call that shows one thing.
func (o *openstack) one(args ...string) object {
	o.t.Helper()
	return read[object](o, args)
}

// list is a call that lists things.
func (o *openstack) list(args ...string) []object {
	o.t.Helper()
	return read[[]object](o, args)
}

func read[T any](o *openstack, args []string) T {
	o.t.Helper()
	out := o.do(append(args, "-f", "json")...)
	var into T
	if err := json.Unmarshal([]byte(out), &into); err != nil {
		o.t.Fatalf("openstack baremetal %s: %v in %s", strings.Join(args, " "), err, out)
	}
	return into
}

// refused is a call that must fail, with these words in what it tells its user.
func (o *openstack) refused(words string, args ...string) {
	o.t.Helper()
	e := o.call(args...)
	if e.Code != 1 || !strings.Contains(e.Err, words) {
		o.t.Errorf("openstack baremetal %s: code %d\n%s%s\nwanted: %s", strings.Join(args, " "), e.Code, e.Out, e.Err, words)
	}
}

// column gives one column of a list.
func column(rows []object, name string) []any {
	values := make([]any, 0, len(rows))
	for _, row := range rows {
		values = append(values, row[name])
	}
	return values
}
