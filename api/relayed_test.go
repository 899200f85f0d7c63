package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

const ramdiskMAC = "aa:bb:cc:00:00:07"

// waiting is a node of a site that waits for its ramdisk, with a port.
func (s *served) waiting(site string, state metal.State) string {
	s.t.Helper()
	storetest.Write(s.t, s.store, func(ctx context.Context, tx *store.Tx) error {
		return tx.UpsertConductor(ctx, &metal.Conductor{Hostname: "agent of " + site, ConductorGroup: site, Drivers: []string{"fake-hardware"}, AgentID: site, Online: true})
	})
	uuid := s.node(`{"driver": "fake-hardware"}`)
	s.ask("latest", http.MethodPost, "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": %q}`, uuid, ramdiskMAC)).want(201)
	s.put(uuid, func(n *metal.Node) {
		n.ConductorGroup, n.ProvisionState = site, state
		n.DriverInfo = n.DriverInfo.With("redfish_address", "https://192.0.2.20")
	})
	return uuid
}

// through sends a ramdisk's call as the agent of a site relays it.
func (s *served) through(site, version, method, path, body string) answer {
	s.t.Helper()
	return s.askIn(link.RelayedFrom(s.t.Context(), site), version, method, path, body)
}

// The agent of one site learns and changes nothing of another site's nodes: it
// is answered as if they did not exist.
func TestARelayedCallReachesTheNodesOfItsSiteOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s := serveStore(t, db, "agent.require_tls=false")
		uuid := s.waiting("lisbon", metal.CleanWait)
		const unknown = "11111111-2222-4333-8444-555555555555"
		beat := fmt.Sprintf(`{"callback_url": "http://192.0.2.9:9999", "agent_version": "11.0", "agent_token": %q}`, "x")
		for _, call := range []struct{ version, method, path, body string }{
			{"1.62", http.MethodGet, "/v1/lookup?node_uuid=UUID", ""},
			{"1.22", http.MethodGet, "/v1/lookup?node_uuid=UUID", ""},
			{"1.68", http.MethodPost, "/v1/heartbeat/UUID", beat},
			{"1.68", http.MethodPost, "/v1/heartbeat/UUID", strings.Replace(beat, `"agent_version": "11.0", `, "", 1)},
			{"1.84", http.MethodPost, "/v1/continue_inspection?node_uuid=UUID", inventoryOf("aa:bb:cc:00:00:99", "")},
		} {
			theirs := s.through("porto", call.version, call.method, strings.ReplaceAll(call.path, "UUID", uuid), call.body).want(404)
			nobodys := s.through("porto", call.version, call.method, strings.ReplaceAll(call.path, "UUID", unknown), call.body).want(404)
			if got, want := strings.ReplaceAll(theirs.Body.String(), uuid, "UUID"), strings.ReplaceAll(nobodys.Body.String(), unknown, "UUID"); got != want {
				t.Errorf("%s %s: another site's node is answered with %s, an unknown one with %s", call.method, call.path, got, want)
			}
		}
		s.through("porto", "1.62", http.MethodGet, "/v1/lookup?addresses="+ramdiskMAC, "").want(404)
		s.through("", "1.62", http.MethodGet, "/v1/lookup?addresses="+ramdiskMAC, "").want(404)
		if row := s.row(uuid); row.DriverInternalInfo.Text("agent_secret_token") != "" || row.DriverInternalInfo.Text("agent_url") != "" {
			t.Errorf("another site's agent changed the node: %s", row.DriverInternalInfo)
		}

		config, _ := s.through("lisbon", "1.62", http.MethodGet, "/v1/lookup?node_uuid="+uuid, "").want(200).object()["config"].(map[string]any)
		beat = fmt.Sprintf(`{"callback_url": "http://192.0.2.9:9999", "agent_version": "11.0", "agent_token": %q}`, config["agent_token"])
		s.through("porto", "1.68", http.MethodPost, "/v1/heartbeat/"+uuid, beat).want(404)
		s.through("lisbon", "1.68", http.MethodPost, "/v1/heartbeat/"+uuid, beat).want(202)
	})
}

// Data of an inspection from another site count for no node, by whichever of its
// marks they name it.
func TestInspectionDataOfAnotherSiteCountForNoNode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s := serveStore(t, db)
		uuid := s.waiting("lisbon", metal.InspectWait)
		for name, body := range map[string]string{
			"MAC address": inventoryOf(ramdiskMAC, ""), "BMC address": inventoryOf("aa:bb:cc:00:00:99", "192.0.2.20"),
			"both": inventoryOf(ramdiskMAC, "192.0.2.20"),
		} {
			answer := s.through("porto", "1.84", http.MethodPost, "/v1/continue_inspection", body)
			if answer.Code != 404 || strings.Contains(answer.Body.String(), uuid) {
				t.Errorf("%s: %d %s", name, answer.Code, answer.Body)
			}
		}
		if row := s.row(uuid); row.Wake || row.DriverInternalInfo.Text("agent_secret_token") != "" {
			t.Errorf("another site's data woke the node, or gave it a token: %s", row.DriverInternalInfo)
		}
		// Sites may use the same private addresses: another site's node is no rival.
		other := s.node(`{"driver": "fake-hardware"}`)
		s.put(other, func(n *metal.Node) {
			n.ConductorGroup, n.ProvisionState = "porto", metal.InspectWait
			n.DriverInfo = n.DriverInfo.With("redfish_address", "https://192.0.2.20")
		})
		answer := s.through("porto", "", http.MethodPost, "/v1/continue_inspection", inventoryOf(ramdiskMAC, "192.0.2.20")).want(202)
		if got := answer.object()["uuid"]; got != other {
			t.Errorf("porto's data went to %v, want %s", got, other)
		}
		s.through("lisbon", "", http.MethodPost, "/v1/continue_inspection", inventoryOf(ramdiskMAC, "192.0.2.20")).want(202)
	})
}

func inventoryOf(mac, bmc string) string {
	body, _ := json.Marshal(map[string]any{"inventory": map[string]any{
		"interfaces": []any{map[string]any{"mac_address": mac, "name": "eth0"}}, "bmc_address": bmc,
	}})
	return string(body)
}

// Where the ramdisk was given a token in its medium, nobody else in its network
// can send what it finds.
func TestInspectionDataComeFromTheRamdiskInTheMedium(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s := serveStore(t, db)
		uuid := s.waiting("lisbon", metal.CleanWait)
		config, _ := s.through("lisbon", "1.62", http.MethodGet, "/v1/lookup?node_uuid="+uuid, "").want(200).object()["config"].(map[string]any)
		token := fmt.Sprint(config["agent_token"])
		s.put(uuid, func(n *metal.Node) {
			n.ProvisionState = metal.InspectWait
			n.DriverInternalInfo = n.DriverInternalInfo.With("agent_secret_token_pregenerated", true)
		})
		relayed := link.RelayedFrom(t.Context(), "lisbon")
		body := inventoryOf(ramdiskMAC, "")
		for _, proof := range []string{"", "x", token, metal.InspectionProof("another token"), metal.InspectionProof("")} {
			s.askIn(link.WithInspectionProof(relayed, proof), "1.84", http.MethodPost, "/v1/continue_inspection", body).want(404)
		}
		if s.row(uuid).Wake {
			t.Error("data without the proof woke the node")
		}
		s.askIn(link.WithInspectionProof(relayed, metal.InspectionProof(token)), "", http.MethodPost, "/v1/continue_inspection", body).want(202)
		s.ask("", http.MethodPost, "/v1/continue_inspection", body).want(202) // to the API itself, as in Ironic
	})
}

// The ramdisk's calls can be closed to everybody but the agents.
func TestOnlyRelayedCallsAreServedWhereOthersAreDisabled(t *testing.T) {
	s := serve(t, "api.enable_ramdisk_endpoints=false")
	uuid := s.waiting("lisbon", metal.CleanWait)
	s.ask("1.62", http.MethodGet, "/v1/lookup?node_uuid="+uuid, "").want(403)
	s.ask("1.68", http.MethodPost, "/v1/heartbeat/"+uuid, `{"callback_url": "http://192.0.2.9:9999", "agent_token": "x"}`).want(403)
	s.ask("1.84", http.MethodPost, "/v1/continue_inspection", inventoryOf(ramdiskMAC, "")).want(403)
	s.through("lisbon", "1.62", http.MethodGet, "/v1/lookup?node_uuid="+uuid, "").want(200)
}
