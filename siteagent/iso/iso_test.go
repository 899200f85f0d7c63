package iso

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"ferrule/siteagent/iso/isotest"
)

func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func TestImageIsReadBack(t *testing.T) {
	work := t.TempDir()
	kernel := filepath.Join(t.TempDir(), "kernel")
	if err := os.WriteFile(kernel, randomBytes(3*sectorSize+17), 0o644); err != nil {
		t.Fatal(err)
	}
	esp := filepath.Join(t.TempDir(), "esp")
	if err := os.WriteFile(esp, randomBytes(1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	files := []File{
		{Path: "vmlinuz", From: kernel},
		{Path: "boot/grub/efiboot.img", From: esp},
		{Path: "boot/grub/grub.cfg", Content: []byte("menuentry\n")},
		{Path: "openstack/latest/network_data.json", Content: []byte(`{"links":[]}`)},
		{Path: "exact", Content: randomBytes(2 * sectorSize)},
		{Path: "empty", Content: []byte{}},
		{Path: "A Name With Blanks and More than Thirty Two letters.Long", Content: []byte("x")},
	}
	image := filepath.Join(t.TempDir(), "boot.iso")
	out, err := os.OpenFile(image, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	options := Options{Label: "VMEDIA_BOOT_ISO", Publisher: "0b9d0c1e-7f0a-4e55-8ad6-1f2d9b7f9f11", EFIImage: "boot/grub/efiboot.img"}
	if err := Write(context.Background(), out, work, files, options); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	got := isotest.Read(t, data)
	for _, f := range files {
		want := f.Content
		if f.From != "" {
			if want, err = os.ReadFile(f.From); err != nil {
				t.Fatal(err)
			}
		}
		if content, ok := got.Files[f.Path]; !ok || content != string(want) {
			t.Errorf("%s: %d bytes, want %d", f.Path, len(content), len(want))
		}
	}
	if got.Label != options.Label || got.Publisher != options.Publisher || !got.EFI {
		t.Errorf("label %q, publisher %q, EFI %v", got.Label, got.Publisher, got.EFI)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("work folder holds %v, %v", left, err)
	}
}

func TestContentsNeverTouchTheWorkFolder(t *testing.T) {
	work := t.TempDir()
	var memory Memory
	secret := randomBytes(64)
	watched := &watchedStorage{Memory: &memory, check: func() {
		err := filepath.WalkDir(work, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			if bytes.Contains(data, secret) {
				t.Errorf("%s holds the secret", p)
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}}
	files := []File{{Path: "user_data", Content: secret}}
	if err := Write(context.Background(), watched, work, files, Options{Label: "config-2", Joliet: true}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(memory.Bytes(), secret) {
		t.Error("the image does not hold the content")
	}
}

// watchedStorage looks at the work folder each time the library writes.
type watchedStorage struct {
	*Memory
	check func()
}

func (w *watchedStorage) WriteAt(p []byte, off int64) (int, error) {
	w.check()
	return w.Memory.WriteAt(p, off)
}

func TestBadPathsAreRefused(t *testing.T) {
	for _, p := range []string{
		"", ".", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "a\x00b", "a\nb", `a\b`, "a:b", "1/2/3/4/5/6/7/8/9",
	} {
		var memory Memory
		if err := Write(context.Background(), &memory, t.TempDir(), []File{{Path: p, Content: []byte("x")}}, Options{}); err == nil {
			t.Errorf("%q was taken", p)
		}
	}
}

func FuzzCheckPath(f *testing.F) {
	f.Add("openstack/latest/meta_data.json")
	f.Add("../../etc")
	f.Fuzz(func(t *testing.T, p string) {
		if CheckPath(p) == nil && !filepath.IsLocal(filepath.FromSlash(p)) {
			t.Errorf("%q leaves the image", p)
		}
	})
}
