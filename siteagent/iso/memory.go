package iso

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// Memory is a Storage that never touches a disk: for images that are secret as
// a whole.
type Memory struct {
	data []byte
	pos  int64
}

// Bytes is what was written.
func (m *Memory) Bytes() []byte { return m.data }

// WriteAt writes p at off, growing the image as needed.
func (m *Memory) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("iso: negative offset")
	}
	end := off + int64(len(p))
	if grow := end - int64(len(m.data)); grow > 0 {
		m.data = append(m.data, make([]byte, grow)...)
	}
	return copy(m.data[off:end], p), nil
}

// ReadAt reads like io.ReaderAt.
func (m *Memory) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(m.data)) {
		return 0, io.EOF
	}
	n := copy(p, m.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Read reads on from the last position.
func (m *Memory) Read(p []byte) (int, error) {
	n, err := m.ReadAt(p, m.pos)
	m.pos += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// Seek moves the position of Read.
func (m *Memory) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += m.pos
	case io.SeekEnd:
		offset += int64(len(m.data))
	}
	if offset < 0 {
		return m.pos, errors.New("iso: negative position")
	}
	m.pos = offset
	return offset, nil
}

// Stat describes the image as a file.
func (m *Memory) Stat() (fs.FileInfo, error) { return memoryInfo{int64(len(m.data))}, nil }

// Close does nothing.
func (m *Memory) Close() error { return nil }

type memoryInfo struct{ size int64 }

func (memoryInfo) Name() string       { return "image.iso" }
func (i memoryInfo) Size() int64      { return i.size }
func (memoryInfo) Mode() fs.FileMode  { return 0o600 }
func (memoryInfo) ModTime() time.Time { return time.Time{} }
func (memoryInfo) IsDir() bool        { return false }
func (memoryInfo) Sys() any           { return nil }
