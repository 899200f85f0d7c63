package image

import (
	"encoding/binary"
)

const clusterBits = 16

// Qcow2 wraps raw content in an uncompressed qcow2 file, leaving out clusters
// of zeroes. It is a fixture: one L1 table of as many L2 tables as are needed,
// every cluster with one reference.
func Qcow2(raw []byte) []byte {
	const cluster = 1 << clusterBits
	const perTable = cluster / 8
	clusters := (len(raw) + cluster - 1) / cluster
	tables := (clusters + perTable - 1) / perTable

	// Layout: header, L1, refcount table, refcount block, L2 tables, data.
	const l1At, refTableAt, refBlockAt, l2At = 1 * cluster, 2 * cluster, 3 * cluster, 4 * cluster
	out := make([]byte, l2At+tables*cluster)
	for i := range tables {
		at := l2At + i*cluster
		binary.BigEndian.PutUint64(out[l1At+8*i:], uint64(at)|copied)
	}
	for i := range clusters {
		data := raw[i*cluster : min((i+1)*cluster, len(raw))]
		if zero(data) {
			continue
		}
		entry := l2At + 8*i
		binary.BigEndian.PutUint64(out[entry:], uint64(len(out))|copied)
		padded := make([]byte, cluster)
		copy(padded, data)
		out = append(out, padded...)
	}
	putHeader(out, uint64(len(raw)), uint32(tables), l1At, refTableAt)
	binary.BigEndian.PutUint64(out[refTableAt:], refBlockAt)
	for i := range len(out) / cluster {
		binary.BigEndian.PutUint16(out[refBlockAt+2*i:], 1)
	}
	return out
}

// copied marks a cluster with exactly one reference.
const copied = 1 << 63

func putHeader(out []byte, size uint64, l1Entries uint32, l1At, refTableAt uint64) {
	copy(out, "QFI\xfb")
	binary.BigEndian.PutUint32(out[4:], 3) // version
	binary.BigEndian.PutUint32(out[20:], clusterBits)
	binary.BigEndian.PutUint64(out[24:], size)
	binary.BigEndian.PutUint32(out[36:], l1Entries)
	binary.BigEndian.PutUint64(out[40:], l1At)
	binary.BigEndian.PutUint64(out[48:], refTableAt)
	binary.BigEndian.PutUint32(out[56:], 1)    // clusters of the refcount table
	binary.BigEndian.PutUint32(out[96:], 4)    // refcounts of 16 bits
	binary.BigEndian.PutUint32(out[100:], 104) // length of the header
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
