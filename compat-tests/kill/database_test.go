package kill

import (
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"ferrule/metal"
)

// database opens a copy of the plane's database as a kill has left it.
func database(t *testing.T, dataDir string) *sql.DB {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ferrule.sqlite", "ferrule.sqlite-wal"} {
		if err := copyFile(filepath.Join(dir, name), filepath.Join(dataDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "ferrule.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func copyFile(to, from string) error {
	source, err := os.Open(from)
	if os.IsNotExist(err) {
		return nil // nothing was written, or all of it was moved to the main file
	}
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Close()
}

// rows are the texts of a query with one column.
func rows(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var texts []string
	for found.Next() {
		var text string
		if err := found.Scan(&text); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return texts
}

// inTransit are the states of nodes that something is done with or waited for.
func inTransit(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var found []string
	for _, state := range rows(t, db, "SELECT provision_state FROM nodes") {
		if info, ok := metal.State(state).Info(); !ok || info.Class == metal.Transient {
			found = append(found, state)
		}
	}
	return found
}

// leftovers are what must be gone when every node has arrived.
var leftovers = map[string]string{
	"operation that is open": "SELECT verb || ' ' || plan FROM operations WHERE finished_at IS NULL",
	"event that is unread":   "SELECT kind FROM inbox",
	"command without result": "SELECT operation FROM commands WHERE finished_at IS NULL AND kind <> 'bmc.watch'",
	"node that is held or has failed": `SELECT name || ' ' || provision_state FROM nodes WHERE reservation IS NOT NULL OR
		last_error IS NOT NULL OR fault IS NOT NULL OR maintenance OR target_provision_state IS NOT NULL`,
	"secret of work that is over": "SELECT ref FROM secret_refs WHERE node_uuid IS NOT NULL AND ref NOT LIKE '%/driver_info/%'",
	"job that fails":              "SELECT kind FROM river_job WHERE state NOT IN ('completed', 'scheduled', 'available', 'running')",
}

// judgeDatabase fails the test where something is left over.
func judgeDatabase(t *testing.T, db *sql.DB) {
	t.Helper()
	for what, query := range leftovers {
		for _, one := range rows(t, db, query) {
			t.Errorf("there is a %s: %s", what, one)
		}
	}
}
