package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

// hosts adds an agent of the default site that has no session and last said that
// it can do these operations.
func (s *served) hosts(id string, redfish, own []metal.Operation) {
	s.t.Helper()
	storetest.Write(s.t, s.store, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertAgent(ctx, &store.Agent{
			ID: id, Hostname: id, HardwareTypes: []string{"redfish"}, Labels: metal.EmptyObject,
			Operations: metal.ToJSON(map[string][]metal.Operation{"redfish": redfish, "": own}),
		})
	})
}

// provision fires a verb and gives the answer.
func (s *served) provision(uuid, body string) answer {
	s.t.Helper()
	return s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", body)
}

// What no agent of the site can do is refused at once, with all that is missing,
// and shown by validation. What an agent that is off line last said counts, and
// so does what another of the site can do.
func TestAVerbThatNobodyAtTheSiteCanDoIsRefused(t *testing.T) {
	basic := []metal.Operation{metal.PowerGet, metal.PowerSet, metal.BootDeviceGet}
	s := serve(t)
	s.hosts("agent-1", basic, []metal.Operation{metal.MediaPublish, metal.MediaRetract})
	uuid := s.node(`{"driver": "redfish", "driver_info": {"redfish_address": "https://192.0.2.1", "deploy_kernel": "http://192.0.2.2/k", "deploy_ramdisk": "http://192.0.2.2/r"},
		"instance_info": {"image_source": "http://192.0.2.2/i", "image_checksum": "d41d8cd98f00b204e9800998ecf8427e"}}`)
	for verb, c := range map[string]struct {
		from    metal.State
		body    string
		missing []string // nil: it is taken
	}{
		"deploy": {metal.Available, `{"target":"active"}`, []string{
			"boot interface redfish-virtual-media needs virtual-media.insert, virtual-media.eject, ramdisk.call (driver redfish)",
			"management interface redfish needs management.setBootDevice (driver redfish)", "deploy interface autodetect needs ramdisk.call",
		}},
		"inspect":           {metal.Manageable, `{"target":"inspect"}`, []string{"inspect interface redfish needs inspect.inspect"}},
		"step of a ramdisk": {metal.Manageable, `{"target":"clean","clean_steps":[{"interface":"deploy","step":"erase_devices"}]}`, []string{"virtual-media.insert"}},
		"step of nobody's":  {metal.Manageable, `{"target":"clean","clean_steps":[{"interface":"deploy","step":"power_off"}]}`, nil},
		"cleaning":          {metal.Manageable, `{"target":"provide"}`, []string{"virtual-media.insert"}},
		"verify":            {metal.Enroll, `{"target":"manage"}`, nil},
		"back to the shelf": {metal.InspectFailed, `{"target":"manage"}`, nil},
		"tear down":         {metal.DeployFailed, `{"target":"deleted"}`, nil},
	} {
		s.put(uuid, func(n *metal.Node) { n.ProvisionState, n.Reservation = c.from, nil })
		a := s.provision(uuid, c.body)
		if c.missing == nil {
			a.want(http.StatusAccepted)
			s.finish(uuid)
			continue
		}
		text := fmt.Sprint(a.want(http.StatusBadRequest).fault()["faultstring"])
		for _, m := range c.missing {
			if !strings.Contains(text, m) {
				t.Errorf("%s: the refusal does not say %q: %s", verb, m, text)
			}
		}
		if got := s.row(uuid); got.ProvisionState != c.from || got.Reservation != nil {
			t.Errorf("%s: the node is %s after a refusal", verb, got.ProvisionState)
		}
	}
	for t2, valid := range map[string]bool{"power": true, "boot": false, "management": false, "inspect": false, "network": true} {
		row, _ := s.ask("latest", http.MethodGet, "/v1/nodes/"+uuid+"/validate", "").want(http.StatusOK).object()[t2].(map[string]any)
		reason := fmt.Sprint(row["reason"])
		if row["result"] != valid || !valid && !strings.Contains(reason, "No agent of the site") {
			t.Errorf("validation of %s: %v", t2, row)
		}
	}
	// Another agent of the site makes up for it.
	s.hosts("agent-2", append(basic, metal.BootDeviceSet, metal.VirtualMediaInsert, metal.VirtualMediaEject, metal.InspectHardware),
		[]metal.Operation{metal.MediaPublish, metal.MediaRetract, metal.RamdiskCall})
	s.put(uuid, func(n *metal.Node) { n.ProvisionState, n.Reservation = metal.Available, nil })
	s.provision(uuid, `{"target":"active"}`).want(http.StatusAccepted)
}

// finish closes what is open on the node, as the conductor would.
func (s *served) finish(uuid string) {
	s.t.Helper()
	storetest.Write(s.t, s.store, func(ctx context.Context, tx *store.Tx) error {
		ops, err := tx.OpenOperations(ctx, uuid)
		if err != nil {
			return err
		}
		for i := range ops {
			if err := tx.CloseOperation(ctx, &ops[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
