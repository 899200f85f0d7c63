package conductor

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"ferrule/config"
	"ferrule/metal"
	"ferrule/store"
)

func TestAnAgentThatHasJustComeIsKnown(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{DSN: "sqlite://" + filepath.Join(t.TempDir(), "ferrule.sqlite")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := &Conductor{Options: Options{Config: &config.Config{Conductor: config.Conductor{HeartbeatTimeout: time.Minute}}}}
	node := &metal.Node{UUID: "n-1", Driver: "redfish", ConductorGroup: "lisbon"}
	knows := func(want string) {
		t.Helper()
		list, err := s.Conductors(t.Context())
		if agent := c.directory(list).agentFor(node); err != nil || agent != want {
			t.Errorf("the node's agent is %q, %v; want %q", agent, err, want)
		}
	}
	comes := func(host, agent string, online bool) {
		t.Helper()
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.UpsertConductor(ctx, &metal.Conductor{
				Hostname: host, ConductorGroup: "lisbon", Drivers: []string{"redfish"}, AgentID: agent, Online: online,
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	knows("")
	comes("a", "agent-a", false)
	knows("agent-a") // away, and all there is
	comes("b", "agent-b", true)
	knows("agent-b")
}
