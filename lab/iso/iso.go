// Package iso reads the ISO 9660 media that emulated machines boot and the
// config drives that they find, and builds such media as fixtures for tests.
package iso

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// systemArea is what comes before the first volume descriptor.
const systemArea = 16 * 2048

// Medium is one readable volume.
type Medium struct {
	fsys   *iso9660.FileSystem
	label  string
	closer io.Closer
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
func Read(r io.ReaderAt, size int64) (m *Medium, err error) {
	defer parserPanic(&err)
	descriptor := make([]byte, 2048)
	if _, err := r.ReadAt(descriptor, systemArea); err != nil {
		return nil, errors.New("not an ISO 9660 volume: too short")
	}
	if descriptor[0] != 1 || string(descriptor[1:6]) != "CD001" {
		return nil, errors.New("not an ISO 9660 volume: no primary volume descriptor")
	}
	fsys, err := iso9660.Read(&section{SectionReader: io.NewSectionReader(r, 0, size)}, size, 0, 2048)
	if err != nil {
		return nil, fmt.Errorf("reading the ISO 9660 volume: %w", err)
	}
	label := strings.TrimRight(string(descriptor[40:72]), " \x00")
	return &Medium{fsys: fsys, label: label}, nil
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
func (m *Medium) ReadFile(name string) (content []byte, err error) {
	defer parserPanic(&err)
	content, err = m.fsys.ReadFile(clean(name))
	if err != nil {
		return nil, fmt.Errorf("reading %s on the medium: %w", name, err)
	}
	return content, nil
}

// Size is the length of the file at name, 0 when there is none.
func (m *Medium) Size(name string) (size int64) {
	var err error
	defer parserPanic(&err)
	st, err := m.fsys.Stat(clean(name))
	if err != nil || st.IsDir() {
		return 0
	}
	return st.Size()
}

// Files lists the names of the plain files in a folder.
func (m *Medium) Files(dir string) (names []string, err error) {
	defer parserPanic(&err)
	entries, err := m.fsys.ReadDir(clean(dir))
	if err != nil {
		return nil, fmt.Errorf("listing %s on the medium: %w", dir, err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names, nil
}

func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// parserPanic turns a panic of the volume parser, which trusts the offsets on
// the medium, into an error: media come from anywhere.
func parserPanic(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the ISO 9660 volume is damaged: %v", r)
	}
}
