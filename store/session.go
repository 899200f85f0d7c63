package store

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// sessionSetting is a limit that the PostgreSQL server applies to a session of
// ours, so that a process that is frozen, or a host that is lost, holds no lock
// for long. An address that sets the same parameter itself wins.
type sessionSetting struct{ name, value, why string }

var sessionSettings = []sessionSetting{
	{
		"idle_in_transaction_session_timeout", "5s",
		"a process that stops within a transaction loses it, and its locks, after this; no transaction of ours pauses for a second",
	},
	{
		lockTimeout, "300ms",
		"a transaction that waits for a lock gives its connection back and is tried again; most transactions take milliseconds",
	},
	{
		"statement_timeout", "30s",
		"no statement runs on for a client that is gone; the longest list of 100 000 nodes takes seconds",
	},
	{
		"transaction_timeout", "60s",
		"PostgreSQL 17 and later: a client that reads its answer too slowly keeps no transaction open; no job runs for longer than 10 s",
	},
	{"tcp_keepalives_idle", "10s", "the server notices a lost host, with the next two, within half a minute instead of two hours"},
	{"tcp_keepalives_interval", "5s", "see tcp_keepalives_idle"},
	{"tcp_keepalives_count", "3", "see tcp_keepalives_idle"},
	{"tcp_user_timeout", "20s", "the server does not wait for a lost host to acknowledge what it was sent"},
}

const (
	lockTimeout = "lock_timeout"
	// jobsLockTimeout replaces lock_timeout for the job queue's own statements:
	// nobody runs those again at once.
	jobsLockTimeout = "5s"
)

// sessionText is the statement that applies the settings which the server's
// version has and the address does not set itself. replaced maps a setting to
// another value.
func sessionText(replaced map[string]string) string {
	var rows []string
	for _, s := range sessionSettings {
		value := s.value
		if other, ok := replaced[s.name]; ok {
			value = other
		}
		rows = append(rows, fmt.Sprintf("('%s', '%s')", s.name, value))
	}
	return "SELECT set_config(s.name, w.value, false) FROM pg_settings s JOIN (VALUES " + strings.Join(rows, ", ") +
		") AS w (name, value) ON w.name = s.name WHERE s.source <> 'client'"
}

// limitSession is a pool's hook for each new connection.
func limitSession(replaced map[string]string) func(context.Context, *pgx.Conn) error {
	text := sessionText(replaced)
	return func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.PgConn().Exec(ctx, text).ReadAll(); err != nil {
			return fmt.Errorf("limit the database session: %w", err)
		}
		return nil
	}
}

// The client's side of a lost host: the server's machine is gone.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}

const (
	userTimeout      = 20 * time.Second
	tcpUserTimeoutOn = "linux"
	tcpUserTimeout   = 18 // TCP_USER_TIMEOUT, which package syscall lacks
)

func newDialer() *net.Dialer {
	return &net.Dialer{KeepAliveConfig: keepAlive, Control: func(network, _ string, c syscall.RawConn) error {
		if runtime.GOOS != tcpUserTimeoutOn || !strings.HasPrefix(network, "tcp") {
			return nil
		}
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
		})
		if err != nil {
			return err
		}
		return failed
	}}
}
