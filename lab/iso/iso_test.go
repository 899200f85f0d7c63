package iso_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ferrule/lab/iso"
)

func open(t *testing.T, content []byte) *iso.Medium {
	t.Helper()
	m, err := iso.Read(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestKernelLineIsTheOneOfTheMedium(t *testing.T) {
	content, err := iso.BootISO("text ipa-api-url=http://127.0.0.1:1 a=b", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, content)
	if m.Label() != "VMEDIA_BOOT_ISO" {
		t.Errorf("label %q", m.Label())
	}
	for _, uefi := range []bool{true, false} {
		line, err := m.KernelLine(uefi)
		if err != nil || line != "text ipa-api-url=http://127.0.0.1:1 a=b" {
			t.Errorf("uefi %v: kernel line %q, %v", uefi, line, err)
		}
	}
}

func TestKernelLineOfIsolinux(t *testing.T) {
	content, err := iso.BootISO("from=grub", map[string][]byte{
		"isolinux/isolinux.cfg": []byte("default deploy\nlabel deploy\n  kernel /vmlinuz\n  append initrd=/initrd text from=isolinux --\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, content)
	if line, err := m.KernelLine(false); err != nil || line != "text from=isolinux --" {
		t.Errorf("bios: %q, %v", line, err)
	}
	if line, err := m.KernelLine(true); err != nil || line != "from=grub" {
		t.Errorf("uefi: %q, %v", line, err)
	}
}

func TestMediaThatDoNotBoot(t *testing.T) {
	cases := map[string]map[string][]byte{
		"no /vmlinuz":           {"vmlinuz": nil},
		"no /initrd":            {"initrd": nil},
		"has no linux line":     {"boot/grub/grub.cfg": []byte("set timeout=1\n")},
		"not on the medium":     {"boot/grub/grub.cfg": []byte("linux /casper/vmlinuz a\n")},
		"isolinux/isolinux.cfg": {"boot/grub/grub.cfg": []byte("\n")},
	}
	for want, files := range cases {
		t.Run(want, func(t *testing.T) {
			content, err := iso.BootISO("a=b", files)
			if err != nil {
				t.Fatal(err)
			}
			_, err = open(t, content).KernelLine(true)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		})
	}
}

func TestGarbageIsNoMedium(t *testing.T) {
	damaged, err := iso.BootISO("a=b", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 16*2048 + 128; i < 16*2048+190; i++ {
		damaged[i] = 0xff
	}
	for name, content := range map[string][]byte{
		"empty": nil, "short": make([]byte, 100), "no root folder": withoutRoot(t), "zeroes": make([]byte, 1<<20), "damaged": damaged,
	} {
		m, err := iso.Read(bytes.NewReader(content), int64(len(content)))
		if err == nil {
			_, err = m.KernelLine(true)
		}
		if err == nil {
			t.Errorf("%s: read as a bootable medium", name)
		}
	}
}

// withoutRoot is a volume whose root folder holds no records.
func withoutRoot(t *testing.T) []byte {
	content, err := iso.BootISO("a=b", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := int(binary.LittleEndian.Uint32(content[16*2048+158:])) * 2048
	clear(content[at : at+2048])
	return content
}

func TestFiles(t *testing.T) {
	content, err := iso.Build("config-2", map[string][]byte{
		"openstack/latest/meta_data.json": []byte(`{"uuid":"x"}`),
		"openstack/latest/user_data":      []byte("#!/bin/sh\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, content)
	names, err := m.Files("openstack/latest")
	if err != nil || len(names) != 2 {
		t.Errorf("files %v, %v", names, err)
	}
	got, err := m.ReadFile("/openstack/latest/meta_data.json")
	if err != nil || string(got) != `{"uuid":"x"}` {
		t.Errorf("content %q, %v", got, err)
	}
	if _, err := m.ReadFile("openstack/none"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestVolumesOfAnotherWriter reads what xorriso wrote: with Rock Ridge names,
// with names too long for one record, with Joliet beside it, and plain.
func TestVolumesOfAnotherWriter(t *testing.T) {
	long := strings.Repeat("a-long-name-", 20)
	files := map[string]string{
		"openstack/latest/meta_data.json": `{"uuid":"x"}`, "etc/Mixed.Case": "m", "etc/empty": "", long: "l",
	}
	tree := t.TempDir()
	for name, content := range files {
		target := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, options := range map[string][]string{
		"rock ridge": {"-R"}, "rock ridge and joliet": {"-R", "-J", "-joliet-long"}, "many": {"-r", "-graft-points", "many=" + manyFiles(t)},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.iso")
			arguments := append([]string{"-as", "mkisofs", "-quiet", "-V", "config-2", "-o", out}, options...)
			if said, err := exec.CommandContext(t.Context(), "xorriso", append(arguments, tree)...).CombinedOutput(); err != nil {
				t.Fatalf("xorriso: %v: %s", err, said)
			}
			m, err := iso.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if m.Label() != "config-2" {
				t.Errorf("label %q", m.Label())
			}
			for name, want := range files {
				if got, err := m.ReadFile(name); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			if strings.Contains(name, "many") {
				if names, err := m.Files("many"); err != nil || len(names) != 300 {
					t.Errorf("%d of 300 files, %v", len(names), err)
				}
			}
		})
	}
}

// manyFiles is a folder whose records fill several blocks.
func manyFiles(t *testing.T) string {
	dir := t.TempDir()
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-number-%d", i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
