package env

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// PostgresServer is a PostgreSQL that one test has to itself, with one empty
// database, to be stopped and started in the middle of things.
type PostgresServer struct {
	URL string

	t      testing.TB
	server *pgServer
}

// OwnPostgres starts one, and stops it with the test.
func OwnPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	server, err := newPostgres()
	if err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	// The data outlives the server, but not the test process.
	data, err := program{
		arguments: []string{"sleep", "infinity"}, stop: "TERM", folder: server.folder, log: os.DevNull,
	}.start()
	if err != nil {
		t.Fatalf("PostgreSQL: %v", errors.Join(err, os.RemoveAll(server.folder)))
	}
	t.Cleanup(data.stop)
	s := &PostgresServer{t: t, server: server, URL: server.url("own")}
	s.Start()
	t.Cleanup(s.Stop)
	if err := server.run(t.Context(), "createdb", "own"); err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	return s
}

// Start starts the server on the data that it had, and waits until it answers.
func (s *PostgresServer) Start() {
	s.t.Helper()
	if err := s.server.launch("INT", filepath.Join(s.server.folder, "nothing")); err != nil {
		s.t.Fatalf("PostgreSQL: %v", err)
	}
}

// Stop stops the server as an operator does: connections are cut.
func (s *PostgresServer) Stop() { s.server.process.stop() }
