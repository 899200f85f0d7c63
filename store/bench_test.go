package store_test

import (
	"context"
	"testing"

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
