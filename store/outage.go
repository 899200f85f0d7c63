package store

import (
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"ferrule/metal"
)

// outages knows which errors are the database's own state and no fault of what
// was asked of it, and tells the log of them, once in a while.
type outages struct {
	logger *slog.Logger

	mu   sync.Mutex
	told time.Time
}

// tellAgain is how often the log is told of an outage that goes on.
const tellAgain = time.Minute

// seen makes a metal.Outage of an error that is one, and tells of it.
func (o *outages) seen(err error) error {
	err = asOutage(err)
	var known *metal.Error
	if errors.As(err, &known) && known.Reason == metal.Outage {
		o.tell(known.Cause)
	}
	return err
}

// level is that of a line about err: the log has been told of an outage already.
func (o *outages) level(err error, otherwise slog.Level) slog.Level {
	if metal.ReasonOf(o.seen(err)) == metal.Outage {
		return slog.LevelDebug
	}
	return otherwise
}

func (o *outages) tell(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := time.Now(); o.told.IsZero() || now.Sub(o.told) >= tellAgain {
		o.told = now
		o.logger.Warn("the database cannot be used; what needs it waits or is refused until it can", "error", err)
	}
}

// over has the next outage told of at once.
func (o *outages) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = time.Time{}
}

// asOutage makes a metal.Outage of an error that is one.
func asOutage(err error) error {
	if err == nil || metal.ReasonOf(err) != "" || !isOutage(err) {
		return err
	}
	return &metal.Error{
		Reason: metal.Outage, Cause: err,
		Text: "The database cannot be used at the moment. Try again in a while; the server's log tells why.",
	}
}

func isOutage(err error) bool {
	var lite *sqlite.Error
	var refused *pgconn.PgError
	var wire *net.OpError
	switch {
	case errors.As(err, &lite):
		return slices.Contains(sqliteOutages, lite.Code()&0xff)
	case isConnecting(err):
		return true
	case errors.As(err, &refused):
		return slices.Contains(postgresOutages, refused.Code[:min(2, len(refused.Code))]) && refused.Code != queryCanceled ||
			refused.Code == readOnlyTransaction
	}
	return errors.As(err, &wire) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// sqliteOutages are a file that another holds, a disk that is full, broken or
// write-protected, and want of memory.
var sqliteOutages = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
	sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM,
}

// postgresOutages are classes of codes: a broken connection, want of resources,
// an operator's hand (shutdown, start), and an error of the system beneath.
var postgresOutages = []string{"08", "53", "57", "58"}

// What the class of a code does not tell: 57014 is a statement that took too
// long, 25006 a server that has become a standby.
const (
	queryCanceled       = "57014"
	readOnlyTransaction = "25006"
)

// isConnecting reports a connection that did not come to be, whatever the reason.
func isConnecting(err error) bool {
	var failed *pgconn.ConnectError
	var early *stillAway
	return errors.As(err, &failed) || errors.As(err, &early)
}
