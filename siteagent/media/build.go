package media

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/siteagent/iso"
	"ferrule/siteagent/refusal"
)

// Paths in a boot medium.
const (
	kernelPath   = "vmlinuz"
	ramdiskPath  = "initrd"
	grubPath     = "boot/grub/grub.cfg"
	isolinuxPath = "isolinux/isolinux.cfg"
	efiPath      = "boot/grub/efiboot.img"
	networkPath  = "openstack/latest/network_data.json"
)

// The volume labels by which a ramdisk finds its medium.
const (
	bootLabel   = "VMEDIA_BOOT_ISO"
	configLabel = "config-2"
)

// maxCommandLine is what Linux takes on x86.
const maxCommandLine = 2048

// relayPlaceholder stands in kernel parameters for the agent's own address.
const relayPlaceholder = "{relay}"

// proofPlaceholder stands in kernel parameters for the proof that inspection data
// come from this ramdisk.
const proofPlaceholder = "{proof}"

// build makes a boot medium from kernel and ramdisk.
func (s *Shelf) build(ctx context.Context, to *os.File, args metal.PublishMediaArgs, token, base string) error {
	files, err := decodeFiles(args.Files)
	if err != nil {
		return err
	}
	options := iso.Options{Label: label(args), Publisher: publisher(args.KernelParams)}
	params, err := commandLine(args.KernelParams, options.Publisher, token, base)
	if err != nil {
		return err
	}
	images := []struct{ path, from string }{{kernelPath, args.KernelURL}, {ramdiskPath, args.RamdiskURL}}
	if args.BootloaderURL != "" {
		images = append(images, struct{ path, from string }{efiPath, args.BootloaderURL})
		options.EFIImage = efiPath
	}
	for _, image := range images {
		if image.from == "" {
			return refusal.New(metal.CodeInvalidArgs, "a boot medium needs the address of its /%s", image.path)
		}
		path, err := s.cache.fetch(ctx, image.from)
		if err != nil {
			return err
		}
		files = append(files, iso.File{Path: image.path, From: path})
	}
	files = append(files,
		iso.File{Path: grubPath, Content: grubConfig(params)},
		iso.File{Path: isolinuxPath, Content: isolinuxConfig(params)})
	if err := checkFiles(files); err != nil {
		return err
	}
	return iso.Write(ctx, to, s.workDir(), files, options)
}

func label(args metal.PublishMediaArgs) string {
	if args.Label != "" {
		return args.Label
	}
	if _, ok := args.Files[networkPath]; ok {
		return configLabel
	}
	return bootLabel
}

// publisher is the medium's id: a ramdisk told ir_pub_id takes only the medium
// whose publisher it is.
func publisher(params []string) string {
	for _, p := range params {
		if id, ok := strings.CutPrefix(p, "ir_pub_id="); ok {
			return id
		}
	}
	return rand.Text()
}

// commandLine is the words of the kernel's command line.
func commandLine(given []string, publisher, token, base string) ([]string, error) {
	var words []string
	places := strings.NewReplacer(relayPlaceholder, base, proofPlaceholder, metal.InspectionProof(token))
	for _, word := range given {
		words = append(words, places.Replace(word))
	}
	if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "ir_pub_id=") }) {
		words = append(words, "ir_pub_id="+publisher)
	}
	if token != "" {
		words = append(words, "ipa-agent-token="+token)
	}
	length := 0
	for _, word := range words {
		if !printable(word) {
			// The word is not quoted: it may be the token.
			return nil, refusal.New(metal.CodeInvalidArgs, "a kernel parameter is empty or has a control character")
		}
		length += len(word) + 1
	}
	if length > maxCommandLine {
		return nil, refusal.New(metal.CodeInvalidArgs, "the kernel's command line has %d characters, more than the %d it can have", length, maxCommandLine)
	}
	return words, nil
}

func printable(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' })
}

func grubConfig(params []string) []byte {
	quoted := make([]string, len(params))
	for i, p := range params {
		quoted[i] = grubWord(p)
	}
	return fmt.Appendf(nil, `set default=0
set timeout=1

menuentry "ramdisk" {
    linux /%s %s
    initrd /%s
}
`, kernelPath, strings.Join(quoted, " "), ramdiskPath)
}

// grubWord is a word as GRUB's shell reads it back. Words without anything
// special stay as they are, and so do values that are quoted already.
func grubWord(word string) string {
	if !strings.ContainsAny(word, "$\\'`;&|<>{}#") && (strings.Count(word, `"`)%2 == 0) && (strings.Contains(word, `"`) || !strings.ContainsAny(word, " \t")) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func isolinuxConfig(params []string) []byte {
	return fmt.Appendf(nil, `default ramdisk
timeout 10

label ramdisk
    kernel /%s
    append initrd=/%s %s
`, kernelPath, ramdiskPath, strings.Join(params, " "))
}

// checkFiles refuses files that would take another's place.
func checkFiles(files []iso.File) error {
	seen := map[string]bool{}
	for _, f := range files {
		if err := iso.CheckPath(f.Path); err != nil {
			return refusal.New(metal.CodeInvalidArgs, "a medium cannot hold a file so named: %s", err)
		}
		if seen[f.Path] {
			return refusal.New(metal.CodeInvalidArgs, "a medium cannot hold %q twice", f.Path)
		}
		seen[f.Path] = true
	}
	return nil
}
