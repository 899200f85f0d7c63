package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"ferrule/store"
	"ferrule/store/storetest"
)

// Ready means that nodes of every enabled hardware type can be created, or the
// answer says of which it cannot and why.
func TestReadyzNamesTheHardwareTypesThatCannotBeUsed(t *testing.T) {
	s := serve(t)
	if got := s.ask("", http.MethodGet, "/readyz", "").want(200).Body.String(); got != "ready\n" {
		t.Errorf("%q", got)
	}
	storetest.Write(t, s.store, func(ctx context.Context, tx *store.Tx) error { return tx.TouchConductor(ctx, "site-1", false) })
	for _, c := range []struct {
		own    bool
		status int
		begins string
	}{{false, 200, "ready\n"}, {true, 503, "not ready: "}} {
		s.api.ownAgent = func() bool { return c.own }
		got := s.ask("", http.MethodGet, "/readyz", "").want(c.status).Body.String()
		if !strings.HasPrefix(got, c.begins) || !strings.Contains(got, "\nredfish cannot be used: the site agents that serve it are off line") ||
			strings.Contains(got, "fake-hardware") {
			t.Errorf("own agent %v: %q", c.own, got)
		}
	}
	storetest.Write(t, s.store, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConductor(ctx, "site-1") })
	if got := s.ask("", http.MethodGet, "/readyz", "").want(503).Body.String(); !strings.Contains(got, "ferrule join-code") {
		t.Errorf("no remedy: %q", got)
	}
}
