// Package iso writes ISO 9660 images with Rock Ridge names: boot media and
// config drives. It knows what an image looks like and nothing of where its
// files come from. It must not import anything else of the agent.
package iso

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/diskfs/go-diskfs/backend"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// maxDepth is how deep ISO 9660 lets directories nest, the root included.
const maxDepth = 8

// File is one file of an image.
type File struct {
	Path string // in the image, with slashes, no leading one
	// From is a file on disk to take in; it is not changed. "" means Content.
	From string
	// Content goes straight into the image and never into the work folder, so
	// that what is secret in it leaves no other trace.
	Content []byte
}

// Options describe an image.
type Options struct {
	Label     string // volume label
	Publisher string // publisher identifier
	// EFIImage is the path in the image of a FAT image that UEFI boots from
	// (El Torito); "" for none.
	EFIImage string
	Joliet   bool
}

// Storage is where an image is written: an *os.File or a Memory.
type Storage interface {
	backend.WritableFile
}

// Write makes an image of files in out. Work folders are made under workDir,
// which must be on the file system of the From files to spare copying them.
func Write(ctx context.Context, out Storage, workDir string, files []File, o Options) (err error) {
	tree, err := os.MkdirTemp(workDir, "iso-")
	if err != nil {
		return fmt.Errorf("make work folder for image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tree)) }()
	if err := os.Chmod(tree, 0o755); err != nil { // the image's root has this mode
		return fmt.Errorf("prepare work folder for image: %w", err)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := place(tree, f); err != nil {
			return err
		}
	}
	storage := outStorage{out}
	image, err := iso9660.Create(storage, 0, 0, 0, tree)
	if err != nil {
		return fmt.Errorf("start image: %w", err)
	}
	if err := image.Finalize(finalizeOptions(o)); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return fill(storage, files)
}

func finalizeOptions(o Options) iso9660.FinalizeOptions {
	options := iso9660.FinalizeOptions{
		RockRidge: true, Joliet: o.Joliet, VolumeIdentifier: o.Label, PublisherIdentifier: o.Publisher,
	}
	if o.EFIImage != "" {
		options.ElTorito = &iso9660.ElTorito{
			BootCatalog:     "boot.catalog",
			HideBootCatalog: true,
			Entries: []*iso9660.ElToritoEntry{{
				Platform: iso9660.EFI, Emulation: iso9660.NoEmulation, BootFile: o.EFIImage,
			}},
		}
	}
	return options
}

// CheckPath reports what is wrong with a path for a File.
func CheckPath(p string) error {
	switch {
	case !fs.ValidPath(p) || p == ".":
		return fmt.Errorf("%q is no relative path in an image", p)
	case len(filepath.SplitList(p)) > 1 || depth(p) > maxDepth:
		return fmt.Errorf("%q is too deep or has a colon", p)
	}
	for _, r := range p {
		if r < ' ' || r == '\\' || r == 0x7f {
			return fmt.Errorf("%q has a character that no image path may have", p)
		}
	}
	return nil
}

func depth(p string) int {
	n := 1
	for p = path.Dir(p); p != "."; p = path.Dir(p) {
		n++
	}
	return n
}

// place puts the file, or a hole of its content's length, into the work folder.
func place(tree string, f File) error {
	if err := CheckPath(f.Path); err != nil {
		return err
	}
	target := filepath.Join(tree, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("make folder for %s: %w", f.Path, err)
	}
	if f.From != "" {
		return link(f.From, target)
	}
	hole, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("make %s: %w", f.Path, err)
	}
	if err := errors.Join(hole.Truncate(int64(len(f.Content))), hole.Close()); err != nil {
		return fmt.Errorf("size %s: %w", f.Path, err)
	}
	return nil
}

// link makes target a second name of from, or a copy where that cannot be.
func link(from, target string) error {
	if os.Link(from, target) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("open file for image: %w", err)
	}
	defer source.Close()
	sink, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("copy file for image: %w", err)
	}
	_, err = io.Copy(sink, source)
	if err := errors.Join(err, sink.Close()); err != nil {
		return fmt.Errorf("copy file for image: %w", err)
	}
	return nil
}

// fill writes the contents into the holes that place left for them.
func fill(storage outStorage, files []File) error {
	image, err := iso9660.Read(storage, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("read image back: %w", err)
	}
	for _, f := range files {
		if f.From != "" || len(f.Content) == 0 {
			continue
		}
		opened, err := image.OpenFile("/"+f.Path, os.O_RDONLY)
		if err != nil {
			return fmt.Errorf("find %s in image: %w", f.Path, err)
		}
		extent, ok := opened.(*iso9660.File)
		if !ok {
			return fmt.Errorf("%s is no plain file in the image", f.Path)
		}
		if _, err := storage.WriteAt(f.Content, int64(extent.Location())*sectorSize); err != nil {
			return fmt.Errorf("write %s into image: %w", f.Path, err)
		}
	}
	return nil
}

// sectorSize is the block size of every image written here.
const sectorSize = 2048

// outStorage lets the library write to a Storage.
type outStorage struct{ Storage }

func (s outStorage) Sys() (*os.File, error)                  { return nil, backend.ErrNotSuitable }
func (s outStorage) Writable() (backend.WritableFile, error) { return s.Storage, nil }
func (s outStorage) Path() string                            { return "" }
