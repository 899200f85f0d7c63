package site_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
	"ferrule/lab/redfish"
)

// verifyLimit is the longest that a verb may take over a BMC that does not
// answer: two requests of a minute each.
const verifyLimit = 2*time.Minute + patience

// trouble is what is wrong with a BMC, and what an operator must be told.
type trouble struct {
	name   string
	faults redfish.Faults
	cause  string
	remedy string
}

var troubles = []trouble{
	{"it refuses the password", redfish.Faults{RefusePassword: true}, "rejected the credentials", "redfish_password"},
	{"it hangs", redfish.Faults{Hang: true}, "cannot be reached", "check the address"},
	{"it shows another certificate", redfish.Faults{OtherCertificate: true}, "certificate", "redfish_tls_spki_sha256"},
	{"it refuses connections", redfish.Faults{RefuseConnections: true}, "cannot be reached", "check the address"},
}

func TestABMCInTroubleFailsItsNodeAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a BMC that hangs")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{Servers: len(troubles) + 1})
	var nodes []string
	for i, trouble := range troubles {
		setFaults(t, r.server(i), trouble.faults)
		nodes = append(nodes, r.enrol(r.server(i), nil))
		r.Provision(nodes[i], "manage", nil)
	}
	healthy := r.enrol(r.server(len(troubles)), nil)
	r.live(healthy) // while the others wait and fail

	for i, trouble := range troubles {
		n := r.restedWithin(nodes[i], verifyLimit)
		said, _ := n["last_error"].(string)
		address := strings.TrimPrefix(r.server(i).Identity().RedfishAddress, "https://")
		for _, part := range []string{address, trouble.cause, trouble.remedy} {
			if !strings.Contains(said, part) {
				t.Errorf("%s: the error does not say %q: %s", trouble.name, part, said)
			}
		}
		if n["provision_state"] != "enroll" || n["maintenance"] != false {
			t.Errorf("%s: the node is %v, maintenance %v", trouble.name, n["provision_state"], n["maintenance"])
		}
		setFaults(t, r.server(i), redfish.Faults{})
		if n := r.verb(nodes[i], "manage", "manageable", nil); n["last_error"] != nil {
			t.Errorf("%s: mended, the node still says %v", trouble.name, n["last_error"])
		}
	}
}

func TestACorrectedPasswordIsEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{})
	info := r.driverInfo(r.server(0))
	right := info["redfish_password"]
	info["redfish_password"] = canary()
	node := r.enrol(r.server(0), map[string]any{"driver_info": info})
	r.Provision(node, "manage", nil)
	if n := r.rested(node); n["provision_state"] != "enroll" || !strings.Contains(n["last_error"].(string), "rejected the credentials") {
		t.Fatalf("with a wrong password the node is %v: %v", n["provision_state"], n["last_error"])
	}
	r.patch(node, "/driver_info/redfish_password", right)
	if n := r.verb(node, "manage", "manageable", nil); n["last_error"] != nil {
		t.Errorf("the node still says %v", n["last_error"])
	}
}

// restedWithin is rested with a bound of its own.
func (r *rig) restedWithin(node string, limit time.Duration) map[string]any {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		n := r.Must(http.MethodGet, "/v1/nodes/"+node, nil)
		if n["target_provision_state"] == nil && n["reservation"] == nil {
			return n
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			r.t.Fatalf("after %s the node is %v", limit, n["provision_state"])
		}
	}
}

// A deletion does not need the BMC, so one that does not answer holds nobody
// up.
func TestANodeWithADeadBMCIsDeleted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{Servers: 3})
	enrolled := r.enrol(r.server(0), nil)
	manageable := r.enrol(r.server(1), nil)
	r.verb(manageable, "manage", "manageable", nil)
	active := r.enrol(r.server(2), nil)
	r.prepare(active)
	r.verb(active, "active", "active", drive(active, "#cloud-config\n"))
	for i := range 3 {
		setFaults(t, r.server(i), redfish.Faults{Hang: true})
	}
	if a := r.Call(http.MethodDelete, "/v1/nodes/"+active, nil); a.Status != http.StatusConflict {
		t.Errorf("an active node is deleted with %d %s", a.Status, a.Text)
	}
	r.Must(http.MethodPut, "/v1/nodes/"+active+"/maintenance", map[string]any{"reason": "its BMC is dead"})
	for _, node := range []string{enrolled, manageable, active} {
		began := time.Now()
		r.Must(http.MethodDelete, "/v1/nodes/"+node, nil)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("a deletion waited for the BMC: %s", took)
		}
		if a := r.Call(http.MethodGet, "/v1/nodes/"+node, nil); a.Status != http.StatusNotFound {
			t.Errorf("the deleted node: %d", a.Status)
		}
	}
	if ports, _ := r.Must(http.MethodGet, "/v1/ports", nil)["ports"].([]any); len(ports) != 0 {
		t.Errorf("ports of deleted nodes are left: %v", ports)
	}
	r.Stop() // nor does a stop wait for it
}

// A node whose hardware type was switched off is still there, to be read,
// changed and deleted; Ironic finds no conductor for it.
func TestANodeWhoseDriverIsGoneIsDeleted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	p := plane.Start(t, plane.Options{})
	for _, name := range []string{"gone", "kept"} {
		p.Must(http.MethodPost, "/v1/nodes", map[string]any{"driver": "redfish", "name": name})
	}
	node := p.Must(http.MethodGet, "/v1/nodes/gone", nil)
	p.Must(http.MethodPost, "/v1/ports", map[string]any{"node_uuid": node["uuid"], "address": "52:54:00:00:00:01"})
	p.Restart("OS_DEFAULT__ENABLED_HARDWARE_TYPES=fake-hardware")
	p.Must(http.MethodPatch, "/v1/nodes/gone", []any{map[string]any{"op": "add", "path": "/extra/why", "value": "its driver is gone"}})
	p.Must(http.MethodPut, "/v1/nodes/kept/maintenance", nil)
	p.Must(http.MethodGet, "/v1/nodes/gone/validate", nil)
	a := p.Call(http.MethodPost, "/v1/nodes", map[string]any{"driver": "redfish"})
	if a.Status != http.StatusBadRequest || !strings.Contains(a.Text, "enabled_hardware_types") {
		t.Errorf("another such node: %d %s", a.Status, a.Text)
	}
	p.Must(http.MethodDelete, "/v1/nodes/gone", nil)
	p.Must(http.MethodDelete, "/v1/nodes/kept", nil)
	if ports, _ := p.Must(http.MethodGet, "/v1/ports", nil)["ports"].([]any); len(ports) != 0 {
		t.Errorf("ports of deleted nodes are left: %v", ports)
	}
}

func TestPlainHTTPIsOnlyForTheNetworksNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	enrolled := func(args ...string) (*rig, string) {
		r := start(t, plane.Options{Args: args}, lab.Config{PlainHTTP: true, Servers: 2})
		return r, r.enrol(r.server(0), nil)
	}
	for name, args := range map[string][]string{
		"none": nil, "another": {"--set", "siteagent.plain_http_bmcs=10.0.0.0/8"},
	} {
		r, node := enrolled(args...)
		r.Provision(node, "manage", nil)
		n := r.rested(node)
		said, _ := n["last_error"].(string)
		if n["provision_state"] != "enroll" || !strings.Contains(said, "plain http") {
			t.Errorf("network %s: the node is %v: %s", name, n["provision_state"], said)
		}
		if asked := r.server(0).BMC.Observed(); len(asked.Logins) > 0 {
			t.Errorf("network %s: the password went over plain http: %+v", name, asked.Logins)
		}
	}
	r, node := enrolled("--set", "siteagent.plain_http_bmcs=127.0.0.0/8")
	r.live(node)
	// It is each agent's own to say.
	for site, flags := range map[string][]string{"strict": nil, "lenient": {"--plain-http-bmcs", "127.0.0.0/8"}} {
		r.joinSite(site, flags...).Launch()
		r.awaitAlive(site, true)
		node := r.enrol(r.server(1), map[string]any{"conductor_group": site})
		r.Provision(node, "manage", nil)
		if n := r.rested(node); (n["provision_state"] == "manageable") != (site == "lenient") {
			t.Errorf("site %s: the node is %v: %v", site, n["provision_state"], n["last_error"])
		}
		r.Must(http.MethodDelete, "/v1/nodes/"+node, nil)
	}
}
