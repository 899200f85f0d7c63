package iso

import (
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/diskfs/go-diskfs/backend"
)

var _ backend.Storage = (*section)(nil)

// section is the storage that the parser wants over any io.ReaderAt.
type section struct{ *io.SectionReader }

func (s *section) Stat() (fs.FileInfo, error) { return sectionInfo(s.Size()), nil }
func (s *section) Close() error               { return nil }
func (s *section) Path() string               { return "" }

type sectionInfo int64

func (sectionInfo) Name() string       { return "" }
func (i sectionInfo) Size() int64      { return int64(i) }
func (sectionInfo) Mode() fs.FileMode  { return 0o400 }
func (sectionInfo) ModTime() time.Time { return time.Time{} }
func (sectionInfo) IsDir() bool        { return false }
func (sectionInfo) Sys() any           { return nil }

// Sys has no file to give: the section may be part of a disk.
func (s *section) Sys() (*os.File, error) { return nil, backend.ErrNotSuitable }

// Writable refuses: media are read only.
func (s *section) Writable() (backend.WritableFile, error) { return nil, backend.ErrIncorrectOpenMode }
