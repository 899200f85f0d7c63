package conductor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"ferrule/conductor"
	"ferrule/config"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
	"ferrule/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeHardware is the executor of fake-hardware, as far as a life needs it.
type fakeHardware struct{}

func (fakeHardware) Execute(_ context.Context, req metal.Request) metal.CommandResult {
	switch req.Operation {
	case metal.PowerSet:
		var a metal.SetPowerArgs
		if err := json.Unmarshal(req.ArgsJSON, &a); err != nil {
			return metal.CommandResult{ErrorCode: metal.CodeInvalidArgs, Message: err.Error()}
		}
		return metal.CommandResult{OK: true, ResultJSON: json.RawMessage(metal.ToJSON(metal.PowerResult{State: a.Target, Changed: true}))}
	case metal.PowerGet:
		return metal.CommandResult{OK: true, ResultJSON: json.RawMessage(metal.ToJSON(metal.PowerResult{State: metal.PowerOff}))}
	}
	return metal.CommandResult{OK: true, ResultJSON: json.RawMessage("{}")}
}

// bundle is one conductor on a database of its own.
type bundle struct {
	t         *testing.T
	store     *store.Store
	catalogue *hardware.Catalogue
	conductor *conductor.Conductor
}

func setup(t *testing.T) *bundle { return setupOn(t, storetest.SQLite(t)) }

// setupOn is a conductor on this store, changed before it runs.
func setupOn(t *testing.T, s *store.Store, change ...func(o *conductor.Options)) *bundle {
	t.Helper()
	return setupWith(t, s, change, func(*conductor.Conductor) {})
}

func setupWith(t *testing.T, s *store.Store, changes []func(o *conductor.Options), before func(c *conductor.Conductor)) *bundle {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	sealer, err := trust.OpenSealer(filepath.Join(t.TempDir(), "deployment.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := trust.OpenCA(ctx, s, sealer, nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ca.NewCommandSigner("conductor-1")
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := hardware.NewCatalogue(hardware.Enabled{}, hardware.ValidationSettings{})
	if err != nil {
		t.Fatal(err)
	}
	options := conductor.Options{
		Store: s, Config: config.Defaults(), Catalogue: catalogue, Signer: signer, Sealer: sealer,
		Local: fakeHardware{}, Logger: discard, Hostname: "conductor-1",
	}
	for _, change := range changes {
		change(&options)
	}
	c, err := conductor.New(options)
	if err != nil {
		t.Fatal(err)
	}
	before(c)
	if err := c.Register(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &bundle{t, s, catalogue, c}
}

func (b *bundle) enroll() string {
	b.t.Helper()
	n := metal.Node{UUID: uuid.NewString(), Driver: "fake-hardware", ProvisionState: metal.Enroll}
	if err := b.catalogue.ResolveInterfaces(&n); err != nil {
		b.t.Fatal(err)
	}
	err := b.store.Write(b.t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertNode(ctx, &n) })
	if err != nil {
		b.t.Fatal(err)
	}
	return n.UUID
}

// verb does in one transaction what the API does: the event, the operation,
// the entry that wakes the conductor.
func (b *bundle) verb(id string, v metal.Verb) {
	b.t.Helper()
	err := b.store.Write(b.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.LockNode(ctx, id)
		if err != nil {
			return err
		}
		tr, ok := metal.VerbTransition(n.ProvisionState, v)
		if !ok {
			b.t.Errorf("%s is not allowed in %s", v, n.ProvisionState)
		}
		if err := metal.Fire(n, tr.Event, metal.NoState, time.Now().UTC()); err != nil {
			return err
		}
		if err := tx.UpdateNode(ctx, n); err != nil {
			return err
		}
		op := metal.OperationRecord{ID: uuid.NewString(), NodeUUID: id, Axis: metal.AxisProvision, Verb: string(v)}
		if err := tx.OpenOperation(ctx, &op); err != nil {
			return err
		}
		return tx.Post(ctx, id, metal.InboxVerb, metal.ToJSON(metal.VerbPayload{Verb: string(v), OperationID: op.ID}))
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) await(id string, want metal.State) metal.Node {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		n, err := b.store.NodeByUUID(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if n.ProvisionState == want && n.Reservation == nil {
			return n
		}
		select {
		case <-deadline:
			b.t.Fatalf("the node is %s, not %s", n.ProvisionState, want)
		case <-poll.C:
		}
	}
}

func TestALifeLeavesNothingOpen(t *testing.T) {
	b := setup(t)
	id := b.enroll()
	for _, step := range []struct {
		verb metal.Verb
		want metal.State
	}{
		{metal.VerbManage, metal.Manageable}, {metal.VerbInspect, metal.Manageable}, {metal.VerbProvide, metal.Available},
		{metal.VerbActive, metal.Active}, {metal.VerbDeleted, metal.Available},
	} {
		b.verb(id, step.verb)
		b.await(id, step.want)
	}
	ops, err := b.store.OpenOperations(t.Context(), id)
	if err != nil || len(ops) != 0 {
		t.Errorf("open operations: %v, %v", ops, err)
	}
	history, err := b.store.History(t.Context(), id, store.HistoryQuery{})
	if err != nil || len(history) < 5 {
		t.Errorf("%d history entries, %v", len(history), err)
	}
}

func TestManyNodesAtOnce(t *testing.T) {
	b := setup(t)
	var ids []string
	for range 50 {
		ids = append(ids, b.enroll())
	}
	for _, id := range ids {
		b.verb(id, metal.VerbManage)
	}
	for _, id := range ids {
		b.await(id, metal.Manageable)
	}
}

func TestANodeWithoutAnAgentFailsWithTheRemedy(t *testing.T) {
	b := setup(t)
	n := metal.Node{UUID: uuid.NewString(), Driver: "redfish", ProvisionState: metal.Enroll, ConductorGroup: "lisbon",
		DriverInfo: `{"redfish_address":"https://127.0.0.9"}`}
	if err := b.catalogue.ResolveInterfaces(&n); err != nil {
		t.Fatal(err)
	}
	err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertNode(ctx, &n) })
	if err != nil {
		t.Fatal(err)
	}
	b.verb(n.UUID, metal.VerbManage)
	got := b.await(n.UUID, metal.Enroll)
	if got.LastError == nil {
		got = b.awaitError(n.UUID)
	}
	if got.TargetProvisionState != metal.NoState {
		t.Errorf("target %s", got.TargetProvisionState)
	}
}

func (b *bundle) awaitError(id string) metal.Node {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		n, err := b.store.NodeByUUID(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if n.LastError != nil {
			return n
		}
		select {
		case <-deadline:
			b.t.Fatal("the node has no last_error")
		case <-poll.C:
		}
	}
}

var discard = slog.New(slog.DiscardHandler)

// Of two conductors that share a database and a host name, the second says so.
func TestAHostNameThatIsTakenIsSaid(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	s := storetest.Postgres(t)
	catalogue, err := hardware.NewCatalogue(hardware.Enabled{}, hardware.ValidationSettings{})
	if err != nil {
		t.Fatal(err)
	}
	register := func(host string) string {
		t.Helper()
		var log bytes.Buffer
		c, err := conductor.New(conductor.Options{
			Store: s, Config: config.Defaults(), Catalogue: catalogue, Local: fakeHardware{},
			Logger: slog.New(slog.NewTextHandler(&log, nil)), Hostname: host,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	const words = "a conductor of this host name was alive"
	if log := register("one") + register("two"); strings.Contains(log, words) {
		t.Errorf("two of two names: %s", log)
	}
	if log := register("one"); !strings.Contains(log, words) || !strings.Contains(log, "conductor=one") {
		t.Errorf("a second of the same name: %s", log)
	}
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.TouchConductor(ctx, "one", false) })
	if log := register("one"); strings.Contains(log, words) {
		t.Errorf("one that had stopped in order: %s", log)
	}
}
