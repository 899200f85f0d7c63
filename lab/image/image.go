// Package image makes small whole-disk images for tests and the demo, and
// serves them, with stand-ins for kernel and ramdisk, over HTTP.
package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"

	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/google/uuid"
)

// Size is the size of an image made by GPT.
const Size = 8 << 20

const sector = 512

// GPT makes a whole-disk image with an EFI system partition and a root
// partition, whose GUIDs and content follow from seed.
func GPT(seed uint64) ([]byte, error) {
	random := rand.NewChaCha8(seedBytes(seed))
	content := make([]byte, Size)
	parts := []*gpt.Partition{
		{Index: 1, Name: "ESP", Type: gpt.EFISystemPartition, Start: 2048, End: 2048 + 2047},
		{Index: 2, Name: "root", Type: gpt.LinuxFilesystem, Start: 4096, End: Size/sector - 2048 - 1},
	}
	for _, p := range parts {
		p.Size = (p.End - p.Start + 1) * sector
		p.GUID = randomGUID(random)
		// A zero megabyte in the middle leaves a hole for sparse formats.
		area := content[p.Start*sector : (p.End+1)*sector]
		if _, err := random.Read(area[:len(area)/2]); err != nil {
			return nil, fmt.Errorf("making an image: %w", err)
		}
	}
	t := &gpt.Table{
		LogicalSectorSize: sector, PhysicalSectorSize: sector,
		GUID: randomGUID(random), ProtectiveMBR: true, Partitions: parts,
	}
	if err := t.Write(&memory{content: content}, Size); err != nil {
		return nil, fmt.Errorf("making an image: %w", err)
	}
	return content, nil
}

func seedBytes(seed uint64) (key [32]byte) {
	binary.LittleEndian.PutUint64(key[:], seed)
	return key
}

func randomGUID(r io.Reader) string {
	u, err := uuid.NewRandomFromReader(r)
	if err != nil {
		// ChaCha8 never fails to read.
		panic(err)
	}
	return u.String()
}

// SHA256 is the digest that goes with an image, in hex.
func SHA256(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// memory is a file for the partition table's writer.
type memory struct{ content []byte }

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	return copy(m.content[off:], p), nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.content).ReadAt(p, off)
}
func (m *memory) Read([]byte) (int, error)       { return 0, io.EOF }
func (m *memory) Seek(int64, int) (int64, error) { return 0, fs.ErrInvalid }
func (m *memory) Stat() (fs.FileInfo, error)     { return nil, fs.ErrInvalid }
func (m *memory) Close() error                   { return nil }
