// Package disk is the disk of an emulated machine: a sparse file that the
// ramdisk erases and writes, and that the firmware later checks before it says
// that the machine booted. What an image must look like on the disk is
// remembered from the image itself, never from the disk.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/lima-vm/go-qcow2reader"
	"github.com/lima-vm/go-qcow2reader/convert"
	"github.com/lima-vm/go-qcow2reader/image/qcow2"
)

// metadataBytes is how much of both ends erasing the metadata clears.
const metadataBytes = 1 << 20

// Disk is one disk. Its methods may be called from several goroutines; one
// works at a time.
type Disk struct {
	path string
	size int64

	work sync.Mutex // one reads or writes the file at a time

	mu      sync.Mutex
	written *Written
}

// Written is what the last image written must look like.
type Written struct {
	NodeUUID   string            `json:"nodeUuid"`
	Size       int64             `json:"size"`   // of the raw content
	SHA256     string            `json:"sha256"` // of the raw content
	Partitions []PartitionDigest `json:"partitions"`
}

// PartitionDigest is one partition of the image with the digest of its content.
type PartitionDigest struct {
	Partition
	SHA256 string `json:"sha256"`
}

// Create makes a blank disk of size bytes in the file at path, which is
// emptied if it exists. Size is rounded down to whole sectors.
func Create(path string, size int64) (*Disk, error) {
	d := &Disk{path: path, size: size / sector * sector}
	if d.size < 4*metadataBytes {
		return nil, fmt.Errorf("creating the disk %s: %d bytes are too few", path, size)
	}
	if err := d.Erase(); err != nil {
		return nil, err
	}
	return d, nil
}

// Path is the file that holds the disk.
func (d *Disk) Path() string { return d.path }

// Size is the size of the disk in bytes.
func (d *Disk) Size() int64 { return d.size }

// Erase clears the whole disk.
func (d *Disk) Erase() error {
	d.work.Lock()
	defer d.work.Unlock()
	return d.erase()
}

func (d *Disk) erase() error {
	d.remember(nil)
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("erasing the disk: %w", err)
	}
	return errors.Join(f.Truncate(d.size), f.Close())
}

// EraseMetadata clears both ends of the disk, where partition tables live.
func (d *Disk) EraseMetadata() error {
	d.work.Lock()
	defer d.work.Unlock()
	return d.modify(func(f *os.File) error {
		d.remember(nil)
		zeroes := make([]byte, metadataBytes)
		_, head := f.WriteAt(zeroes, 0)
		_, tail := f.WriteAt(zeroes, d.size-metadataBytes)
		return errors.Join(head, tail)
	})
}

func (d *Disk) modify(do func(*os.File) error) error {
	f, err := os.OpenFile(d.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening the disk: %w", err)
	}
	return errors.Join(do(f), f.Close())
}

// WriteRaw streams a raw image to the disk.
func (d *Disk) WriteRaw(ctx context.Context, r io.Reader) (Written, error) {
	d.work.Lock()
	defer d.work.Unlock()
	if err := d.erase(); err != nil {
		return Written{}, err
	}
	digest := newDigester()
	err := d.modify(func(f *os.File) error {
		out := &bounded{ctx: ctx, w: f, size: d.size}
		_, err := io.Copy(io.MultiWriter(&writerAt{w: out}, digest), r)
		return err
	})
	if err != nil {
		return Written{}, fmt.Errorf("writing the image: %w", err)
	}
	return d.finish(digest)
}

// WriteQcow2 converts the qcow2 image in r to the disk.
func (d *Disk) WriteQcow2(ctx context.Context, r io.ReaderAt) (Written, error) {
	img, err := qcow2reader.OpenWithType(r, qcow2.Type)
	if err != nil {
		return Written{}, fmt.Errorf("reading the qcow2 image: %w", err)
	}
	defer img.Close()
	if err := img.Readable(); err != nil {
		return Written{}, fmt.Errorf("reading the qcow2 image: %w", err)
	}
	d.work.Lock()
	defer d.work.Unlock()
	if err := d.erase(); err != nil {
		return Written{}, err
	}
	err = d.modify(func(f *os.File) error {
		out := &bounded{ctx: ctx, w: f, size: d.size}
		return convert.Convert(out, img, convert.Options{Workers: 2})
	})
	if err != nil {
		return Written{}, fmt.Errorf("writing the image: %w", err)
	}
	digest := newDigester()
	if _, err := io.Copy(digest, io.NewSectionReader(img, 0, img.Size())); err != nil {
		return Written{}, fmt.Errorf("reading the qcow2 image: %w", err)
	}
	return d.finish(digest)
}

func (d *Disk) finish(digest *digester) (Written, error) {
	w, err := digest.written()
	if err != nil {
		return Written{}, err
	}
	d.remember(&w)
	return w, nil
}

func (d *Disk) remember(w *Written) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written = w
}

// Belongs records for which node the image was written.
func (d *Disk) Belongs(nodeUUID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.written != nil {
		w := *d.written
		w.NodeUUID = nodeUUID
		d.written = &w
	}
}

// Written is what was written last, nil for a disk without an image. It is not
// to be changed.
func (d *Disk) Written() *Written {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.written
}

// Identity is the GUID of the partition table, "" without one.
func (d *Disk) Identity() string {
	d.work.Lock()
	defer d.work.Unlock()
	f, err := os.Open(d.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	t, err := readTable(f, 1)
	if err != nil {
		return ""
	}
	return t.guid
}

// bounded refuses writes past the end of the disk and after ctx ended.
type bounded struct {
	ctx  context.Context
	w    io.WriterAt
	size int64
}

func (b *bounded) WriteAt(p []byte, off int64) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, context.Cause(b.ctx)
	}
	if off+int64(len(p)) > b.size {
		return 0, fmt.Errorf("the image does not fit on the disk of %d bytes", b.size)
	}
	return b.w.WriteAt(p, off)
}

// writerAt writes one after the other, leaving holes for blocks of zeroes: the
// disk was erased before.
type writerAt struct {
	w   io.WriterAt
	off int64
}

func (s *writerAt) Write(p []byte) (int, error) {
	if allZero(p) && len(p) > 0 {
		// The last byte is written so that the bound is checked.
		if _, err := s.w.WriteAt(p[:1], s.off+int64(len(p))-1); err != nil {
			return 0, err
		}
	} else if _, err := s.w.WriteAt(p, s.off); err != nil {
		return 0, err
	}
	s.off += int64(len(p))
	return len(p), nil
}

func allZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}
