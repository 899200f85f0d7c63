package store_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ferrule/compat-tests/env"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestAJobThatAKilledProcessHadBegunGoesOnAtTheNextStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ferrule.sqlite")
	s := storetest.Open(t, "sqlite://"+path)
	n := storetest.Node(t, s, nil)
	post(t, s, n.UUID, `"begun"`)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(),
		"UPDATE river_job SET state = 'running', attempt = 1, attempted_at = datetime('now')"); err != nil {
		t.Fatal(err)
	}
	work(t, s, 1).wait(t, 5*time.Second) // a rescue would take fifteen
}

func TestSeveralProcessesMayMigrateAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	dsn := env.Postgres(t) + "&pool_max_conns=6"
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s, err := store.Open(t.Context(), store.Config{DSN: dsn})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestAWakeReachesAnotherProcess(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	dsn := env.Postgres(t) + "&pool_max_conns=6"
	here, there := storetest.Open(t, dsn), storetest.Open(t, dsn)
	wakes, cancel := there.Subscribe(store.AgentTopic("a"))
	defer cancel()
	limit := time.After(30 * time.Second)
	for {
		insertCommand(t, here, "a") // again, until the other one listens
		select {
		case <-wakes:
			return
		case <-limit:
			t.Fatal("no wake came")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
