package env_test

import (
	"database/sql"
	"io"
	"net/http"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"ferrule/compat-tests/env"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", env.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestEachTestHasAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	for range 2 {
		db := open(t)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE only_mine (id text)"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheServerDoesNotCompareTextBytewise(t *testing.T) {
	t.Parallel()
	var bytewise bool
	if err := open(t).QueryRowContext(t.Context(), "SELECT 'B' < 'a'").Scan(&bytewise); err != nil {
		t.Fatal(err)
	}
	if bytewise {
		t.Error("a query that forgets its collation would not show itself")
	}
}

func TestRealIronicAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds, and minutes where it is not yet installed")
	}
	server := env.RealIronic(t, "[DEFAULT]\nenabled_hardware_types = fake-hardware\n"+
		"enabled_power_interfaces = fake\nenabled_management_interfaces = fake\nenabled_boot_interfaces = fake\n"+
		"enabled_deploy_interfaces = fake\nenabled_inspect_interfaces = no-inspect\nenabled_network_interfaces = noop\n"+
		"enabled_raid_interfaces = no-raid\nenabled_bios_interfaces = no-bios\nenabled_vendor_interfaces = no-vendor\n"+
		"enabled_storage_interfaces = noop\n")
	response, err := http.Get(server.URL + "/v1/nodes")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != `{"nodes":[]}` && string(body) != `{"nodes": []}` {
		t.Errorf("got %s, %v", body, err)
	}
}

func TestRealKeystoneAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and a minute where it is not yet installed")
	}
	server := env.RealKeystone(t)
	login := `{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "admin", "domain": {"id": "default"}, "password": "` +
		server.Password + `"}}}, "scope": {"system": {"all": true}}}}`
	response, err := http.Post(server.URL+"/auth/tokens", "application/json", strings.NewReader(login))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated || response.Header.Get("X-Subject-Token") == "" {
		t.Errorf("the admin cannot log in: %s", response.Status)
	}
}
