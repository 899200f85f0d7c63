package conductor_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func (b *bundle) put(nodeUUID string, place metal.SecretPlace) string {
	b.t.Helper()
	storetest.Write(b.t, b.store, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.PutSecret(ctx, &store.SecretRef{Ref: place.Ref(), Scope: "tenant", NodeUUID: nodeUUID}, storetest.Sealed("sealed"))
		return err
	})
	return place.Ref()
}

func (b *bundle) has(ref string) bool {
	b.t.Helper()
	_, err := b.store.SealedSecret(b.t.Context(), ref)
	if err != nil && metal.ReasonOf(err) != metal.NotFound {
		b.t.Fatal(err)
	}
	return err == nil
}

// What ends an instance deletes what lies at the node's own instance_info, and
// nothing that a row only names.
func TestTheEndOfAnInstanceDeletesItsOwnSecretsOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := setupOn(t, s)
		victim, own := b.enroll(), b.enroll()
		theirs := b.put(victim, metal.DriverInfoSecrets(victim).Below("redfish_password"))
		drive := b.put(victim, metal.InstanceInfoSecrets(victim).Below("configdrive"))
		password := b.put(own, metal.DriverInfoSecrets(own).Below("redfish_password"))
		unnamed := b.put(own, metal.InstanceInfoSecrets(own).Below("left/over"))
		for _, step := range []struct {
			verb metal.Verb
			want metal.State
		}{{metal.VerbManage, metal.Manageable}, {metal.VerbProvide, metal.Available}, {metal.VerbActive, metal.Active}} {
			b.verb(own, step.verb)
			b.await(own, step.want)
		}
		b.change(own, func(n *metal.Node) {
			n.InstanceInfo = metal.ToJSON(map[string]any{"x": theirs, "deep": []any{map[string]string{"password": password}}, "configdrive": drive})
			n.DriverInternalInfo = n.DriverInternalInfo.With("agent_secret_token", theirs)
		})
		b.verb(own, metal.VerbDeleted)
		b.await(own, metal.Available)
		if !b.has(theirs) || !b.has(drive) || !b.has(password) {
			t.Errorf("kept: the other's password %v and config drive %v, the own password %v", b.has(theirs), b.has(drive), b.has(password))
		}
		if b.has(unnamed) {
			t.Error("a secret of the instance outlives it")
		}
	})
}

// Nothing that names another's secret is signed, whoever asks.
func TestNothingIsSignedThatNamesAnothersSecret(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := setupOn(t, s)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.UpsertConductor(ctx, &metal.Conductor{Hostname: "site-1", Drivers: []string{"redfish"}, AgentID: "a", Online: true})
		})
		victim := uuid.NewString()
		node := metal.Node{UUID: uuid.NewString(), Driver: "redfish", ProvisionState: metal.Manageable}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertNode(ctx, &node) })
		ref := metal.DriverInfoSecrets(victim).Below("redfish_password").Ref()
		token := metal.RamdiskToken(victim).Ref()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for _, req := range []metal.Request{
			{Driver: "redfish", Address: "192.0.2.1", Operation: metal.PowerGet, CredentialsRef: ref},
			{Operation: metal.RamdiskCall, Secrets: map[string]string{"/params/x": ref}},
			{Operation: metal.RamdiskCall, Secrets: map[string]string{"/params/x": metal.DriverInfoSecrets(node.UUID).Below("redfish_password").Ref()}},
			{Operation: metal.MediaPublish, Secrets: map[string]string{metal.TokenParam: token}},
		} {
			if _, err := b.conductor.Do(ctx, &node, req); metal.ReasonOf(err) != metal.Invalid {
				t.Errorf("%+v: %v", req, err)
			}
		}
		if list, err := s.UnfinishedCommands(t.Context(), "a", 10); err != nil || len(list) != 0 {
			t.Errorf("commands %v, %v", list, err)
		}
	})
}
