package iso

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// Build is a fixture: an ISO 9660 volume with Rock Ridge names that holds the
// files given by path.
func Build(label string, files map[string][]byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "lab-iso-")
	if err != nil {
		return nil, fmt.Errorf("building an ISO: %w", err)
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	for name, content := range files {
		target := filepath.Join(tree, filepath.FromSlash(clean(name)))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return nil, fmt.Errorf("building an ISO: %w", err)
		}
		if err := os.WriteFile(target, content, 0o600); err != nil {
			return nil, fmt.Errorf("building an ISO: %w", err)
		}
	}
	out := filepath.Join(dir, "out.iso")
	if err := finalize(out, tree, label); err != nil {
		return nil, fmt.Errorf("building an ISO: %w", err)
	}
	return os.ReadFile(out)
}

func finalize(out, tree, label string) error {
	if err := os.MkdirAll(tree, 0o700); err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	fsys, err := iso9660.Create(file.New(f, false), 0, 0, 2048, tree)
	if err != nil {
		return err
	}
	return fsys.Finalize(iso9660.FinalizeOptions{RockRidge: true, VolumeIdentifier: label})
}

// BootISO is a fixture: a medium that boots a ramdisk with the kernel line
// given, as a site's boot service would build it for UEFI.
func BootISO(kernelLine string, more map[string][]byte) ([]byte, error) {
	files := map[string][]byte{
		"vmlinuz":  []byte("kernel of the lab\n"),
		"initrd":   []byte("ramdisk of the lab\n"),
		grubConfig: []byte("menuentry \"deploy\" {\n  linux /vmlinuz " + kernelLine + "\n  initrd /initrd\n}\n"),
	}
	for name, content := range more {
		files[name] = content
	}
	return Build("VMEDIA_BOOT_ISO", files)
}
