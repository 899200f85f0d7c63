// Package iso reads the ISO 9660 media that emulated machines boot and the
// config drives that they find, and builds such media as fixtures for tests.
// The reader is the package's own: sites write their media with a library, and
// a machine that read them with the same one would agree with its mistakes.
package iso

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

const (
	block      = 2048
	systemArea = 16 * block // what comes before the first volume descriptor
	maxFolder  = 16 << 20
	maxFile    = 256 << 20 // of a file that is read whole
)

// errDamaged is a volume whose records contradict its size or each other.
var errDamaged = errors.New("the ISO 9660 volume is damaged")

// Medium is one readable volume.
type Medium struct {
	r      io.ReaderAt
	size   int64
	label  string
	root   entry
	susp   bool // has system use entries, and so Rock Ridge names
	skip   int  // bytes before the first of them in each record
	closer io.Closer
}

// entry is one file or folder.
type entry struct {
	name   string
	folder bool
	start  int64
	size   int64
}

// Open reads the volume in the file at name.
func Open(name string) (*Medium, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening the medium: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening the medium: %w", err)
	}
	m, err := Read(f, st.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	m.closer = f
	return m, nil
}

// Read reads the volume that r holds.
func Read(r io.ReaderAt, size int64) (*Medium, error) {
	m := &Medium{r: r, size: size}
	d, err := m.read(systemArea, block)
	if err != nil {
		return nil, errors.New("not an ISO 9660 volume: too short")
	}
	if d[0] != 1 || string(d[1:6]) != "CD001" {
		return nil, errors.New("not an ISO 9660 volume: no primary volume descriptor")
	}
	if binary.LittleEndian.Uint16(d[128:]) != block {
		return nil, errors.New("an ISO 9660 volume of unusual block size")
	}
	m.label = strings.TrimRight(string(d[40:72]), " \x00")
	root, err := m.parse(d[156:190])
	if err != nil || !root.folder {
		return nil, errDamaged
	}
	m.root = root
	return m, m.detect()
}

// detect finds out whether the records carry system use entries: the first one
// of the root then says so.
func (m *Medium) detect() error {
	content, err := m.read(m.root.start, m.root.size)
	if err != nil || len(content) < 34 || int(content[0]) > len(content) {
		return errDamaged
	}
	use := systemUse(content[:content[0]])
	if len(use) >= 7 && string(use[:2]) == "SP" && use[4] == 0xbe && use[5] == 0xef {
		m.susp, m.skip = true, int(use[6])
	}
	return nil
}

// Close lets go of the file that Open opened.
func (m *Medium) Close() error {
	if m.closer == nil {
		return nil
	}
	return m.closer.Close()
}

// Label is the volume's identifier.
func (m *Medium) Label() string { return m.label }

// ReadFile is the content of the file at name, with or without a leading slash.
func (m *Medium) ReadFile(name string) ([]byte, error) {
	e, err := m.find(name)
	if err != nil {
		return nil, err
	}
	if e.folder || e.size > maxFile {
		return nil, fmt.Errorf("%s on the medium is no file to read whole", name)
	}
	return m.read(e.start, e.size)
}

// Size is the length of the file at name, 0 when there is none.
func (m *Medium) Size(name string) int64 {
	e, err := m.find(name)
	if err != nil || e.folder {
		return 0
	}
	return e.size
}

// Files lists the names of the plain files in a folder.
func (m *Medium) Files(dir string) ([]string, error) {
	e, err := m.find(dir)
	if err != nil {
		return nil, err
	}
	entries, err := m.list(e)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.folder {
			names = append(names, path.Join(dir, e.name))
		}
	}
	return names, nil
}

// find walks from the root. Plain ISO 9660 names are compared without regard
// to case: they know only capitals.
func (m *Medium) find(name string) (entry, error) {
	at := m.root
	for part := range strings.SplitSeq(clean(name), "/") {
		if part == "" {
			continue
		}
		entries, err := m.list(at)
		if err != nil {
			return entry{}, err
		}
		found := false
		for _, e := range entries {
			if e.name == part || (!m.susp && strings.EqualFold(e.name, part)) {
				at, found = e, true
				break
			}
		}
		if !found {
			return entry{}, fmt.Errorf("there is no %s on the medium", name)
		}
	}
	return at, nil
}

func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// read gives n bytes from off on, which must lie within the volume.
func (m *Medium) read(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off+n > m.size {
		return nil, errDamaged
	}
	b := make([]byte, n)
	if _, err := m.r.ReadAt(b, off); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the medium: %w", err)
	}
	return b, nil
}
