// Package media makes the virtual media of a site's machines and serves them:
// each medium under an address that nobody can guess, which ends when the
// medium is retracted or its time is over. It must not import drivers or
// anything of the control plane.
package media

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ferrule/durable"
	"ferrule/metal"
	"ferrule/siteagent/iso"
	"ferrule/siteagent/refusal"
)

// Options say where media live. Zero values have the defaults noted.
type Options struct {
	Dir       string            // a private folder for everything
	ImageDirs []string          // folders that file:// image addresses may name; none by default
	GrantTime time.Duration     // how long a medium is served at most; 0: 24 hours
	MaxImage  int64             // largest image to fetch; 0: 16 GiB
	MaxCache  int64             // size of the image cache; 0: 20 GiB
	Images    http.RoundTripper // fetches images from where the agent may connect to; nil: from anywhere
	Now       func() time.Time
	Log       *slog.Logger
}

// PathPrefix begins the path of every medium's address.
const PathPrefix = "/media/"

// Shelf is the media that an agent serves. They survive a restart.
type Shelf struct {
	dir   string
	time  time.Duration
	now   func() time.Time
	log   *slog.Logger
	cache *cache

	mu     sync.Mutex
	grants map[string]grant // by the medium's name
}

// grant is the right of whoever knows its key to read one medium.
type grant struct {
	Name      string    `json:"name"`
	Key       string    `json:"key"`
	File      string    `json:"file"` // in the media folder
	ExpiresAt time.Time `json:"expiresAt"`
}

// Open takes up the media in o.Dir and removes what a crash has left.
func Open(o Options) (*Shelf, error) {
	o = withDefaults(o)
	s := &Shelf{
		dir: o.Dir, time: o.GrantTime, now: o.Now, log: o.Log, grants: map[string]grant{},
		cache: &cache{
			dir: filepath.Join(o.Dir, "images"), roots: o.ImageDirs, client: &http.Client{Transport: o.Images},
			maxImage: o.MaxImage, maxTotal: o.MaxCache, log: o.Log, locks: map[string]*sync.Mutex{},
			whole: map[string]bool{},
		},
	}
	if err := os.RemoveAll(s.workDir()); err != nil {
		return nil, fmt.Errorf("clear media work folder: %w", err)
	}
	for _, dir := range []string{s.dir, s.workDir(), s.mediaDir(), s.cache.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make media folder: %w", err)
		}
	}
	for _, dir := range []string{s.dir, s.cache.dir} {
		if err := durable.RemoveLeftovers(dir); err != nil {
			return nil, fmt.Errorf("clear media folder: %w", err)
		}
	}
	if err := s.cache.removeHalves(); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	return s, s.Sweep()
}

func withDefaults(o Options) Options {
	o.GrantTime = cmp.Or(o.GrantTime, 24*time.Hour)
	o.MaxImage = cmp.Or(o.MaxImage, 16<<30)
	o.MaxCache = cmp.Or(o.MaxCache, 20<<30)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

func (s *Shelf) workDir() string    { return filepath.Join(s.dir, "work") }
func (s *Shelf) mediaDir() string   { return filepath.Join(s.dir, "published") }
func (s *Shelf) grantsFile() string { return filepath.Join(s.dir, "grants.json") }

func (s *Shelf) load() error {
	data, err := os.ReadFile(s.grantsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read media grants: %w", err)
	}
	var list []grant
	if err := json.Unmarshal(data, &list); err != nil {
		// Each medium can be made again; its node asks for it at the next boot.
		s.log.Warn("the list of published media is damaged, so all media are withdrawn", "file", s.grantsFile(), "error", err)
		_, err := durable.SetAside(s.grantsFile())
		return err
	}
	for _, g := range list {
		if g.Name != "" && g.Key != "" && filepath.IsLocal(g.File) {
			s.grants[g.Name] = g
		}
	}
	return nil
}

// save writes the grants down; the caller holds mu.
func (s *Shelf) save() error {
	list := make([]grant, 0, len(s.grants))
	for _, g := range s.grants {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b grant) int { return cmp.Compare(a.Name, b.Name) })
	data, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("write media grants: %w", err)
	}
	if err := durable.Write(s.grantsFile(), data); err != nil {
		return fmt.Errorf("write media grants: %w", err)
	}
	return nil
}

// Sweep ends grants whose time is over and removes files without a grant.
func (s *Shelf) Sweep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := map[string]bool{}
	for name, g := range s.grants {
		if s.now().Before(g.ExpiresAt) {
			live[g.File] = true
		} else {
			delete(s.grants, name)
		}
	}
	entries, err := os.ReadDir(s.mediaDir())
	if err != nil {
		return fmt.Errorf("read media folder: %w", err)
	}
	for _, e := range entries {
		if live[e.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(s.mediaDir(), e.Name())); err != nil {
			return fmt.Errorf("remove medium that nobody may read: %w", err)
		}
	}
	return s.save()
}

// Publish makes the medium that args describe and serves it at the address it
// returns, under base. A medium of the same name that was there before is
// replaced, and its address ends. token is put on the kernel's command line.
func (s *Shelf) Publish(ctx context.Context, args metal.PublishMediaArgs, token, base string) (string, error) {
	if err := checkName(args.Name); err != nil {
		return "", err
	}
	made, err := s.make(ctx, args, token, base)
	if err != nil {
		return "", err
	}
	g := grant{Name: args.Name, Key: rand.Text() + rand.Text(), File: filepath.Base(made), ExpiresAt: s.now().Add(s.time)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := durable.Rename(made, filepath.Join(s.mediaDir(), g.File)); err != nil {
		return "", fmt.Errorf("publish medium: %w", err)
	}
	before, replaced := s.grants[g.Name]
	s.grants[g.Name] = g
	if err := s.save(); err != nil {
		return "", err
	}
	if replaced {
		s.remove(ctx, before)
	}
	return base + PathPrefix + g.Key + "/" + url.PathEscape(g.Name), nil
}

func checkName(name string) error {
	if name == "" || len(name) > 200 || name == "." || name == ".." || iso.CheckPath(name) != nil || filepath.Base(name) != name {
		return refusal.New(metal.CodeInvalidArgs, "a medium's name must be a plain file name, %q is none", name)
	}
	return nil
}

// make makes the medium in the work folder and tells its path.
func (s *Shelf) make(ctx context.Context, args metal.PublishMediaArgs, token, base string) (string, error) {
	file, err := os.OpenFile(filepath.Join(s.workDir(), rand.Text()+".iso"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("make medium: %w", err)
	}
	if args.ISOURL != "" {
		err = s.copyImage(ctx, file, args)
	} else {
		err = s.build(ctx, file, args, token, base)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// copyImage serves a pre-built image as it is.
func (s *Shelf) copyImage(ctx context.Context, to *os.File, args metal.PublishMediaArgs) error {
	if args.KernelURL != "" || args.RamdiskURL != "" {
		return refusal.New(metal.CodeInvalidArgs, "a medium is either a pre-built ISO or made from kernel and ramdisk, not both")
	}
	path, err := s.cache.fetch(ctx, args.ISOURL)
	if err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open image: %w", err)
	}
	defer from.Close()
	if _, err := to.ReadFrom(from); err != nil {
		return fmt.Errorf("copy image: %w", err)
	}
	return nil
}

// Retract ends a medium and removes it; one that is not there is no error.
func (s *Shelf) Retract(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.grants[name]
	if !ok {
		return nil
	}
	delete(s.grants, name)
	if err := s.save(); err != nil {
		return err
	}
	s.remove(ctx, g)
	return nil
}

// remove deletes a medium's file. A reader that has it open reads on.
func (s *Shelf) remove(ctx context.Context, g grant) {
	if err := os.Remove(filepath.Join(s.mediaDir(), g.File)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.ErrorContext(ctx, "medium could not be removed; the next start will try again", "medium", g.Name, "error", err)
	}
}

// decodeFiles is the files to add to a medium.
func decodeFiles(given map[string]string) ([]iso.File, error) {
	files := make([]iso.File, 0, len(given))
	for path, encoded := range given {
		content, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, refusal.New(metal.CodeInvalidArgs, "the file %q for a medium is not in base64", path)
		}
		files = append(files, iso.File{Path: path, Content: content})
	}
	return files, nil
}

func sortByAge(files []fs.FileInfo) {
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
}
