package iso

import (
	"errors"
	"fmt"
	"strings"
)

// The places where a boot loader looks for its configuration.
const (
	grubConfig     = "boot/grub/grub.cfg"
	isolinuxConfig = "isolinux/isolinux.cfg"
)

// KernelLine is what the boot loader on the medium passes to the kernel. A
// machine that boots by UEFI reads GRUB's configuration, one that boots by
// BIOS isolinux's; where only the other is there, it is taken.
func (m *Medium) KernelLine(uefi bool) (string, error) {
	for _, name := range []string{"vmlinuz", "initrd"} {
		if m.Size(name) == 0 {
			return "", fmt.Errorf("the medium has no /%s, or an empty one", name)
		}
	}
	loaders := []func() (string, error){m.grubLine, m.isolinuxLine}
	if !uefi {
		loaders[0], loaders[1] = loaders[1], loaders[0]
	}
	line, first := loaders[0]()
	if first == nil {
		return line, nil
	}
	line, second := loaders[1]()
	if second == nil {
		return line, nil
	}
	return "", errors.Join(first, second)
}

// grubLine is the text after the kernel's path on the first linux line.
func (m *Medium) grubLine() (string, error) {
	content, err := m.ReadFile(grubConfig)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "linux", "linuxefi", "linux16":
			if words[1] != "/vmlinuz" {
				return "", fmt.Errorf("%s names the kernel %q, which is not on the medium", grubConfig, words[1])
			}
			return strings.Join(words[2:], " "), nil
		}
	}
	return "", fmt.Errorf("%s has no linux line", grubConfig)
}

// isolinuxLine is the first append line without its initrd.
func (m *Medium) isolinuxLine() (string, error) {
	content, err := m.ReadFile(isolinuxConfig)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.EqualFold(words[0], "append") {
			continue
		}
		var kept []string
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "initrd=") {
				kept = append(kept, w)
			}
		}
		return strings.Join(kept, " "), nil
	}
	return "", fmt.Errorf("%s has no append line", isolinuxConfig)
}
