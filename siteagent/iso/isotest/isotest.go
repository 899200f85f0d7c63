// Package isotest reads images back in tests: with xorriso, which shares
// nothing with the writer, or in short runs without it with the library.
package isotest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// Image is what is in an image.
type Image struct {
	Files     map[string]string // by path, without a leading slash
	Label     string
	Publisher string
	EFI       bool // it has a boot image for UEFI
}

// Read reads an image.
func Read(t testing.TB, image []byte) Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.iso")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	got := describe(t, image)
	if _, err := exec.LookPath("xorriso"); err != nil && testing.Short() {
		got.Files = withLibrary(t, path)
		return got
	}
	got.Files = withXorriso(t, path, got.EFI)
	return got
}

func withXorriso(t testing.TB, path string, efi bool) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	out, err := exec.Command("xorriso", "-osirrox", "on", "-indev", path, "-report_el_torito", "plain", "-extract", "/", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("xorriso (Debian: apt-get install xorriso): %v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("UEFI")) != efi {
		t.Errorf("xorriso does not see what boots by UEFI, or too much:\n%s", out)
	}
	t.Cleanup(func() { // folders have the modes that they have in the image
		_ = filepath.WalkDir(dir, func(p string, _ fs.DirEntry, _ error) error { return os.Chmod(p, 0o700) })
	})
	return walk(t, os.DirFS(dir))
}

func withLibrary(t testing.TB, path string) map[string]string {
	t.Helper()
	disk, err := file.OpenFromPath(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	image, err := iso9660.Read(disk, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return walk(t, image)
}

func walk(t testing.TB, from fs.FS) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Sectors and offsets of an image (ECMA-119, 8.4; El Torito, 2.0 and 2.1).
const (
	sector     = 2048
	primary    = 16 * sector
	platformID = 1
	platformEF = 0xef
)

// describe reads the volume descriptors byte by byte.
func describe(t testing.TB, image []byte) Image {
	t.Helper()
	if len(image) < primary+3*sector || string(image[primary+1:primary+6]) != "CD001" {
		t.Fatal(errors.New("it is no ISO 9660 image"))
	}
	text := func(from, to int) string { return strings.Trim(string(image[primary+from:primary+to]), " \x00") }
	got := Image{Label: text(40, 72), Publisher: text(318, 446)}
	for at := primary + sector; at+sector <= len(image) && image[at] != 255; at += sector {
		if image[at] != 0 || !bytes.Contains(image[at:at+sector], []byte("EL TORITO")) {
			continue
		}
		low := image[at+0x47 : at+0x4b]
		catalog := (int(low[0]) | int(low[1])<<8 | int(low[2])<<16 | int(low[3])<<24) * sector
		got.EFI = catalog+sector <= len(image) && image[catalog+platformID] == platformEF
	}
	return got
}
