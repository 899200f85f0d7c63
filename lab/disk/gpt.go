package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unicode/utf16"

	"github.com/google/uuid"
)

const (
	sector     = 512
	entrySize  = 128
	headerSize = 92
	maxEntries = 1024
)

// errNoGPT says that there is no GPT at all, as on a blank or MBR disk.
var errNoGPT = errors.New("no GPT")

// Partition is one entry of a partition table, in bytes.
type Partition struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	GUID  string `json:"guid"`
	Start int64  `json:"start"`
	Size  int64  `json:"size"`
}

// table is one of the two copies of a GPT, read and checked here rather than
// by the library that writes it.
type table struct {
	guid       string
	my, other  uint64
	entries    []byte
	partitions []Partition
}

// readTable reads the GPT whose header lies in sector lba and checks both its
// checksums.
func readTable(r io.ReaderAt, lba uint64) (table, error) {
	h := make([]byte, sector)
	if _, err := r.ReadAt(h, int64(lba)*sector); err != nil {
		return table{}, fmt.Errorf("%w in sector %d: %w", errNoGPT, lba, err)
	}
	if !bytes.Equal(h[:8], []byte("EFI PART")) {
		return table{}, fmt.Errorf("%w in sector %d", errNoGPT, lba)
	}
	want := binary.LittleEndian.Uint32(h[16:])
	clear(h[16:20])
	if crc32.ChecksumIEEE(h[:headerSize]) != want {
		return table{}, fmt.Errorf("GPT header in sector %d: wrong checksum", lba)
	}
	t := table{
		guid:  guidText(h[56:72]),
		my:    binary.LittleEndian.Uint64(h[24:]),
		other: binary.LittleEndian.Uint64(h[32:]),
	}
	if t.my != lba {
		return table{}, fmt.Errorf("GPT header in sector %d says that it lies in sector %d", lba, t.my)
	}
	count, size := binary.LittleEndian.Uint32(h[80:]), binary.LittleEndian.Uint32(h[84:])
	if size != entrySize || count > maxEntries {
		return table{}, fmt.Errorf("GPT header in sector %d: %d entries of %d bytes", lba, count, size)
	}
	t.entries = make([]byte, count*size)
	first := binary.LittleEndian.Uint64(h[72:])
	if _, err := r.ReadAt(t.entries, int64(first)*sector); err != nil {
		return table{}, fmt.Errorf("GPT entries of the header in sector %d: %w", lba, err)
	}
	if crc32.ChecksumIEEE(t.entries) != binary.LittleEndian.Uint32(h[88:]) {
		return table{}, fmt.Errorf("GPT entries of the header in sector %d: wrong checksum", lba)
	}
	t.partitions = parseEntries(t.entries)
	return t, nil
}

func parseEntries(entries []byte) []Partition {
	var found []Partition
	for e := range chunks(entries, entrySize) {
		if bytes.Equal(e[:16], make([]byte, 16)) {
			continue
		}
		first, last := binary.LittleEndian.Uint64(e[32:]), binary.LittleEndian.Uint64(e[40:])
		found = append(found, Partition{
			Type: guidText(e[:16]), GUID: guidText(e[16:32]), Name: entryName(e[56:128]),
			Start: int64(first) * sector, Size: int64(last-first+1) * sector,
		})
	}
	return found
}

func chunks(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for ; len(b) >= n; b = b[n:] {
			if !yield(b[:n]) {
				return
			}
		}
	}
}

func entryName(b []byte) string {
	var units []uint16
	for c := range chunks(b, 2) {
		u := binary.LittleEndian.Uint16(c)
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}

// guidText is the usual form of a GUID kept in the mixed order of GPT.
func guidText(b []byte) string {
	var u uuid.UUID
	copy(u[:], b)
	u[0], u[1], u[2], u[3] = b[3], b[2], b[1], b[0]
	u[4], u[5], u[6], u[7] = b[5], b[4], b[7], b[6]
	return u.String()
}
