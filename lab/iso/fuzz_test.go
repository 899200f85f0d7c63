package iso_test

import (
	"bytes"
	"testing"

	"ferrule/lab/iso"
)

func FuzzRead(f *testing.F) {
	content, err := iso.BootISO("a=b", nil)
	if err != nil {
		f.Fatal(err)
	}
	// The descriptors, path tables and folders; not the padding before them.
	const start = 16 * 2048
	f.Add(content[start:])
	f.Fuzz(func(t *testing.T, tail []byte) {
		volume := append(make([]byte, start), tail...)
		m, err := iso.Read(bytes.NewReader(volume), int64(len(volume)))
		if err != nil {
			return
		}
		_, _ = m.KernelLine(true)
		_, _ = m.Files("etc")
		_, _ = m.ReadFile("openstack/latest/meta_data.json")
	})
}
