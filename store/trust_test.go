package store_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestARotationKeepsTheCurrentSecretUntilTheNewOneIsProved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		ref := store.SecretRef{Ref: "secret://fleet/one", Scope: "fleet"}
		put := func(value string) (v int64) {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				v, err = tx.PutSecret(ctx, &ref, storetest.Sealed(value))
				return err
			})
			return v
		}
		pend := func(value string) (v int64, err error) {
			err = s.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
				v, err = tx.PutPendingSecret(ctx, ref.Ref, storetest.Sealed(value))
				return err
			})
			return v, err
		}
		current := func() string {
			c, err := s.SealedSecret(ctx, ref.Ref)
			if err != nil {
				t.Fatal(err)
			}
			return string(c.Sealed)
		}
		if _, err := pend("too early"); metal.ReasonOf(err) != metal.NotFound {
			t.Errorf("got %v, want no such secret", err)
		}
		if v := put("one\x00\xff"); v != 1 || current() != "one\x00\xff" {
			t.Errorf("version %d: %q", v, current())
		}
		second, err := pend("two")
		if err != nil || current() != "one\x00\xff" {
			t.Errorf("%v, current %q", err, current())
		}
		_, err = pend("three")
		wantRefusal(t, err, metal.Conflict, ref.Ref)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.FailSecret(ctx, ref.Ref, second) })
		if got, err := s.SecretVersion(ctx, ref.Ref, second); err != nil || got.State != store.SecretFailed {
			t.Errorf("got %v, %v", got.State, err)
		}
		third, err := pend("three")
		if err != nil || third != 3 {
			t.Fatalf("version %d, %v", third, err)
		}
		err = s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.PromoteSecret(ctx, ref.Ref, second) })
		wantRefusal(t, err, metal.Conflict, ref.Ref)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PromoteSecret(ctx, ref.Ref, third) })
		if current() != "three" {
			t.Errorf("current is %q", current())
		}
		if _, err := s.SecretVersion(ctx, ref.Ref, 1); metal.ReasonOf(err) != metal.NotFound {
			t.Errorf("the replaced value is there still: %v", err)
		}
		if v := put("four"); v != 4 || current() != "four" {
			t.Errorf("version %d: %q", v, current())
		}
		if got, err := s.SecretRefs(ctx, ""); err != nil || len(got) != 1 || got[0].Scope != "fleet" {
			t.Errorf("got %v, %v", got, err)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSecret(ctx, ref.Ref) })
		_, err = s.SealedSecret(ctx, ref.Ref)
		wantRefusal(t, err, metal.NotFound, ref.Ref)
	})
}

func TestANodesSecretsAreListed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		ref := metal.DriverInfoSecrets(n.UUID).Below("redfish_password").Ref()
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.PutSecret(ctx, &store.SecretRef{Ref: ref, Scope: "tenant", NodeUUID: n.UUID}, storetest.Sealed("sealed"))
			return err
		})
		got, err := s.SecretRefs(t.Context(), n.UUID)
		if err != nil || len(got) != 1 || got[0].Ref != ref || got[0].NodeUUID != n.UUID {
			t.Errorf("got %v, %v", got, err)
		}
		if got, err := s.SecretRef(t.Context(), ref); err != nil || got.Scope != "tenant" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func joinCode(t *testing.T, s *store.Store, hash string, expires time.Time) store.JoinCode {
	t.Helper()
	j := store.JoinCode{ID: storetest.UUID(), SecretHash: hash, Site: "s1", ExpiresAt: expires.UTC().Truncate(time.Microsecond)}
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertJoinCode(ctx, &j) })
	return j
}

func join(s *store.Store, hash, key string) (store.Agent, error) {
	a := store.Agent{ID: storetest.UUID(), Hostname: "h", HardwareTypes: []string{"redfish"}, Labels: "{}", Operations: "{}"}
	err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error { return tx.Join(ctx, hash, key, &a) })
	return a, err
}

func TestAJoinCodeWorksOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		joinCode(t, s, "hash", time.Now().Add(time.Hour))
		joinCode(t, s, "expired", time.Now().Add(-time.Second))
		var joined atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := join(s, "hash", storetest.UUID()); err == nil {
					joined.Add(1)
				} else if metal.ReasonOf(err) != metal.Forbidden {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if joined.Load() != 1 {
			t.Errorf("%d agents joined with one code", joined.Load())
		}
		for _, hash := range []string{"unknown", "expired", "hash"} {
			_, err := join(s, hash, "key")
			wantRefusal(t, err, metal.Forbidden, "join code")
		}
		codes, err := s.JoinCodes(ctx)
		if err != nil || len(codes) != 2 || codes[0].UsedAt == nil || codes[0].AgentID == "" {
			t.Errorf("got %+v, %v", codes, err)
		}
	})
}

func TestTheSameKeyMayJoinAgainAndGetsTheSameAgent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		joinCode(t, s, "hash", time.Now().Add(time.Hour))
		first, err := join(s, "hash", "key")
		if err != nil || first.Site != "s1" {
			t.Fatalf("got %+v, %v", first, err)
		}
		again, err := join(s, "hash", "key")
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeAgent(ctx, first.ID) })
		_, err = join(s, "hash", "key")
		wantRefusal(t, err, metal.Forbidden, "join code")
		if got, err := s.AgentsOf(ctx, "s1"); err != nil || len(got) != 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestAnAgentsSessionAndKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		joinCode(t, s, "hash", time.Now().Add(time.Hour))
		a, err := join(s, "hash", "key")
		if err != nil {
			t.Fatal(err)
		}
		a.SessionID, a.Software = "two", "1.0"
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.UpdateAgent(ctx, &a); err != nil {
				return err
			}
			if ended, err := tx.EndSession(ctx, a.ID, "one"); err != nil || ended {
				t.Errorf("an older session ended the newer one: %v", err)
			}
			for _, keyHash := range []string{"10", "9", "8"} {
				if err := tx.AddKey(ctx, a.ID, keyHash); err != nil {
					return err
				}
			}
			return tx.RetireKeysBefore(ctx, a.ID, "9")
		})
		keys, err := s.Keys(ctx, a.ID)
		if diff := cmp.Diff([]string{"9", "8"}, keys); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		got, err := s.Agent(ctx, a.ID)
		if err != nil || got.SessionID != "two" {
			t.Errorf("got %+v, %v", got, err)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeAgent(ctx, a.ID) })
		keys, err = s.Keys(ctx, a.ID)
		if err != nil || len(keys) != 0 {
			t.Errorf("keys %v are in force still, %v", keys, err)
		}
		err = s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.AddKey(ctx, storetest.UUID(), "1") })
		wantRefusal(t, err, metal.NotFound, "could not be found")
	})
}

func TestATrustKeyIsSetOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		if sealed, public, err := s.TrustKey(ctx, "ca"); err != nil || sealed != nil || public != nil {
			t.Errorf("got %v, %v, %v", sealed, public, err)
		}
		for _, v := range []string{"first", "second"} {
			if err := s.PutTrustKey(ctx, "ca", []byte("private "+v), []byte("public "+v)); err != nil {
				t.Fatal(err)
			}
		}
		sealed, public, err := s.TrustKey(ctx, "ca")
		if err != nil || string(sealed) != "private first" || string(public) != "public first" {
			t.Errorf("got %q, %q, %v", sealed, public, err)
		}
	})
}

func TestARequestForASecretIsNewOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		until := time.Now().Add(time.Minute)
		for i, want := range []bool{true, false} {
			if got, err := s.UseRequestID(t.Context(), "a", "r1", until); err != nil || got != want {
				t.Errorf("use %d: %v, %v", i, got, err)
			}
		}
		if got, err := s.UseRequestID(t.Context(), "b", "r1", until); err != nil || !got {
			t.Errorf("another agent's: %v, %v", got, err)
		}
	})
}

func TestSitesAreListedByName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, site := range []store.Site{{Name: "b"}, {Name: "a"}, {Name: "b", Labels: `{"k":"v"}`}, {Name: "c"}} {
				if err := tx.PutSite(ctx, &site); err != nil {
					return err
				}
			}
			return tx.DeleteSite(ctx, "c")
		})
		got, err := s.Sites(t.Context())
		if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Labels != `{"k":"v"}` {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestSecretsOfAPlaceAreDeletedTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		place := metal.SecretPlace{Owner: metal.RunbookSecrets, UUID: "1", Path: "steps"}
		other := metal.SecretPlace{Owner: metal.RunbookSecrets, UUID: "10", Path: "steps"}
		upper := metal.SecretPlace{Owner: metal.RunbookSecrets, UUID: "1", Path: "Steps"}
		longer := metal.SecretPlace{Owner: metal.RunbookSecrets, UUID: "1", Path: "steps0"}
		kept := []string{other.Below("x").Ref(), upper.Below("x").Ref(), longer.Ref()}
		for _, ref := range append([]string{place.Ref(), place.Below("x").Ref(), place.Below("x/y").Ref()}, kept...) {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.PutSecret(ctx, &store.SecretRef{Ref: ref, Scope: "tenant"}, storetest.Sealed("sealed"))
				return err
			})
		}
		left := func(place metal.SecretPlace) []string {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSecrets(ctx, place) })
			list, err := s.SecretRefs(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			var refs []string
			for _, r := range list {
				refs = append(refs, r.Ref)
			}
			return refs
		}
		slices.Sort(kept)
		if got := left(place); !slices.Equal(got, kept) {
			t.Errorf("left are %v, want %v", got, kept)
		}
		if _, err := s.SealedSecret(t.Context(), place.Below("x").Ref()); metal.ReasonOf(err) != metal.NotFound {
			t.Errorf("a deleted secret: %v", err)
		}
		if got := left(metal.SecretPlace{Owner: metal.RunbookSecrets, UUID: "1"}); len(got) != 1 || got[0] != other.Below("x").Ref() {
			t.Errorf("left are %v, want those of the other owner", got)
		}
	})
}
