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

func TestAJobThatAnotherProcessHadBegunWhenItDiedIsTakenUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long")
	}
	dsn := env.Postgres(t)
	s := storetest.Open(t, dsn+"&pool_max_conns=8")
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	n := storetest.Node(t, s, nil)
	a := work(t, s, 2)
	post(t, s, n.UUID, `"mine"`)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	limit := time.After(20 * time.Second)
	changed := func(text string) bool {
		done, err := db.ExecContext(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		n, err := done.RowsAffected()
		return err == nil && n == 1
	}
	for !changed("UPDATE nodes SET wake = TRUE WHERE EXISTS (SELECT 1 FROM river_job WHERE state = 'completed' AND kind = 'advance')") {
		select {
		case <-limit:
			t.Fatal("the first job did not end")
		case <-again.C:
		}
	}
	post(t, s, n.UUID, `"begun elsewhere"`) // makes no job, for the node is awake
	if !changed("UPDATE river_job SET state = 'running', finalized_at = NULL, attempted_at = now() - interval '1 minute' WHERE kind = 'advance'") {
		t.Fatal("there is more than one job")
	}
	a.wait(t, 20*time.Second) // River itself looks twice a minute
}

func TestSeveralProcessesMayMigrateAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long")
	}
	dsn := env.Postgres(t) + "&pool_max_conns=8"
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
		t.Skip("takes long")
	}
	dsn := env.Postgres(t) + "&pool_max_conns=8"
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
