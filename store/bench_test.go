package store_test

import (
	"context"
	"database/sql"
	"strconv"
	"testing"

	"ferrule/compat-tests/env"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

// engines runs a benchmark on both.
func engines(b *testing.B, f func(b *testing.B, s *store.Store)) {
	b.Run("sqlite", func(b *testing.B) { f(b, storetest.SQLite(b)) })
	b.Run("postgres", func(b *testing.B) { f(b, storetest.Postgres(b)) })
}

const driverInfo = `{"redfish_address":"https://192.0.2.1","redfish_username":"admin","redfish_password":"secret://tenant/x","deploy_kernel":"http://192.0.2.9/kernel","deploy_ramdisk":"http://192.0.2.9/ramdisk"}`

func addNodes(b *testing.B, s *store.Store, count int) (last metal.Node) {
	b.Helper()
	for done := 0; done < count; {
		storetest.Write(b, s, func(ctx context.Context, tx *store.Tx) error {
			for range min(1000, count-done) {
				last = metal.Node{
					UUID: storetest.UUID(), Name: ptr("node-" + storetest.UUID()), Driver: "redfish",
					ProvisionState: metal.Available, PowerState: ptr("power off"), DriverInfo: driverInfo,
					Properties:    `{"cpu_arch":"x86_64","memory_mb":1024,"capabilities":"boot_mode:uefi"}`,
					ResourceClass: ptr("baremetal"), Extra: `{"rack":"r1"}`, Description: ptr("a server"),
				}
				done++
				if err := tx.InsertNode(ctx, &last); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return last
}

func BenchmarkInsertNode(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			addNodes(b, s, 1)
		}
	})
}

func BenchmarkShowNode(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store) {
		n := addNodes(b, s, 1000)
		for b.Loop() {
			if _, err := s.Node(b.Context(), n.UUID); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkListThousand(b *testing.B) {
	for name, q := range map[string]store.NodeQuery{
		"default": {Columns: []string{"uuid", "name", "instance_uuid", "maintenance", "power_state", "provision_state"}},
		"detail":  {},
	} {
		b.Run(name, func(b *testing.B) {
			engines(b, func(b *testing.B, s *store.Store) {
				addNodes(b, s, 1000)
				q.Limit = 1000
				for b.Loop() {
					if list, err := s.Nodes(b.Context(), q); err != nil || len(list) != 1000 {
						b.Fatal(len(list), err)
					}
				}
			})
		})
	}
}

func BenchmarkTouchNode(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store) {
		n := addNodes(b, s, 1)
		for b.Loop() {
			if err := s.TouchNode(b.Context(), &n, "driver_internal_info"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLockAndUpdateNode(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store) {
		n := addNodes(b, s, 1)
		for b.Loop() {
			storetest.Write(b, s, func(ctx context.Context, tx *store.Tx) error {
				locked, err := tx.LockNode(ctx, n.UUID)
				if err != nil {
					return err
				}
				return tx.UpdateNode(ctx, locked)
			})
		}
	})
}

func BenchmarkPostAndTake(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store) {
		n := addNodes(b, s, 1)
		for b.Loop() {
			storetest.Write(b, s, func(ctx context.Context, tx *store.Tx) error {
				return tx.Post(ctx, n.UUID, metal.InboxVerb, "{}")
			})
			storetest.Write(b, s, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.TakeInbox(ctx, n.UUID)
				return err
			})
		}
	})
}

// BenchmarkFilters lists the first thousand of what each filter finds among a
// hundred thousand nodes.
func BenchmarkFilters(b *testing.B) {
	for engine, open := range map[string]func() (*store.Store, func()){
		"sqlite": func() (*store.Store, func()) { return storetest.SQLite(b), func() {} },
		"postgres": func() (*store.Store, func()) {
			dsn := env.Postgres(b)
			return storetest.Open(b, dsn), func() { analyze(b, dsn) }
		},
	} {
		s, settle := open()
		last := fleet(b, s, 100_000)
		settle()
		for name, q := range map[string]store.NodeQuery{
			"none":           {},
			"by name":        {Page: store.Page{SortKey: "name"}},
			"by class":       {Page: store.Page{SortKey: "resource_class", Desc: true}},
			"marker":         {Page: store.Page{Marker: last.UUID}},
			"uuids":          {UUIDs: []string{last.UUID}},
			"instance":       {InstanceUUID: last.InstanceUUID},
			"associated":     {Associated: ptr(true)},
			"not associated": {Associated: ptr(false)},
			"maintenance":    {Maintenance: ptr(true)},
			"state":          {States: []metal.State{metal.CleanWait}},
			"driver":         {Driver: ptr("ipmi")},
			"resource class": {ResourceClass: ptr("rare")},
			"fault":          {Fault: ptr(metal.FaultPower)},
			"group":          {ConductorGroups: []string{"site-7"}},
			"owner":          {Owner: ptr("owner-7")},
			"project":        {Project: ptr("owner-7")},
			"shard":          {Shards: []string{"shard-7", "shard-8"}},
			"sharded":        {Sharded: ptr(true)},
			"children":       {ParentNode: &last.UUID},
			"retired":        {Retired: ptr(true)},
			"reserved":       {Reserved: ptr(true)},
			"description":    {DescriptionContains: new("no such words")},
		} {
			q.Limit = 1000
			q.Columns = []string{"uuid", "name", "instance_uuid", "maintenance", "power_state", "provision_state"}
			b.Run(engine+"/"+name, func(b *testing.B) {
				found := 0
				for b.Loop() {
					list, err := s.Nodes(b.Context(), q)
					if err != nil {
						b.Fatal(err)
					}
					found = len(list)
				}
				b.ReportMetric(float64(found), "nodes")
			})
		}
	}
}

// analyze does what autovacuum does by itself within a minute.
func analyze(b *testing.B, dsn string) {
	b.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(b.Context(), "ANALYZE"); err != nil {
		b.Fatal(err)
	}
}

// fleet adds nodes of which each filter finds some, and gives one from the
// middle.
func fleet(b *testing.B, s *store.Store, count int) (middle metal.Node) {
	b.Helper()
	for first := 0; first < count; first += 1000 {
		storetest.Write(b, s, func(ctx context.Context, tx *store.Tx) error {
			for i := first; i < first+1000; i++ {
				n := metal.Node{
					UUID: storetest.UUID(), Name: ptr("node-" + strconv.Itoa(i)), Driver: "redfish", DriverInfo: driverInfo,
					ProvisionState: metal.Available, ResourceClass: ptr("common"), Description: ptr("a server like the others"),
					ConductorGroup: "site-" + strconv.Itoa(i%300), Owner: ptr("owner-" + strconv.Itoa(i%300)),
					Shard: ptr("shard-" + strconv.Itoa(i%100)),
				}
				if i%500 == 0 {
					n.Driver, n.ProvisionState, n.ResourceClass = "ipmi", metal.CleanWait, ptr("rare")
					n.InstanceUUID, n.Maintenance, n.Fault = ptr(storetest.UUID()), true, ptr(metal.FaultPower)
					n.Reservation, n.Retired = ptr("host-1"), true
				}
				if i == count/2 {
					middle = n
				}
				if err := tx.InsertNode(ctx, &n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return middle
}
