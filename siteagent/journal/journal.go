// Package journal remembers which commands an agent has begun and how they
// ended, across crashes: it is what makes a command that the wire may deliver
// many times act at most once. It knows nothing of the link or of drivers.
//
// The file holds a heading and then one JSON record a line. It is only appended
// to, until it is rewritten without what is too old to come again. Records hold results and
// never secrets: a command carries refs only.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ferrule/durable"
	"ferrule/metal"
)

// State is how far a command has come.
type State string

// The states of a command.
const (
	Unknown State = ""      // never seen
	Begun   State = "begun" // the metal may have been touched
	Done    State = "done"  // the result is stored
)

// Keep is how long an entry outlives its command's expiry: the control plane
// stops sending a command when it expires. The rest is for a clock that is set
// back: commands that had expired are then in time again, and must be known.
const Keep = 48 * time.Hour

// fileName is the journal's file in the agent's data folder.
const fileName = "journal.jsonl"

// record is one line of the file.
type record struct {
	ID        string               `json:"id"`
	State     State                `json:"state"`
	ExpiresAt time.Time            `json:"expiresAt"`
	Result    *metal.CommandResult `json:"result,omitempty"`
}

// entry is what memory keeps of a command; results stay in the file.
type entry struct {
	state     State
	expiresAt time.Time
	offset    int64
	length    int64
}

// Journal is an open journal. Its methods may be called at the same time.
type Journal struct {
	path string
	now  func() time.Time

	heading heading // of the file

	mu      sync.Mutex // guards file, size, lines and entries
	file    *os.File
	size    int64
	lines   int
	roomy   int // with this many lines it is time to compact
	entries map[string]entry

	appended atomic.Int64 // count of records written
	syncMu   sync.Mutex   // one fsync at a time; those who wait share it
	synced   int64
}

// Options say which journal to open.
type Options struct {
	Dir string
	// Ran says that an agent has worked in this folder before, so that a journal
	// that is not there has been lost.
	Ran bool
	Now func() time.Time
	Log *slog.Logger
}

// Open reads the journal in a folder, or starts one. A last line that was cut
// short by a crash is dropped. A journal that is lost, empty or damaged
// otherwise is replaced by one that knows what it has forgotten.
func Open(o Options) (*Journal, error) {
	path := filepath.Join(o.Dir, fileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if !o.Ran {
			return start(path, heading{Journal: version}, o.Now)
		}
		return o.startAfterLoss(path, err)
	}
	j, err := open(path, o.Now)
	if errors.Is(err, errDamaged) {
		aside, asideErr := durable.SetAside(path)
		if asideErr != nil {
			return nil, asideErr
		}
		return o.startAfterLoss(path, fmt.Errorf("%w; it is kept as %s", err, aside))
	}
	return j, err
}

// startAfterLoss starts a journal in the place of one that cannot be read.
func (o Options) startAfterLoss(path string, cause error) (*Journal, error) {
	o.Log.Error("the agent's journal was lost: commands that may have been begun before are answered as of unknown outcome",
		"file", path, "error", cause)
	until := o.Now().UTC().Add(issueSkew)
	return start(path, heading{Journal: version, ForgotBefore: &until}, o.Now)
}

func start(path string, h heading, now func() time.Time) (*Journal, error) {
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("start journal: %w", err)
	}
	if err := durable.Write(path, append(line, '\n')); err != nil {
		return nil, fmt.Errorf("start journal: %w", err)
	}
	return open(path, now)
}

func open(path string, now func() time.Time) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{path: path, now: now, file: file, entries: map[string]entry{}}
	if err := j.load(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := j.compact(); err != nil {
		return nil, errors.Join(err, j.file.Close())
	}
	return j, nil
}

// load reads the whole file and cuts off a torn last line.
func (j *Journal) load() error {
	reader := bufio.NewReader(j.file)
	if err := j.readHeading(reader); err != nil {
		return err
	}
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return j.cutTail()
		}
		if err != nil {
			return fmt.Errorf("read journal %s: %w", j.path, err)
		}
		rec, err := parse(line)
		if err != nil {
			return fmt.Errorf("%w at byte %d: %w", errDamaged, j.size, err)
		}
		j.remember(rec, j.size, int64(len(line)))
		j.size += int64(len(line))
	}
}

func (j *Journal) cutTail() error {
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("cut torn tail of journal %s: %w", j.path, err)
	}
	return nil
}

func parse(line []byte) (record, error) {
	var rec record
	// A power cut can leave a hole of zeros where unsynced records were.
	line = bytes.TrimLeft(line, "\x00")
	if err := json.Unmarshal(line, &rec); err != nil {
		return record{}, fmt.Errorf("parse record: %w", err)
	}
	switch {
	case rec.ID == "":
		return record{}, errors.New("record has no id")
	case rec.State == Begun && rec.Result == nil, rec.State == Done && rec.Result != nil:
		return rec, nil
	default:
		return record{}, fmt.Errorf("record %s has state %q and its result does not go with it", rec.ID, rec.State)
	}
}

func (j *Journal) remember(rec record, offset, length int64) {
	j.entries[rec.ID] = entry{state: rec.State, expiresAt: rec.ExpiresAt, offset: offset, length: length}
	j.lines++
}

// Lookup tells how far the command has come, with its result when it is Done.
func (j *Journal) Lookup(id string) (State, *metal.CommandResult, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.entries[id]
	if !ok || e.state != Done {
		return e.state, nil, nil
	}
	line := make([]byte, e.length)
	if _, err := j.file.ReadAt(line, e.offset); err != nil {
		return e.state, nil, fmt.Errorf("read result of command %s from journal: %w", id, err)
	}
	rec, err := parse(line)
	if err != nil {
		return e.state, nil, fmt.Errorf("result of command %s in journal: %w", id, err)
	}
	return Done, rec.Result, nil
}

// Begin notes that the command is about to act. It returns when the note is on
// disk, unless the command may be repeated at will (durable false): losing such
// a note costs nothing.
func (j *Journal) Begin(id string, expiresAt time.Time, durable bool) error {
	return j.write(record{ID: id, State: Begun, ExpiresAt: expiresAt}, durable)
}

// Finish stores the command's result, on disk before it returns if durable.
func (j *Journal) Finish(result metal.CommandResult, expiresAt time.Time, durable bool) error {
	return j.write(record{ID: result.CommandID, State: Done, ExpiresAt: expiresAt, Result: &result}, durable)
}

func (j *Journal) write(rec record, durable bool) error {
	line, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode journal record of command %s: %w", rec.ID, err)
	}
	count, err := j.append(rec, append(line, '\n'))
	if err != nil {
		return fmt.Errorf("write command %s to journal: %w", rec.ID, err)
	}
	if !durable {
		return nil
	}
	return j.flush(count)
}

func (j *Journal) append(rec record, line []byte) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lines >= j.roomy {
		if err := j.compact(); err != nil {
			return 0, err
		}
	}
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		return 0, errors.Join(err, j.cutTail())
	}
	j.remember(rec, j.size, int64(len(line)))
	j.size += int64(len(line))
	return j.appended.Add(1), nil
}

// flush returns when the first count records are on disk. Those who wait for
// the fsync of another find theirs done with it.
func (j *Journal) flush(count int64) error {
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	if j.synced >= count {
		return nil
	}
	upTo := j.appended.Load()
	for {
		file := j.current()
		err := file.Sync()
		if err == nil {
			j.synced = upTo
			return nil
		}
		if j.current() == file { // else it was compacted meanwhile: sync the new one
			return fmt.Errorf("sync journal: %w", err)
		}
	}
}

func (j *Journal) current() *os.File {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file
}

// Close ends the journal.
func (j *Journal) Close() error {
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := errors.Join(j.file.Sync(), j.file.Close()); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// lastRecord is the line of an entry, for copying it to a new file.
func (j *Journal) lastRecord(e entry) ([]byte, error) {
	line := make([]byte, e.length)
	if _, err := j.file.ReadAt(line, e.offset); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	if !bytes.HasSuffix(line, []byte{'\n'}) {
		return nil, errors.New("journal entry is not a line")
	}
	return line, nil
}
