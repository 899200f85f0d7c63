package store_test

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func ptr[T any](v T) *T { return &v }

// wantRefusal checks that err is a refusal for the reason, which says what.
func wantRefusal(t *testing.T, err error, reason metal.Reason, what string) {
	t.Helper()
	if got := metal.ReasonOf(err); got != reason {
		t.Fatalf("got error %v (reason %q), want reason %q", err, got, reason)
	}
	if !strings.Contains(err.Error(), what) {
		t.Errorf("got text %q, want it to say %q", err, what)
	}
}

// fill gives every field of a record a value of its own.
func fill(t *testing.T, record any) {
	t.Helper()
	v := reflect.ValueOf(record).Elem()
	instant := time.Date(2026, 2, 3, 4, 5, 6, 789012000, time.UTC)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch f := v.Field(i).Addr().Interface().(type) {
		case *string:
			*f = "text of " + name
		case **string:
			*f = ptr("text of " + name)
		case *metal.State:
			*f = metal.State("state of " + name)
		case *metal.JSON:
			*f = metal.JSON(`{"z":1.50,"a":123456789012345678901234567890,"field":"` + name + `","n":null,"é":"☃ \u0000"}`)
		case *bool:
			*f = true
		case **bool:
			*f = ptr(false)
		case *int64:
			*f = int64(1000 + i)
		case **int64:
			*f = ptr(int64(2000 + i))
		case *time.Time:
			*f = instant.Add(time.Duration(i) * time.Microsecond)
		case **time.Time:
			*f = ptr(instant.Add(time.Duration(i) * time.Hour))
		case *[]string:
			*f = []string{"CUSTOM_B", "CUSTOM_A", name}
		default:
			if v.Field(i).Kind() != reflect.String {
				t.Fatalf("field %s: no value for a %T", name, f)
			}
			v.Field(i).SetString("text of " + name)
		}
	}
}

func TestANodeComesBackAsItWasWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var full metal.Node
		fill(t, &full)
		full.UUID = storetest.UUID()
		empty := metal.Node{UUID: storetest.UUID(), Driver: "manual-management", ProvisionState: metal.Available}
		for _, want := range []metal.Node{full, empty} {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertNode(ctx, &want) })
			got, err := s.NodeByUUID(t.Context(), want.UUID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("inserted and read differ (-want +got):\n%s", diff)
			}
			fill(t, &want)
			want.UUID, want.ID, want.CreatedAt, want.Version, want.Wake = got.UUID, got.ID, got.CreatedAt, got.Version, got.Wake
			want.Name, want.InstanceUUID = ptr(got.UUID+"-name"), ptr(storetest.UUID())
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateNode(ctx, &want) })
			if got, err = s.NodeByUUID(t.Context(), want.UUID); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("updated and read differ (-want +got):\n%s", diff)
			}
		}
	})
}

func TestAnObjectThatNobodySetIsEmpty(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		got, err := s.NodeByUUID(t.Context(), n.UUID)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range []metal.JSON{got.DriverInfo, got.Properties, got.Extra, got.CleanStep, got.NetworkData} {
			if j != metal.EmptyObject {
				t.Errorf("got %q, want {}", j)
			}
		}
	})
}

func TestNodesAreFoundByTheirLiteralUUIDAndName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		n := storetest.Node(t, s, func(n *metal.Node) {
			n.UUID = "aabbccdd-1111-4222-8333-abcdefabcdef"
			n.Name = ptr("Rack-1_Node")
			n.InstanceUUID = ptr(storetest.UUID())
		})
		for _, ident := range []string{n.UUID, *n.Name} {
			if got, err := s.Node(ctx, ident); err != nil || got.UUID != n.UUID {
				t.Errorf("Node(%q) = %v, %v", ident, got.UUID, err)
			}
		}
		for _, ident := range []string{
			strings.ToUpper(n.UUID), strings.ReplaceAll(n.UUID, "-", ""), " " + n.UUID, "{" + n.UUID + "}",
			"rack-1_node", "not-a-uuid", "", "'; DROP TABLE nodes; --", "%", "?", "$1",
		} {
			_, err := s.Node(ctx, ident)
			wantRefusal(t, err, metal.NotFound, "Node "+ident+" could not be found.")
		}
		if _, err := s.NodeByUUID(ctx, *n.Name); metal.ReasonOf(err) != metal.NotFound {
			t.Errorf("a name was taken for a UUID: %v", err)
		}
		if got, err := s.NodeByInstance(ctx, *n.InstanceUUID); err != nil || got.UUID != n.UUID {
			t.Errorf("NodeByInstance = %v, %v", got.UUID, err)
		}
		_, err := s.NodeByInstance(ctx, n.UUID)
		wantRefusal(t, err, metal.NotFound, n.UUID)
	})
}

func TestTextThatAnEngineWouldCutIsRefusedBeforeIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		for _, bad := range []string{"a\x00b", "\xff\xfe", "\xed\xa0\x80"} {
			_, err := s.Node(t.Context(), bad)
			wantRefusal(t, err, metal.Invalid, "UTF-8")
			_, err = s.Nodes(t.Context(), store.NodeQuery{Owner: &bad})
			wantRefusal(t, err, metal.Invalid, "UTF-8")
			_, err = s.Nodes(t.Context(), store.NodeQuery{Shards: []string{"x", bad}})
			wantRefusal(t, err, metal.Invalid, "UTF-8")
			_, err = s.Nodes(t.Context(), store.NodeQuery{DescriptionContains: new(bad)})
			wantRefusal(t, err, metal.Invalid, "UTF-8")
			_, err = s.Nodes(t.Context(), store.NodeQuery{Page: store.Page{Marker: bad}})
			wantRefusal(t, err, metal.Invalid, "UTF-8")
			for _, change := range []func(*metal.Node){
				func(n *metal.Node) { n.Name = &bad },
				func(n *metal.Node) { n.Extra = metal.JSON(`{"k":"` + bad + `"}`) },
			} {
				changed := n
				change(&changed)
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.UpdateNode(ctx, &changed) })
				wantRefusal(t, err, metal.Invalid, "UTF-8")
			}
		}
	})
}

func TestTextThatLooksLikeSQLIsOnlyText(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, odd := range []string{`it's`, `back\slash`, `\'`, `quo"te`, `?`, `$1 ?0`, `%_`, "\u00e9\u2603\U0001f600", "line\nbreak", "--", "/*"} {
			n := storetest.Node(t, s, func(n *metal.Node) { n.Owner, n.Description = &odd, &odd })
			got, err := s.Nodes(t.Context(), store.NodeQuery{
				Owner: &odd, Project: &odd, DescriptionContains: new(odd), ConductorGroups: []string{"", odd},
			})
			if err != nil || len(got) != 1 || got[0].UUID != n.UUID || *got[0].Owner != odd {
				t.Errorf("%q: got %d nodes, %v", odd, len(got), err)
			}
		}
	})
}

func TestDuplicatesAreNamed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		instance := storetest.UUID()
		n := storetest.Node(t, s, func(n *metal.Node) { n.Name, n.InstanceUUID = ptr("one"), &instance })
		other := storetest.Node(t, s, nil)
		mine := "already associated with a node, it cannot be associated with this other node "
		for what, change := range map[string]func(*metal.Node){
			"A node with UUID " + n.UUID + " already exists.": func(d *metal.Node) { d.UUID = n.UUID },
			"A node with name one already exists.":            func(d *metal.Node) { d.Name = ptr("one") },
			"Instance " + instance + " is " + mine:            func(d *metal.Node) { d.InstanceUUID = &instance },
		} {
			d := metal.Node{UUID: storetest.UUID(), Driver: "fake-hardware", ProvisionState: metal.Enroll}
			change(&d)
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				if err := tx.InsertNode(ctx, &d); metal.ReasonOf(err) != metal.Conflict {
					t.Errorf("got %v, want a conflict", err)
				}
				return tx.InsertNode(ctx, &d) // the transaction is none the worse for it
			})
			wantRefusal(t, err, metal.Conflict, what)
			if d.UUID == n.UUID {
				continue
			}
			changed := other
			change(&changed)
			err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.UpdateNode(ctx, &changed) })
			wantRefusal(t, err, metal.Conflict, what)
		}
	})
}

func TestAnUpdateOfAnOlderVersionChangesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		n := storetest.Node(t, s, nil)
		stale := n
		n.Description = ptr("first")
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateNode(ctx, &n) })
		stale.Description = ptr("second")
		err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateNode(ctx, &stale) })
		wantRefusal(t, err, metal.Conflict, "changed by another request")
		err = s.TouchNode(ctx, &stale, "description")
		wantRefusal(t, err, metal.Conflict, "changed by another request")
		got, err := s.Node(ctx, n.UUID)
		if err != nil || *got.Description != "first" || got.Version != n.Version {
			t.Errorf("got %v, version %d, %v", got.Description, got.Version, err)
		}
		if got.UpdatedAt == nil || !got.UpdatedAt.Equal(*n.UpdatedAt) {
			t.Errorf("updated at %v, want %v", got.UpdatedAt, n.UpdatedAt)
		}
		gone := metal.Node{UUID: storetest.UUID(), Version: 1}
		err = s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateNode(ctx, &gone) })
		wantRefusal(t, err, metal.NotFound, gone.UUID)
	})
}

func TestATouchWritesOnlyItsColumns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		n.DriverInternalInfo = `{"agent_last_heartbeat":"2026-01-01T00:00:00.000000"}`
		n.Description = ptr("not to be written")
		if err := s.TouchNode(t.Context(), &n, "driver_internal_info"); err != nil {
			t.Fatal(err)
		}
		got, err := s.Node(t.Context(), n.UUID)
		if err != nil {
			t.Fatal(err)
		}
		if got.DriverInternalInfo != n.DriverInternalInfo || got.Description != nil || got.Version != n.Version {
			t.Errorf("got %q, %v, version %d", got.DriverInternalInfo, got.Description, got.Version)
		}
		for _, columns := range [][]string{nil, {"wake"}, {"uuid"}, {"description", "links"}} {
			if err := s.TouchNode(t.Context(), &n, columns...); err == nil {
				t.Errorf("columns %v were taken", columns)
			}
		}
	})
}

func TestNoUpdateIsLost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const writers, each = 8, 10
		n := storetest.Node(t, s, func(n *metal.Node) { n.Extra = `{"count":0}` })
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range each {
					err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
						locked, err := tx.LockNode(ctx, n.UUID)
						if err != nil {
							return err
						}
						var extra struct {
							Count int `json:"count"`
						}
						if err := locked.Extra.Decode(&extra); err != nil {
							return err
						}
						extra.Count++
						locked.Extra = metal.ToJSON(extra)
						return tx.UpdateNode(ctx, locked)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		got, err := s.Node(t.Context(), n.UUID)
		if want := metal.JSON(`{"count":80}`); err != nil || got.Extra != want || got.Version != 81 {
			t.Errorf("got %s, version %d, %v; want %s", got.Extra, got.Version, err, want)
		}
	})
}

func TestADeletedNodeTakesAllThatIsItsOwn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		n, kept := storetest.Node(t, s, nil), storetest.Node(t, s, nil)
		port := metal.Port{UUID: storetest.UUID(), NodeUUID: n.UUID, Address: "52:54:00:00:00:01"}
		command := metal.CommandRecord{ID: storetest.UUID(), NodeUUID: n.UUID, AgentID: "a", Kind: metal.KindQuery, Envelope: "{}"}
		operation := metal.OperationRecord{ID: storetest.UUID(), NodeUUID: n.UUID, Axis: metal.AxisProvision, Verb: "manage"}
		ref := store.SecretRef{Ref: metal.DriverInfoSecrets(n.UUID).Below("redfish_password").Ref(), Scope: "tenant", NodeUUID: n.UUID}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, do := range []func() error{
				func() error { return tx.InsertPort(ctx, &port) },
				func() error { return tx.InsertCommand(ctx, &command) },
				func() error { return tx.OpenOperation(ctx, &operation) },
				func() error { return tx.Post(ctx, n.UUID, metal.InboxVerb, "{}") },
				func() error { return tx.AddHistory(ctx, &metal.HistoryEntry{UUID: storetest.UUID(), NodeUUID: n.UUID}) },
				func() error { return tx.PutInventory(ctx, &metal.InventoryRecord{NodeUUID: n.UUID}) },
				func() error { _, err := tx.PutSecret(ctx, &ref, storetest.Sealed("sealed")); return err },
			} {
				if err := do(); err != nil {
					return err
				}
			}
			return nil
		})
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNode(ctx, n.UUID) })
		missing := map[string]error{}
		_, missing["node"] = s.Node(ctx, n.UUID)
		_, missing["port"] = s.Port(ctx, port.UUID)
		_, missing["command"] = s.Command(ctx, command.ID)
		_, missing["operation"] = s.Operation(ctx, operation.ID)
		_, missing["inventory"] = s.Inventory(ctx, n.UUID)
		_, missing["secret"] = s.SealedSecret(ctx, ref.Ref)
		for what, err := range missing {
			if metal.ReasonOf(err) != metal.NotFound {
				t.Errorf("%s: %v, want it not to be found", what, err)
			}
		}
		if h, err := s.History(ctx, n.UUID, store.HistoryQuery{}); err != nil || len(h) != 0 {
			t.Errorf("history has %d entries, %v", len(h), err)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if got, err := tx.TakeInbox(ctx, n.UUID); err != nil || len(got) != 0 {
				t.Errorf("inbox has %d entries, %v", len(got), err)
			}
			return nil
		})
		if _, err := s.Node(ctx, kept.UUID); err != nil {
			t.Error(err)
		}
		err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNode(ctx, n.UUID) })
		wantRefusal(t, err, metal.NotFound, n.UUID)
	})
}
