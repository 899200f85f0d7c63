package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ferrule/metal"
)

func TestAFullDiskIsAnOutageThatPasses(t *testing.T) {
	var log bytes.Buffer
	s, err := Open(t.Context(), Config{
		DSN: "sqlite://" + filepath.Join(t.TempDir(), "ferrule.sqlite"), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long", 5000)
	insert := func(n int) error {
		return s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			return tx.InsertNode(ctx, &metal.Node{
				UUID: fmt.Sprintf("node-%d", n), Driver: "fake-hardware", ProvisionState: metal.Enroll, Description: &long,
			})
		})
	}
	pages := func(most int) {
		t.Helper()
		if _, err := s.db.writer.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", most)); err != nil {
			t.Fatal(err)
		}
	}
	pages(1) // that is: no more than there are
	n := 0
	for ; n < 100 && err == nil; n++ {
		err = insert(n)
	}
	if metal.ReasonOf(err) != metal.Outage {
		t.Fatalf("a full disk is %v", err)
	}
	for range 3 {
		if err := insert(n); metal.ReasonOf(err) != metal.Outage {
			t.Errorf("a full disk is %v", err)
		}
	}
	if told := strings.Count(log.String(), "the database cannot be used"); told != 1 || !strings.Contains(log.String(), "full") {
		t.Errorf("the log was told %d times:\n%s", told, &log)
	}
	if _, err := s.Node(t.Context(), "node-0"); err != nil && metal.ReasonOf(err) != metal.NotFound {
		t.Errorf("and cannot be read: %v", err)
	}
	pages(1_000_000)
	if err := insert(n); err != nil {
		t.Errorf("a disk with room again: %v", err)
	}
}

func TestWhatIsAnOutage(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{refused, true},
		{fmt.Errorf("receive: %w", io.ErrUnexpectedEOF), true},
		{&stillAway{refused}, true},
		{pgconn.ErrConnClosed, true},
		{&pgconn.PgError{Code: "57P01"}, true}, // terminated by an administrator
		{&pgconn.PgError{Code: "57P02"}, true}, // by a crash of another
		{&pgconn.PgError{Code: "57P03"}, true}, // starting up
		{&pgconn.PgError{Code: "53300"}, true}, // too many connections
		{&pgconn.PgError{Code: "53100"}, true}, // disk full
		{&pgconn.PgError{Code: "08006"}, true}, // connection failure
		{&pgconn.PgError{Code: "25006"}, true}, // a standby
		{&pgconn.PgError{Code: "57014"}, false},
		{&pgconn.PgError{Code: "23505"}, false},
		{&pgconn.PgError{Code: "40001"}, false},
		{&pgconn.PgError{Code: "42P01"}, false},
		{&pgconn.PgError{}, false},
		{context.Canceled, false},
		{context.DeadlineExceeded, false},
		{errors.New("another"), false},
		{metal.Errorf(metal.NotFound, "none"), false},
	} {
		err := fmt.Errorf("read: %w", c.err)
		if got := asOutage(err); metal.ReasonOf(got) == metal.Outage != c.want || !errors.Is(got, c.err) {
			t.Errorf("%v: %v", c.err, got)
		}
	}
	if asOutage(nil) != nil {
		t.Error("no error is one")
	}
}

// However many ask for connections, a server that is away is dialled at
// intervals that grow, and the log is told once a minute.
func TestAServerThatIsAwayIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newReach(&outages{logger: slog.New(slog.NewTextHandler(&log, nil))})
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		ask := func(answer error) (dialled bool) {
			if err := r.mayTry(t.Context(), nil); err != nil {
				if !isOutage(err) {
					t.Errorf("turned down with %v", err)
				}
				return false
			}
			r.TraceConnectEnd(r.TraceConnectStart(t.Context(), pgx.TraceConnectStartData{}), pgx.TraceConnectEndData{Err: answer})
			return true
		}
		if !ask(nil) || r.away() {
			t.Error("a server that answers is not left alone")
		}
		dials := 0
		for range 5 * 60 * 100 { // a hundred times a second, for five minutes
			if ask(refused) {
				dials++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !r.away() || dials < 60 || dials > 120 {
			t.Errorf("dialled %d times in five minutes, away %t", dials, r.away())
		}
		if told := strings.Count(log.String(), "the database cannot be used"); told != 5 {
			t.Errorf("told %d times in five minutes", told)
		}
		time.Sleep(2 * mostReach)
		if !ask(nil) || r.away() || !strings.Contains(log.String(), "the database is back") {
			t.Errorf("a server that is back: away %t\n%s", r.away(), &log)
		}
		if !ask(refused) || strings.Count(log.String(), "the database cannot be used") != 6 {
			t.Error("the next outage is not told of at once")
		}
	})
}

// Those who were about to connect when the server went are one try, and while
// one asks again, which takes long where nothing answers, no other does.
func TestManyWhoConnectAtOnceAreOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReach(&outages{logger: slog.New(slog.DiscardHandler)})
		mayTry := func() bool { return r.mayTry(t.Context(), nil) == nil }
		ends := func(err error) { r.TraceConnectEnd(t.Context(), pgx.TraceConnectEndData{Err: err}) }
		silent := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ETIMEDOUT}
		const many = 24
		for range many {
			if !mayTry() {
				t.Error("refused before anything was known")
			}
		}
		for range many {
			ends(silent)
		}
		time.Sleep(2 * firstReach)
		if !mayTry() {
			t.Error("many failures at once put off the next try")
		}
		time.Sleep(connectPatience)
		if mayTry() {
			t.Error("a second one tries while the first does")
		}
		ends(nil)
		for range 2 {
			if !mayTry() || r.away() {
				t.Error("the server is back, and left alone")
			}
		}
	})
}

// A caller that gives up says nothing of the server.
func TestACallerThatGivesUpIsNoOutage(t *testing.T) {
	r := newReach(&outages{logger: slog.New(slog.DiscardHandler)})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.TraceConnectEnd(gone, pgx.TraceConnectEndData{Err: fmt.Errorf("dial: %w", context.Canceled)})
	if r.away() || (*reach)(nil).away() {
		t.Error("it is")
	}
}
