package disk_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ferrule/lab/disk"
	"ferrule/lab/image"
	"ferrule/lab/iso"
)

const node = "0c6ba5c5-9d2b-4e4a-8a0e-000000000001"

func blank(t *testing.T, size int64) *disk.Disk {
	t.Helper()
	d, err := disk.Create(filepath.Join(t.TempDir(), "sda"), size)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func gptImage(t *testing.T) []byte {
	t.Helper()
	raw, err := image.GPT(7)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func configDrive(t *testing.T, metadata string) []byte {
	t.Helper()
	content, err := iso.Build("config-2", map[string][]byte{
		"openstack/latest/meta_data.json": []byte(metadata),
		"openstack/latest/user_data":      []byte("#cloud-config\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// deployed is a disk as a deployment leaves it.
func deployed(t *testing.T) *disk.Disk {
	t.Helper()
	d := blank(t, 128<<20)
	if _, err := d.WriteRaw(t.Context(), bytes.NewReader(gptImage(t))); err != nil {
		t.Fatal(err)
	}
	d.Belongs(node)
	if err := d.WriteConfigDrive(configDrive(t, `{"uuid":"`+node+`"}`)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDeployedDiskBoots(t *testing.T) {
	d := deployed(t)
	if err := d.Check(true); err != nil {
		t.Fatal(err)
	}
	w := d.Written()
	if w.SHA256 != image.SHA256(gptImage(t)) || len(w.Partitions) != 2 || w.Size != image.Size {
		t.Errorf("written: %+v", w)
	}
	if got := d.ConfigDrive()["openstack/latest/user_data"]; got != "#cloud-config\n" {
		t.Errorf("user data on the disk: %q", got)
	}
	if d.Identity() == "" {
		t.Error("no disk identifier")
	}
}

func TestQcow2IsWrittenAsItsRawContent(t *testing.T) {
	raw := gptImage(t)
	file := image.Qcow2(raw)
	if len(file) >= len(raw) {
		t.Errorf("qcow2 of %d bytes for %d raw ones: no holes", len(file), len(raw))
	}
	d := blank(t, 64<<20)
	w, err := d.WriteQcow2(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if w.SHA256 != image.SHA256(raw) {
		t.Error("the digest of the written content is not that of the raw image")
	}
	got, err := os.ReadFile(d.Path())
	if err != nil || !bytes.Equal(got[:len(raw)], raw) {
		t.Errorf("the disk does not start with the image (%v)", err)
	}
	d.Belongs(node)
	if err := d.WriteConfigDrive(configDrive(t, `{"uuid":"`+node+`"}`)); err != nil {
		t.Fatal(err)
	}
	if err := d.Check(true); err != nil {
		t.Error(err)
	}
}

// flip changes one byte of the disk; a negative offset counts from its end.
func flip(t *testing.T, d *disk.Disk, off int64) {
	t.Helper()
	if off < 0 {
		off += d.Size()
	}
	f, err := os.OpenFile(d.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0xff
	if _, err := f.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

func TestDisksThatDoNotBoot(t *testing.T) {
	cases := map[string]struct {
		harm func(*disk.Disk)
		want string
	}{
		"primary header":  {func(d *disk.Disk) { flip(t, d, 512+56) }, "sector 1: wrong checksum"},
		"primary entries": {func(d *disk.Disk) { flip(t, d, 1024+100) }, "wrong checksum"},
		"backup header":   {func(d *disk.Disk) { flip(t, d, -512+60) }, "backup"},
		"backup entries":  {func(d *disk.Disk) { flip(t, d, -512-100) }, "backup"},
		"ESP":             {func(d *disk.Disk) { flip(t, d, 1<<20) }, `partition "ESP" differs`},
		"root":            {func(d *disk.Disk) { flip(t, d, 6<<20+17) }, `partition "root" differs`},
		"metadata erased": {func(d *disk.Disk) { must(t, d.EraseMetadata()) }, "no image"},
		"erased":          {func(d *disk.Disk) { must(t, d.Erase()) }, "no image"},
		"other node":      {func(d *disk.Disk) { d.Belongs("another") }, "names"},
		"no meta data":    {func(d *disk.Disk) { must(t, d.WriteConfigDrive(configDrive(t, `[]`))) }, "meta_data.json"},
		"no volume":       {func(d *disk.Disk) { must(t, d.WriteConfigDrive(make([]byte, 1<<20))) }, "not an ISO"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := deployed(t)
			c.harm(d)
			err := d.Check(true)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("check: %v, want %q in it", err, c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWithoutConfigDrive(t *testing.T) {
	d := blank(t, 64<<20)
	if _, err := d.WriteRaw(t.Context(), bytes.NewReader(gptImage(t))); err != nil {
		t.Fatal(err)
	}
	if err := d.Check(false); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("a backup GPT that is not at the end of the disk was taken: %v", err)
	}
	must(t, d.FixBackup())
	if err := d.Check(false); err != nil {
		t.Error(err)
	}
	if err := d.Check(true); err == nil {
		t.Error("a disk without a config drive passed where one is needed")
	}
}

func TestImageWithoutPartitions(t *testing.T) {
	d := blank(t, 64<<20)
	_, err := d.WriteRaw(t.Context(), bytes.NewReader(bytes.Repeat([]byte("x"), 1<<20)))
	must(t, err)
	must(t, d.FixBackup())
	if err := d.Check(true); err != nil {
		t.Error(err)
	}
	if err := d.WriteConfigDrive([]byte("x")); err == nil {
		t.Error("a config drive was added to a disk without a GPT")
	}
}

func TestImagesThatAreRefused(t *testing.T) {
	d := blank(t, 4<<20)
	if _, err := d.WriteRaw(t.Context(), bytes.NewReader(gptImage(t))); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("too large: %v", err)
	}
	if _, err := d.WriteRaw(t.Context(), bytes.NewReader(make([]byte, 8<<20))); err == nil {
		t.Error("a too large image of zeroes was taken")
	}
	if _, err := d.WriteQcow2(t.Context(), bytes.NewReader(image.Qcow2(gptImage(t)))); err == nil {
		t.Error("a too large qcow2 image was taken")
	}
	if _, err := d.WriteRaw(t.Context(), bytes.NewReader(nil)); err == nil {
		t.Error("an empty image was taken")
	}
	if _, err := d.WriteQcow2(t.Context(), strings.NewReader("QFI\xfb and then nothing")); err == nil {
		t.Error("half a header was taken for an image")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.WriteRaw(ended, bytes.NewReader(make([]byte, 1<<20))); err == nil {
		t.Error("a write went on after its context ended")
	}
}

func TestErasedDiskIsZeroAndKeepsItsSize(t *testing.T) {
	d := deployed(t)
	must(t, d.Erase())
	content, err := os.ReadFile(d.Path())
	must(t, err)
	if int64(len(content)) != d.Size() || len(bytes.Trim(content, "\x00")) != 0 {
		t.Error("the erased disk is not all zeroes at its full size")
	}
}
