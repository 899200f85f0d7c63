package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ferrule/metal"
)

// A heartbeat for which no work can wait changes the node and starts no job.
func TestAHeartbeatThatNobodyWaitsForStartsNoJob(t *testing.T) {
	s := serve(t, "agent.require_tls=false")
	for state, wakes := range map[metal.State]bool{
		metal.CleanWait: true, metal.DeployWait: true, metal.ServiceWait: true, metal.RescueWait: true,
		metal.CleanHold: false, metal.DeployHold: false, metal.ServiceHold: false,
	} {
		uuid := s.node(`{"driver": "fake-hardware"}`)
		s.put(uuid, func(n *metal.Node) { n.ProvisionState = metal.CleanWait })
		config, _ := s.ask("1.62", http.MethodGet, "/v1/lookup?node_uuid="+uuid, "").want(200).object()["config"].(map[string]any)
		s.put(uuid, func(n *metal.Node) { n.ProvisionState = state })
		before := s.row(uuid)
		s.ask("1.68", http.MethodPost, "/v1/heartbeat/"+uuid, fmt.Sprintf(
			`{"callback_url": "http://127.0.0.2:9999", "agent_version": "11.0", "agent_token": %q}`, config["agent_token"])).want(202)
		after := s.row(uuid)
		if after.Wake != wakes || after.Version != before.Version+1 || after.DriverInternalInfo.Text("agent_last_heartbeat") == "" {
			t.Errorf("%s: wake %v, version %d after %d, %s", state, after.Wake, after.Version, before.Version, after.DriverInternalInfo)
		}
	}
}

// What a ramdisk says is taken although no column could hold it as it is: a
// ramdisk that was refused for it would never be heard.
func TestARamdisksTextIsMadeStorable(t *testing.T) {
	s := serve(t, "agent.require_tls=false")
	uuid := s.node(`{"driver": "fake-hardware"}`)
	s.put(uuid, func(n *metal.Node) { n.ProvisionState = metal.CleanWait })
	config, _ := s.ask("1.62", http.MethodGet, "/v1/lookup?node_uuid="+uuid, "").want(200).object()["config"].(map[string]any)
	s.ask("1.72", http.MethodPost, "/v1/heartbeat/"+uuid, fmt.Sprintf(
		`{"callback_url": "http://127.0.0.2:9999", "agent_version": "11.0", "agent_token": %q, "agent_status": "error", "agent_status_message": "a\u0000b"}`,
		config["agent_token"])).want(202)
	if got := s.row(uuid).DriverInternalInfo.Text("agent_status_message"); got != "a\uFFFDb" {
		t.Errorf("agent_status_message %q", got)
	}
	s.put(uuid, func(n *metal.Node) { n.ProvisionState = metal.InspectWait })
	s.ask("1.84", http.MethodPost, "/v1/continue_inspection?node_uuid="+uuid,
		`{"inventory": {"interfaces": [{"mac_address": "aa:bb:cc:00:00:04"}], "system_vendor": {"serial_number": "1\u00000"}}}`).want(202)
}

// A ramdisk is told nothing of why it is refused; the log says it, once.
func TestARefusedLookupIsInTheLog(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware"}`)
	s.ask("latest", http.MethodPost, "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": "aa:bb:cc:00:00:01"}`, uuid)).want(201)
	inventory := func(mac string) string {
		return fmt.Sprintf(`{"inventory": {"interfaces": [{"mac_address": %q, "name": "eth0"}], "bmc_address": "192.0.2.1"}}`, mac)
	}
	for range 3 {
		s.ask("1.62", http.MethodGet, "/v1/lookup?addresses=aa:bb:cc:00:00:02,AA:BB:CC:00:00:03", "").want(404)
		s.ask("1.62", http.MethodGet, "/v1/lookup?addresses=aa:bb:cc:00:00:03,aa:bb:cc:00:00:02", "").want(404)
		s.ask("1.62", http.MethodGet, "/v1/lookup?addresses=aa:bb:cc:00:00:01", "").want(404)
		s.ask("1.84", http.MethodPost, "/v1/continue_inspection", inventory("aa:bb:cc:00:00:04")).want(404)
	}
	for part, want := range map[string]int{
		"look-up was refused": 3, "macs=aa:bb:cc:00:00:02,aa:bb:cc:00:00:03": 1,
		"macs=aa:bb:cc:00:00:01 ": 1, "in the state enroll": 1, "macs=aa:bb:cc:00:00:04": 1,
	} {
		if got := strings.Count(s.log.String(), part); got != want {
			t.Errorf("%d lines with %q, want %d:\n%s", got, part, want, s.log)
		}
	}
}
