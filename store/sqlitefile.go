package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"ferrule/durable"
)

// sqliteFile is a database file with what lies beside it.
type sqliteFile struct{ path string }

// The content of the state file, which says how the last run ended. After one
// that was killed, what it accepted last is in the write-ahead log alone.
const (
	stateOpen   = "open\n"
	stateClosed = "closed\n"
)

func (f sqliteFile) log() string   { return f.path + "-wal" }
func (f sqliteFile) state() string { return f.path + ".state" }

// check refuses a file whose write-ahead log is lost.
func (f sqliteFile) check() error {
	state, err := os.ReadFile(f.state())
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(state) != stateOpen {
		return nil // it ended in order, or nobody knows
	}
	if err != nil {
		return fmt.Errorf("open database: read how the last run ended: %w", err)
	}
	if info, err := os.Stat(f.path); err != nil || info.Size() == 0 {
		return fmt.Errorf("open database: the database %s is missing or empty, and its last run did not end in order: put it back from a backup, and remove %s and %s",
			f.path, f.log(), f.state())
	}
	why, err := f.logDamage()
	if err != nil {
		return fmt.Errorf("open database: read its write-ahead log: %w", err)
	}
	if why == "" {
		return nil
	}
	// A SQLite tool that opened the database since has moved the log into it, and
	// removed it. That cannot be told from a log that was lost.
	return fmt.Errorf("open database: the write-ahead log %s %s, and the last run did not end in order. If another program has opened the database since (sqlite3, a backup tool), nothing is lost: remove %[1]s and %[3]s. If not, the last changes are lost: put the log back, or remove these files to go on without them",
		f.log(), why, f.state())
}

// The head of a write-ahead log: magic number, version, page size, sequence
// number, two salts and a checksum of these (sqlite.org/fileformat2.html, 4.1).
const (
	logHead  = 32
	logMagic = 0x377f0682 // the last bit says in which byte order the checksum is made
)

// logDamage says what is wrong with the write-ahead log of a run that was
// killed, or "". Frames behind the head are SQLite's to check; it takes a bad
// one for the end of the log, as a power cut leaves it.
func (f sqliteFile) logDamage() (string, error) {
	file, err := os.Open(f.log())
	if errors.Is(err, fs.ErrNotExist) {
		return "is missing", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	head := make([]byte, logHead)
	if n, err := file.ReadAt(head, 0); n < logHead {
		if n == 0 {
			return "is empty", nil
		}
		return fmt.Sprintf("has only %d bytes", n), nil
	} else if err != nil {
		return "", err
	}
	magic := binary.BigEndian.Uint32(head)
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	var s0, s1 uint32
	for i := 0; i < logHead-8; i += 8 {
		s0 += order.Uint32(head[i:]) + s1
		s1 += order.Uint32(head[i+4:]) + s0
	}
	if magic&^1 != logMagic || s0 != binary.BigEndian.Uint32(head[24:]) || s1 != binary.BigEndian.Uint32(head[28:]) {
		return "is damaged", nil
	}
	return "", nil
}

// applicationID marks the file as Ferrule's ("FERR").
const applicationID = 0x46455252

// begin notes that the database is open. The write comes first: from it on
// there is a write-ahead log that must not be lost.
func (f sqliteFile) begin(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return f.opening(err)
	}
	if err := durable.Write(f.state(), []byte(stateOpen)); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return nil
}

// end notes, where a start was noted, that the database is closed in order, just
// before it is: SQLite then carries the log over and removes it.
func (f sqliteFile) end() error {
	if _, err := os.Stat(f.state()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := durable.Write(f.state(), []byte(stateClosed)); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// mostChecked is the largest database that is read through at its start.
const mostChecked = 64 << 20

// checkContent looks for damage in a database that is small enough to be read
// at each start.
func (f sqliteFile) checkContent(ctx context.Context, db *sql.DB) error {
	info, err := os.Stat(f.path)
	if err != nil || info.Size() > mostChecked {
		return err
	}
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return f.opening(err)
	}
	if said != "ok" {
		return f.damaged(said)
	}
	return nil
}

// opening says what is to be done about an error of the first use.
func (f sqliteFile) opening(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB) {
		return f.damaged(e.Error())
	}
	return fmt.Errorf("open database: %w", err)
}

func (f sqliteFile) damaged(how string) error {
	return fmt.Errorf("open database: the file %s is damaged (%s): put it back from a backup, and remove %s and %s", f.path, how, f.log(), f.state())
}
