package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ferrule/lab/image"
)

// The defaults of a RunConfig, and the names of what Run serves and writes.
const (
	DefaultControl  = "127.0.0.1:6399"
	DefaultImages   = "127.0.0.1:6398"
	CredentialsFile = "credentials.json"
	RawImage        = "image.raw"
	Qcow2Image      = "image.qcow2"
)

// RunConfig is a lab as a process of its own.
type RunConfig struct {
	Config
	Control string // address of the control API; "": DefaultControl
	Images  string // address of the image server; "": DefaultImages
	// ImageSeed chooses the content of the images served.
	ImageSeed uint64
}

// Credential is one server's entry in the credentials file.
type Credential struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// Ready is the last of the lines that Run prints at its start.
type Ready struct {
	Ready           bool          `json:"ready"`
	Control         string        `json:"control"`
	CredentialsFile string        `json:"credentialsFile"`
	Kernel          string        `json:"kernel"`
	Ramdisk         string        `json:"ramdisk"`
	Images          []ServedImage `json:"images"`
}

// ServedImage is one disk image that the lab serves.
type ServedImage struct {
	URL        string `json:"url"`
	DiskFormat string `json:"diskFormat"`
	SHA256     string `json:"sha256"`    // of the file
	RawSHA256  string `json:"rawSha256"` // of what ends up on the disk
}

// Run emulates servers until ctx ends. It prints one line of JSON a server (an
// Identity), then one that says that all are there (Ready). Passwords stand
// only in a file that nobody else may read, which is removed at the end.
func Run(ctx context.Context, cfg RunConfig, out io.Writer) error {
	if cfg.Control == "" {
		cfg.Control = DefaultControl
	}
	if cfg.Images == "" {
		cfg.Images = DefaultImages
	}
	l, err := New(cfg.Config)
	if err != nil {
		return err
	}
	defer l.Close()
	images, err := image.Serve(cfg.Images)
	if err != nil {
		return err
	}
	defer images.Close()
	ready := Ready{Ready: true, Kernel: images.URL("kernel"), Ramdisk: images.URL("ramdisk")}
	if ready.Images, err = addImages(images, cfg.ImageSeed); err != nil {
		return err
	}
	if ready.CredentialsFile, err = l.writeCredentials(cfg.Dir); err != nil {
		return err
	}
	defer os.Remove(ready.CredentialsFile)
	control, err := l.serveControl(cfg.Control)
	if err != nil {
		return err
	}
	defer control.close()
	ready.Control = control.address
	if err := l.announce(out, ready); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func addImages(s *image.Server, seed uint64) ([]ServedImage, error) {
	raw, err := image.GPT(seed)
	if err != nil {
		return nil, err
	}
	var served []ServedImage
	for _, i := range []struct {
		name, format string
		content      []byte
	}{{RawImage, "raw", raw}, {Qcow2Image, "qcow2", image.Qcow2(raw)}} {
		served = append(served, ServedImage{
			URL: s.Add(i.name, i.content), DiskFormat: i.format,
			SHA256: image.SHA256(i.content), RawSHA256: image.SHA256(raw),
		})
	}
	return served, nil
}

func (l *Lab) announce(out io.Writer, ready Ready) error {
	lines := json.NewEncoder(out)
	for _, s := range l.servers {
		if err := lines.Encode(s.Identity()); err != nil {
			return fmt.Errorf("announcing the servers: %w", err)
		}
	}
	if err := lines.Encode(ready); err != nil {
		return fmt.Errorf("announcing the servers: %w", err)
	}
	return nil
}

// writeCredentials puts every server's credential, by its name, into a file.
func (l *Lab) writeCredentials(dir string) (string, error) {
	all := make(map[string]Credential, len(l.servers))
	for _, s := range l.servers {
		username, password := s.Credentials()
		all[s.Name] = Credential{username, password}
	}
	content, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing the credentials file: %w", err)
	}
	name := filepath.Join(dir, CredentialsFile)
	if err := os.WriteFile(name, append(content, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("writing the credentials file: %w", err)
	}
	// A file that was there keeps its mode.
	if err := os.Chmod(name, 0o600); err != nil {
		return "", fmt.Errorf("writing the credentials file: %w", err)
	}
	return name, nil
}
