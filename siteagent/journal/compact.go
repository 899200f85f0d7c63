package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ferrule/durable"
)

// compactFrom is how many lines a file has at least before it is rewritten. It
// is not rewritten again before it has doubled.
const compactFrom = 4096

// compact rewrites the file with the last record of each command that may
// still come again. The caller holds mu (or is alone). A crash in the middle
// leaves the old file whole.
func (j *Journal) compact() error {
	kept := map[string]entry{}
	for id, e := range j.entries {
		if e.expiresAt.Add(Keep).After(j.now()) {
			kept[id] = e
		}
	}
	j.roomy = max(compactFrom, 2*len(kept))
	if len(kept) == j.lines {
		return durable.SyncFolder(filepath.Dir(j.path)) // for a file that is new
	}
	fresh, entries, size, err := j.copyTo(j.path+".new", kept)
	if err != nil {
		return fmt.Errorf("compact journal %s: %w", j.path, err)
	}
	old := j.file
	j.file, j.entries, j.size, j.lines = fresh, entries, size, len(entries)
	if err := old.Close(); err != nil {
		return fmt.Errorf("close compacted journal: %w", err)
	}
	return nil
}

// copyTo writes the kept records to a new file and puts it in the old one's
// place.
func (j *Journal) copyTo(path string, kept map[string]entry) (*os.File, map[string]entry, int64, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, 0, err
	}
	entries, size, err := j.copyRecords(file, kept)
	if err == nil {
		err = durable.Replace(file, j.path)
	}
	if err != nil {
		return nil, nil, 0, errors.Join(err, file.Close(), os.Remove(path))
	}
	return file, entries, size, nil
}

func (j *Journal) copyRecords(to *os.File, kept map[string]entry) (map[string]entry, int64, error) {
	ids := make([]string, 0, len(kept))
	for id := range kept {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return int(kept[a].offset - kept[b].offset) })
	entries := make(map[string]entry, len(kept))
	out := bufio.NewWriter(to)
	head, err := json.Marshal(j.heading)
	if err != nil {
		return nil, 0, err
	}
	if _, err := out.Write(append(head, '\n')); err != nil {
		return nil, 0, err
	}
	size := int64(len(head) + 1)
	for _, id := range ids {
		e := kept[id]
		line, err := j.lastRecord(e)
		if err != nil {
			return nil, 0, err
		}
		if _, err := out.Write(line); err != nil {
			return nil, 0, err
		}
		e.offset = size
		entries[id] = e
		size += e.length
	}
	return entries, size, out.Flush()
}
