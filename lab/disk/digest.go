package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
)

// headBytes holds the protective MBR, the header and 128 entries.
const headBytes = 34 * sector

// digester reads an image once, from its first byte on, and keeps the digest
// of the whole and of each partition that its GPT names.
type digester struct {
	whole hash.Hash
	off   int64
	head  []byte
	parts []*partDigest
	err   error
}

type partDigest struct {
	Partition
	hash hash.Hash
}

func newDigester() *digester { return &digester{whole: sha256.New()} }

func (d *digester) Write(p []byte) (int, error) {
	d.whole.Write(p)
	n := len(p)
	if missing := headBytes - len(d.head); missing > 0 {
		take := min(missing, len(p))
		d.head = append(d.head, p[:take]...)
		if len(d.head) == headBytes {
			d.open()
		}
		d.feed(p[:take])
		p = p[take:]
	}
	d.feed(p)
	return n, nil
}

// open finds the partitions once the head of the image is there.
func (d *digester) open() {
	t, err := readTable(bytes.NewReader(d.head), 1)
	if errors.Is(err, errNoGPT) {
		return
	}
	if err != nil {
		d.err = err
		return
	}
	for _, p := range t.partitions {
		d.parts = append(d.parts, &partDigest{p, sha256.New()})
	}
}

func (d *digester) feed(p []byte) {
	for _, part := range d.parts {
		from := max(part.Start, d.off)
		to := min(part.Start+part.Size, d.off+int64(len(p)))
		if from < to {
			part.hash.Write(p[from-d.off : to-d.off])
		}
	}
	d.off += int64(len(p))
}

func (d *digester) written() (Written, error) {
	if d.err != nil {
		return Written{}, d.err
	}
	if d.off == 0 {
		return Written{}, errors.New("the image is empty")
	}
	w := Written{Size: d.off, SHA256: hex.EncodeToString(d.whole.Sum(nil))}
	for _, p := range d.parts {
		w.Partitions = append(w.Partitions, PartitionDigest{p.Partition, hex.EncodeToString(p.hash.Sum(nil))})
	}
	return w, nil
}
