package api

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"ferrule/metal"
)

// canary is a credential that occurs nowhere else.
func canary() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return "canary-" + hex.EncodeToString(b[:])
}

// kept is everything that the database's files hold.
func (s *served) kept() []byte {
	s.t.Helper()
	var all bytes.Buffer
	for _, suffix := range []string{"", "-wal"} {
		part, err := os.ReadFile(s.file + suffix)
		if err != nil && !os.IsNotExist(err) {
			s.t.Fatal(err)
		}
		all.Write(part)
	}
	return all.Bytes()
}

func TestATargetsCredentialsAreSealedAndMoveWithIt(t *testing.T) {
	s := serve(t)
	from, to := s.node(`{"driver": "fake-hardware"}`), s.node(`{"driver": "fake-hardware"}`)
	off := string(metal.PowerOff)
	for _, uuid := range []string{from, to} {
		s.put(uuid, func(n *metal.Node) { n.PowerState = &off })
	}
	first, second := canary(), canary()
	made := s.ask("1.115", http.MethodPost, "/v1/volume/targets", fmt.Sprintf(
		`{"node_uuid": %q, "volume_type": "iscsi", "volume_id": "v", "boot_index": 0, "properties": {"iqn": "i", "auth_password": %q, "deep": [{"secret": %q}]}}`,
		from, first, second)).want(http.StatusCreated)
	if got := made.Body.String(); strings.Contains(got, "canary") || !strings.Contains(got, `"auth_password":"******"`) {
		t.Errorf("the answer shows %s", got)
	}
	path := "/v1/volume/targets/" + made.object()["uuid"].(string)
	opened := func(node, value string, want int) {
		t.Helper()
		refs, err := s.store.SecretRefs(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, ref := range refs {
			if sealed, err := s.store.SealedSecret(t.Context(), ref.Ref); err != nil {
				t.Error(err)
			} else if plain, err := s.sealer.Open(sealed.Name(""), sealed.Sealed); err != nil || string(plain) == value {
				found++
			}
		}
		if len(refs) != want || want > 0 && found != 1 {
			t.Errorf("node %s keeps %d secrets, %d of them %s", node, len(refs), found, value)
		}
	}
	opened(from, first, 2)
	s.ask("1.115", http.MethodPatch, path, `[{"op": "replace", "path": "/properties/auth_password", "value": "******"}]`).want(http.StatusOK)
	opened(from, first, 2)
	s.ask("1.115", http.MethodPatch, path, fmt.Sprintf(`[{"op": "replace", "path": "/node_uuid", "value": %q}]`, to)).want(http.StatusOK)
	opened(from, first, 0)
	opened(to, first, 2)
	opened(to, second, 2)
	if bytes.Contains(s.kept(), []byte("canary-")) {
		t.Error("the database holds a credential")
	}
	s.ask("1.115", http.MethodPatch, path, `[{"op": "remove", "path": "/properties/auth_password"}]`).want(http.StatusOK)
	opened(to, second, 1)
	s.ask("1.115", http.MethodDelete, path, "").want(http.StatusNoContent)
	opened(to, second, 0)
}
