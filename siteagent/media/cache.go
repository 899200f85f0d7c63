package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ferrule/durable"
	"ferrule/metal"
	"ferrule/siteagent/refusal"
)

// cache keeps images that were fetched, by their address. A copy is asked
// about again before each use (If-None-Match, If-Modified-Since), and used as
// it is when its server cannot be reached.
type cache struct {
	dir      string
	roots    []string // folders that file:// addresses may name
	client   *http.Client
	maxImage int64
	maxTotal int64
	log      *slog.Logger

	mu    sync.Mutex
	locks map[string]*sync.Mutex // by key: one download of an image at a time
	whole map[string]bool        // by path: images whose content this process has checked
}

// about is what is kept beside an image.
type about struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	SHA256       string `json:"sha256"` // of the image
}

// fetch is the path of a local copy of the image at address. The file must not
// be changed; it stays until other images need its place.
func (c *cache) fetch(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", refusal.New(metal.CodeInvalidArgs, "an image's address is no URL")
	}
	switch u.Scheme {
	case "file":
		return c.local(u)
	case "http", "https":
		return c.remote(ctx, address, u)
	default:
		return "", refusal.New(metal.CodeInvalidArgs, "the image %s cannot be fetched: give an http, https or file URL", shown(u))
	}
}

// local is a file in one of the folders that the site's operator opened.
func (c *cache) local(u *url.URL) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(u.Path))
	if err != nil || (u.Host != "" && u.Host != "localhost") {
		return "", refusal.New(metal.CodeInvalidArgs, "the image file %s is not on this agent", u.Path)
	}
	for _, root := range c.roots {
		if rootReal, err := filepath.EvalSymlinks(root); err == nil && within(rootReal, real) {
			return real, nil
		}
	}
	return "", refusal.New(metal.CodeInvalidArgs, "the image file %s is in no folder that this agent may serve from; they are %q", u.Path, c.roots)
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

func (c *cache) remote(ctx context.Context, address string, u *url.URL) (string, error) {
	sum := sha256.Sum256([]byte(address))
	key := hex.EncodeToString(sum[:])
	lock := c.lock(key)
	lock.Lock()
	defer lock.Unlock()
	path := filepath.Join(c.dir, key)
	err := c.refresh(ctx, address, u, path)
	if err != nil {
		return "", err
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		return "", fmt.Errorf("mark image as used: %w", err)
	}
	return path, c.prune(key)
}

func (c *cache) lock(key string) *sync.Mutex {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.locks[key] == nil {
		c.locks[key] = &sync.Mutex{}
	}
	return c.locks[key]
}

// refresh makes path hold what the server has now.
func (c *cache) refresh(ctx context.Context, address string, u *url.URL, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return refusal.New(metal.CodeInvalidArgs, "the image %s makes no request", shown(u))
	}
	known, have := c.known(path)
	if have {
		setHeader(req, "If-None-Match", known.ETag)
		setHeader(req, "If-Modified-Since", known.LastModified)
	}
	resp, err := c.client.Do(req)
	if code := refusal.CodeOf(err, ""); code != "" { // no copy in the cache stands for an address that is not allowed
		return refusal.New(code, "the image %s cannot be fetched: %s", shown(u), withoutURL(err))
	}
	if err != nil {
		return c.stale(ctx, have, u, withoutURL(err).Error())
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && have:
		return nil
	case resp.StatusCode >= 500:
		return c.stale(ctx, have, u, resp.Status)
	case resp.StatusCode != http.StatusOK:
		return refusal.New(metal.CodeInvalidArgs, "the image %s cannot be fetched: its server says %s", shown(u), resp.Status)
	}
	return c.store(resp, u, path)
}

func setHeader(req *http.Request, name, value string) {
	if value != "" {
		req.Header.Set(name, value)
	}
}

// stale decides what an image server that does not answer means.
func (c *cache) stale(ctx context.Context, have bool, u *url.URL, cause string) error {
	if !have || ctx.Err() != nil {
		return refusal.New(metal.CodeUnreachable, "the image %s cannot be fetched: %s", shown(u), cause)
	}
	c.log.WarnContext(ctx, "image server does not answer; using the copy in the cache", "image", shown(u), "cause", cause)
	return nil
}

// known tells of the copy at path, if it is whole: one that was damaged on the
// disk is fetched again.
func (c *cache) known(path string) (about, bool) {
	var a about
	data, err := os.ReadFile(path + aboutSuffix)
	if err != nil || json.Unmarshal(data, &a) != nil || !c.isWhole(path, a.SHA256) {
		return about{}, false
	}
	return a, true
}

// isWhole compares an image with its checksum, once in a process.
func (c *cache) isWhole(path, sum string) bool {
	c.mu.Lock()
	checked := c.whole[path]
	c.mu.Unlock()
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	if checked {
		return true
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil || hex.EncodeToString(hash.Sum(nil)) != sum {
		return false
	}
	c.markWhole(path)
	return true
}

func (c *cache) markWhole(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole[path] = true
}

const aboutSuffix = ".about"

// halfPrefix begins the name of an image that is being fetched.
const halfPrefix = "fetch-"

// removeHalves removes the fetches that a crash cut short.
func (c *cache) removeHalves() error {
	halves, err := filepath.Glob(filepath.Join(c.dir, halfPrefix+"*"))
	for _, path := range halves {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("clear image cache: %w", err)
	}
	return nil
}

// store writes the answer's body to path, whole or not at all.
func (c *cache) store(resp *http.Response, u *url.URL, path string) error {
	if resp.ContentLength > c.maxImage {
		return c.tooLarge(u)
	}
	file, err := os.CreateTemp(c.dir, halfPrefix)
	if err != nil {
		return fmt.Errorf("make file for image: %w", err)
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(resp.Body, c.maxImage+1))
	switch {
	case err != nil:
		err = refusal.New(metal.CodeUnreachable, "the image %s broke off after %d bytes: %s", shown(u), n, withoutURL(err))
	case n > c.maxImage:
		err = c.tooLarge(u)
	default:
		// The image is world-readable inside its private folder: it appears
		// with this mode in boot media.
		err = file.Chmod(0o644)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	// Forget what is known before the new image takes the place of the old.
	if err := durable.Remove(path + aboutSuffix); err != nil {
		return fmt.Errorf("replace image: %w", err)
	}
	if err := durable.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("keep image: %w", err)
	}
	c.markWhole(path)
	return c.note(resp, path, hex.EncodeToString(hash.Sum(nil)))
}

func (c *cache) tooLarge(u *url.URL) error {
	return refusal.New(metal.CodeInvalidArgs, "the image %s is larger than the %d bytes that this agent fetches", shown(u), c.maxImage)
}

func (c *cache) note(resp *http.Response, path, sum string) error {
	a := about{ETag: resp.Header.Get("ETag"), LastModified: resp.Header.Get("Last-Modified"), SHA256: sum}
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("describe image: %w", err)
	}
	if err := durable.Write(path+aboutSuffix, data); err != nil {
		return fmt.Errorf("describe image: %w", err)
	}
	return nil
}

// pruneAfter keeps the images of media that are just being made.
const pruneAfter = time.Hour

// prune removes the images used longest ago until the cache has its size; the
// one named stays. Media made of an image keep their own link to its data.
func (c *cache) prune(keep string) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("read image cache: %w", err)
	}
	var total int64
	var oldest []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasSuffix(e.Name(), aboutSuffix) || strings.HasPrefix(e.Name(), halfPrefix) {
			continue
		}
		total += info.Size()
		if e.Name() != keep && time.Since(info.ModTime()) > pruneAfter {
			oldest = append(oldest, info)
		}
	}
	sortByAge(oldest)
	for _, info := range oldest {
		if total <= c.maxTotal {
			break
		}
		path := filepath.Join(c.dir, info.Name())
		if err := errors.Join(os.Remove(path), os.Remove(path+aboutSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prune image cache: %w", err)
		}
		total -= info.Size()
	}
	return nil
}

// shown is an address without what may be secret in it: user, password, query.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// withoutURL drops the wrapper in which net/http quotes the address: it may
// hold a password.
func withoutURL(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}
