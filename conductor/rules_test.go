package conductor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ferrule/metal"
	"ferrule/store"
)

// Rules run with what they find in the database, and what they set is stored as
// any client's would be: a name is one node's, a credential is sealed, a NIC of
// another node's stays there.
func TestRulesAtTheEndOfAnInspection(t *testing.T) {
	b := setup(t)
	rule := metal.InspectionRule{UUID: "rule-1", Phase: metal.MainPhase, Conditions: "[]", Actions: `[
		{"op": "set-attribute", "args": {"path": "driver_info/redfish_password", "value": "canary-in-a-rule"}},
		{"op": "set-attribute", "args": {"path": "name", "value": "{inventory[hostname]}"}},
		{"op": "add-trait", "args": {"name": "CUSTOM_A"}}]`}
	err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertInspectionRule(ctx, &rule) })
	if err != nil {
		t.Fatal(err)
	}
	inspect := func(hostname, mac string) string {
		id := b.enroll()
		b.verb(id, metal.VerbManage)
		b.await(id, metal.Manageable)
		b.change(id, func(n *metal.Node) { n.InspectInterface = "agent" })
		b.verb(id, metal.VerbInspect)
		b.await(id, metal.InspectWait)
		found := fmt.Sprintf(`{"hostname": %q, "interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:01"}, {"name": "eth1", "mac_address": "52:54:00:00:01:%s"}],
			"cpu": {"architecture": "x86_64"}}`, hostname, mac)
		b.post(id, metal.InboxInspection, metal.InspectionPayload{Inventory: metal.JSON(found), PluginData: metal.EmptyObject})
		return id
	}
	first := inspect("twin", "01")
	n := b.await(first, metal.Manageable)
	ref := metal.DriverInfoSecrets(first).Below("redfish_password").Ref()
	if n.Name == nil || *n.Name != "twin" || n.DriverInfo.Text("redfish_password") != ref || len(n.Traits) != 1 {
		t.Errorf("the node is %+v", n)
	}
	sealed, err := b.store.SealedSecret(t.Context(), ref)
	if err != nil || strings.Contains(string(sealed.Sealed), "canary") {
		t.Errorf("sealed: %q, %v", sealed.Sealed, err)
	}

	second := inspect("twin", "02")
	n = b.await(second, metal.InspectFailed)
	if want := "Failed to finish inspection: Inspection rule action execution failed. Reason: Failed to set attribute name with value twin: A node with name twin already exists."; *n.LastError != want {
		t.Errorf("last_error %q", *n.LastError)
	}
	ports, err := b.store.PortsOf(t.Context(), second)
	if err != nil || len(ports) != 1 {
		t.Errorf("ports %+v, %v", ports, err)
	}
}

func (b *bundle) change(id string, change func(n *metal.Node)) {
	b.t.Helper()
	err := b.store.Write(b.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.LockNode(ctx, id)
		if err != nil {
			return err
		}
		change(n)
		return tx.UpdateNode(ctx, n)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) post(id string, kind metal.InboxKind, payload any) {
	b.t.Helper()
	err := b.store.Write(b.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.Post(ctx, id, kind, metal.ToJSON(payload))
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
