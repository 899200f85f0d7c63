package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ferrule/conductor"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

// inspecting is a node that waits for its ramdisk's inspection data, and the
// operation that does.
func (b *bundle) inspecting() (id string, op metal.OperationRecord) {
	b.t.Helper()
	id = b.enroll()
	b.verb(id, metal.VerbManage)
	b.await(id, metal.Manageable)
	b.change(id, func(n *metal.Node) { n.InspectInterface = "agent" })
	b.verb(id, metal.VerbInspect)
	b.await(id, metal.InspectWait)
	ops, err := b.store.OpenOperations(b.t.Context(), id)
	if err != nil || len(ops) != 1 {
		b.t.Fatalf("operations %+v, %v", ops, err)
	}
	return id, ops[0]
}

// abort asks for the end of the operation, as the API does.
func (b *bundle) abort(id string, op metal.OperationRecord) {
	b.t.Helper()
	b.post(id, metal.InboxVerb, metal.VerbPayload{Verb: string(metal.VerbAbort), OperationID: op.ID})
}

// jobs is how many jobs come for the node. What looks for forgotten nodes is
// called each time, as it would be within minutes.
func (b *bundle) jobs(id string) (n int) {
	b.t.Helper()
	storetest.Write(b.t, b.store, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Rewake(ctx, time.Now().Add(time.Hour)); err != nil {
			return err
		}
		jobs, err := tx.AdvanceJobs(ctx)
		n = jobs[id]
		return err
	})
	return n
}

// eventually asks until the answer is yes.
func (b *bundle) eventually(what string, yes func() bool) {
	b.t.Helper()
	deadline := time.After(30 * time.Second)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !yes() {
		select {
		case <-deadline:
			b.t.Fatalf("after 30 seconds still not: %s", what)
		case <-poll.C:
		}
	}
}

func (b *bundle) setPlan(op metal.OperationRecord, plan metal.JSON) {
	b.t.Helper()
	op.Plan = plan
	storetest.Write(b.t, b.store, func(ctx context.Context, tx *store.Tx) error { return tx.SaveOperation(ctx, &op) })
}

// One entry of each kind that fails whenever it is handled: an abort behind it is
// carried out, or its operation ends and says why; other nodes go on; the node
// never has more than one job; and the entry is kept.
func TestAnEntryThatAlwaysFailsSticksNoNode(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the pauses between tries")
	}
	const inventory = `{"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:01"}], "cpu": {"architecture": "x86_64"}}`
	const gone = "could not be handled after 3 attempts"
	for name, c := range map[string]struct {
		poison func(b *bundle, id string, op metal.OperationRecord)
		says   string // last_error
	}{
		"a verb that cannot be read": {func(b *bundle, id string, _ metal.OperationRecord) {
			b.post(id, metal.InboxVerb, 5)
		}, gone},
		"a result that cannot be read": {func(b *bundle, id string, _ metal.OperationRecord) {
			b.post(id, metal.InboxResult, 5)
		}, gone},
		"a timer that cannot be read": {func(b *bundle, id string, op metal.OperationRecord) {
			b.post(id, metal.InboxTimer, map[string]any{"operationId": op.ID, "deadline": "soon"})
		}, gone},
		"an observation that no column holds": {func(b *bundle, id string, _ metal.OperationRecord) {
			b.post(id, metal.InboxPower, metal.PowerPayload{State: "a\x00b"})
		}, "Inspection was aborted by request."},
		"inspection data that no column holds": {func(b *bundle, id string, _ metal.OperationRecord) {
			found := strings.Replace(inventory, "00:01", `00:01\u0000`, 1)
			b.post(id, metal.InboxInspection, metal.InspectionPayload{Inventory: metal.JSON(found), PluginData: metal.EmptyObject})
		}, ""},
		"a task of a newer version": {func(b *bundle, id string, op metal.OperationRecord) {
			b.setPlan(op, `{"current": {"do": "await-inspection"}, "tasks": [{"do": "of-a-newer-version"}], "index": 0}`)
			b.post(id, metal.InboxInspection, metal.InspectionPayload{Inventory: inventory, PluginData: metal.EmptyObject})
		}, gone},
		"a plan that cannot be read": {func(b *bundle, id string, op metal.OperationRecord) {
			b.setPlan(op, `5`)
			b.post(id, metal.InboxHeartbeat, metal.HeartbeatPayload{})
		}, gone},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				b := setupOn(t, s)
				id, op := b.inspecting()
				other := b.enroll()
				b.eventually("no job is left over", func() bool { return b.jobs(id) == 0 })
				c.poison(b, id, op)
				b.abort(id, op)
				b.verb(other, metal.VerbManage)
				b.await(other, metal.Manageable)
				b.eventually("the operation is over", func() bool {
					if n := b.jobs(id); n > 1 {
						t.Errorf("%d jobs come for the node", n)
					}
					ops, err := s.OpenOperations(t.Context(), id)
					return err == nil && len(ops) == 0
				})
				if c.says == "" {
					return // hooks may refuse it before it reaches a column
				}
				if n := b.await(id, metal.InspectFailed); n.LastError == nil || !strings.Contains(*n.LastError, c.says) {
					t.Errorf("last_error %v, want %q", n.LastError, c.says)
				}
				kept, err := s.StuckEntries(t.Context(), 10)
				if err != nil || len(kept) != 1 || kept[0].NodeUUID != id || kept[0].Cause == "" {
					t.Errorf("kept %+v, %v", kept, err)
				}
			})
		})
	}
}

// A timer behind a poisonous entry fires.
func TestATimerBehindAnEntryThatAlwaysFailsFires(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the pauses between tries")
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := setupOn(t, s)
		id, op := b.inspecting()
		past := time.Now().UTC().Add(-time.Minute).Truncate(time.Microsecond)
		op.Deadline = &past
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SaveOperation(ctx, &op) })
		b.post(id, metal.InboxPower, metal.PowerPayload{State: "a\x00b"})
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.SetTimer(ctx, id, metal.TimerPayload{OperationID: op.ID, Deadline: past})
		})
		if n := b.await(id, metal.InspectFailed); n.LastError == nil || !strings.Contains(*n.LastError, "Timeout reached") {
			t.Errorf("last_error %v", n.LastError)
		}
	})
}

// A rule's secret that does not open fails the inspections that need it, and
// nothing else.
func TestASecretThatDoesNotOpenFailsOnlyTheInspection(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := setupOn(t, s)
		uuid := storetest.UUID()
		ref := metal.SecretPlace{Owner: metal.InspectionRuleSecrets, UUID: uuid, Path: "actions/0"}.Ref()
		rule := metal.InspectionRule{UUID: uuid, Phase: metal.MainPhase, Conditions: "[]", Actions: metal.ToJSON([]any{
			map[string]any{"op": "set-attribute", "args": map[string]any{"path": "driver_info/redfish_password", "value": ref}},
		})}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.PutSecret(ctx, &store.SecretRef{Ref: ref, Scope: "tenant"}, storetest.Sealed("by another deployment")); err != nil {
				return err
			}
			return tx.InsertInspectionRule(ctx, &rule)
		})
		aborted, op := b.inspecting()
		b.abort(aborted, op)
		if n := b.await(aborted, metal.InspectFailed); n.LastError == nil || !strings.Contains(*n.LastError, "aborted by request") {
			t.Errorf("last_error %v", n.LastError)
		}
		inspected, _ := b.inspecting()
		b.post(inspected, metal.InboxInspection, metal.InspectionPayload{
			Inventory:  `{"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:01"}], "cpu": {"architecture": "x86_64"}}`,
			PluginData: metal.EmptyObject,
		})
		if n := b.await(inspected, metal.InspectFailed); n.LastError == nil || !strings.Contains(*n.LastError, uuid) {
			t.Errorf("last_error %v", n.LastError)
		}
	})
}

// localFunc is a Local made of a function.
type localFunc func(req metal.Request) metal.CommandResult

func (f localFunc) Execute(_ context.Context, req metal.Request) metal.CommandResult { return f(req) }

// A command of the conductor's own that panics, or whose result no column holds,
// fails its operation.
func TestALocalCommandSticksNoNode(t *testing.T) {
	for name, answer := range map[string]localFunc{
		"panic": func(metal.Request) metal.CommandResult { panic("as a driver might") },
		"text": func(metal.Request) metal.CommandResult {
			return metal.CommandResult{ErrorCode: metal.CodeBMCError, Message: "a\x00b\xff"}
		},
		"result": func(metal.Request) metal.CommandResult {
			return metal.CommandResult{OK: true, ResultJSON: json.RawMessage(`{"state": "a\u0000b"}`)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				b := setupOn(t, s, func(o *conductor.Options) { o.Local = answer })
				id := b.enroll()
				b.verb(id, metal.VerbManage)
				b.eventually("the verb is over", func() bool {
					ops, err := s.OpenOperations(t.Context(), id)
					return err == nil && len(ops) == 0
				})
			})
		})
	}
}

// Only a node that is gone ends its work silently: another row that is missing is
// an error in the log, or is done without.
func TestAMissingRowIsNoMissingNode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := setupOn(t, s)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { // of an agent that is no more
			return tx.UpsertConductor(ctx, &metal.Conductor{Hostname: "ghost", Drivers: []string{"redfish"}, AgentID: "ghost", Online: true})
		})
		id := b.enroll()
		b.change(id, func(n *metal.Node) {
			n.Driver, n.DriverInfo = "redfish", `{"redfish_address":"https://127.0.0.9"}`
			n.PowerInterface, n.ManagementInterface = "redfish", "redfish"
		})
		b.verb(id, metal.VerbManage)
		if n := b.awaitError(id); !strings.Contains(*n.LastError, "no site agent serves") {
			t.Errorf("last_error %q", *n.LastError)
		}
	})
}

// Rules run outside of transactions: meanwhile others write, and the node itself
// may change, after which they run again.
func TestRulesHoldUpNoWriter(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var b *bundle
		var id, other string
		runs := 0
		b = setupWith(t, s, nil, func(c *conductor.Conductor) {
			c.OnRulesRan(func() {
				runs++
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				for _, change := range []string{other, id} {
					if change == id && runs > 1 {
						continue
					}
					err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
						n, err := tx.LockNode(ctx, change)
						if err != nil {
							return err
						}
						n.Extra = n.Extra.With("seen", runs)
						return tx.UpdateNode(ctx, n)
					})
					if err != nil {
						t.Errorf("a write beside the rules: %v", err)
					}
				}
			})
		})
		rule := metal.InspectionRule{UUID: "rule-1", Phase: metal.MainPhase, Conditions: "[]",
			Actions: `[{"op": "set-attribute", "args": {"path": "extra/ruled", "value": "yes"}}]`}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertInspectionRule(ctx, &rule) })
		other = b.enroll()
		id, _ = b.inspecting()
		b.post(id, metal.InboxInspection, metal.InspectionPayload{
			Inventory:  metal.JSON(fmt.Sprintf(`{"interfaces": [{"name": "eth0", "mac_address": %q}], "cpu": {"architecture": "x86_64"}}`, "52:54:00:00:00:01")),
			PluginData: metal.EmptyObject,
		})
		n := b.await(id, metal.Manageable)
		if runs != 2 || n.Extra.Text("ruled") != "yes" || n.Extra.Lookup("seen") == nil {
			t.Errorf("%d runs, extra %s", runs, n.Extra)
		}
	})
}
