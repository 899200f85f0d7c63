package ramdisk

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5" //nolint:gosec // an algorithm that clients may still name
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
)

// maxConfigDrive is the size of the partition that it goes to.
const maxConfigDrive = 64 << 20

// writeImage puts the image and the config drive on the disk and returns the
// text that the command answers with.
func (a *agent) writeImage(ctx context.Context, info params, configDrive string) (string, error) {
	if configDrive == "" {
		configDrive = info.text("configdrive")
	}
	if node := info.text("node_uuid"); node != "" && node != a.nodeUUID {
		return "", fmt.Errorf("the image is for node %s, this ramdisk serves node %s", node, a.nodeUUID)
	}
	if info.text("image_type") == "partition" {
		return "", errors.New("partition images are not supported by this machine")
	}
	if err := a.refresh(ctx); err != nil {
		return "", err
	}
	source, err := imageURL(info)
	if err != nil {
		return "", err
	}
	sum, err := a.imageSum(ctx, info, source)
	if err != nil {
		return "", err
	}
	raw, streamed := info.text("disk_format") == "raw", true
	if v, ok := info["stream_raw_images"].(bool); ok {
		streamed = v
	}
	if raw && streamed {
		err = a.streamImage(ctx, source, sum)
	} else {
		err = a.convertImage(ctx, source, sum, raw)
	}
	if err != nil {
		return "", fmt.Errorf("image %s: %w", info.text("id"), err)
	}
	a.wrote = true
	a.Disk.Belongs(a.nodeUUID)
	if err := a.finishDisk(ctx, configDrive); err != nil {
		return "", err
	}
	return fmt.Sprintf("image (%s) written to device %s root_uuid=%s", info.text("id"), a.Hardware.DiskName, a.Disk.Identity()), nil
}

func (a *agent) finishDisk(ctx context.Context, configDrive string) error {
	if configDrive == "" {
		return a.Disk.FixBackup()
	}
	volume, err := a.unpackConfigDrive(ctx, configDrive)
	if err != nil {
		return fmt.Errorf("config drive: %w", err)
	}
	return a.Disk.WriteConfigDrive(volume)
}

func imageURL(info params) (string, error) {
	urls, _ := info["urls"].([]any)
	if len(urls) == 0 {
		return "", errors.New("image_info has no urls")
	}
	source, _ := urls[0].(string)
	u, err := url.Parse(source)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return "", errors.New("image_info.urls[0] is no http or https URL")
	}
	return source, nil
}

// checksum is what the image must hash to.
type checksum struct {
	algorithm string
	value     string
}

func (c checksum) hash() (hash.Hash, error) {
	switch c.algorithm {
	case "md5":
		return md5.New(), nil //nolint:gosec // as asked for
	case "sha256":
		return sha256.New(), nil
	case "sha512":
		return sha512.New(), nil
	}
	return nil, fmt.Errorf("unknown checksum algorithm %q", c.algorithm)
}

func (c checksum) verify(h hash.Hash) error {
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, c.value) {
		return fmt.Errorf("the %s checksum is %s, expected %s", c.algorithm, got, c.value)
	}
	return nil
}

// imageSum takes os_hash_algo and os_hash_value, else checksum, whose
// algorithm follows from its length; a checksum that is a URL is fetched.
func (a *agent) imageSum(ctx context.Context, info params, source string) (checksum, error) {
	if algorithm := info.text("os_hash_algo"); algorithm != "" && info.text("os_hash_value") != "" {
		return checksum{algorithm, info.text("os_hash_value")}, nil
	}
	value := info.text("checksum")
	if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
		content, err := a.fetch(ctx, value, 1<<20)
		if err != nil {
			return checksum{}, fmt.Errorf("fetching the checksum: %w", err)
		}
		if value, err = sumFor(string(content), path.Base(source)); err != nil {
			return checksum{}, err
		}
	}
	switch len(value) {
	case 32:
		return checksum{"md5", value}, nil
	case 64:
		return checksum{"sha256", value}, nil
	case 128:
		return checksum{"sha512", value}, nil
	}
	return checksum{}, errors.New("image_info has no usable checksum")
}

// sumFor finds the sum of a file in a checksum file: one bare value, or lines
// in GNU or BSD style.
func sumFor(content, name string) (string, error) {
	words := strings.Fields(content)
	if len(words) == 1 {
		return words[0], nil
	}
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if _, after, ok := strings.Cut(line, "("+name+") = "); ok {
			return after, nil
		}
		if fields := strings.Fields(line); len(fields) == 2 && strings.TrimPrefix(fields[1], "*") == name {
			return fields[0], nil
		}
	}
	return "", fmt.Errorf("the checksum file does not name %s", name)
}

// streamImage writes a raw image while it arrives.
func (a *agent) streamImage(ctx context.Context, source string, sum checksum) error {
	h, err := sum.hash()
	if err != nil {
		return err
	}
	body, err := a.open(ctx, source)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := a.Disk.WriteRaw(ctx, io.TeeReader(body, h)); err != nil {
		return err
	}
	if err := sum.verify(h); err != nil {
		// What was written is not what was asked for: it must not boot.
		return errors.Join(err, a.Disk.Erase())
	}
	return nil
}

// convertImage downloads first: the format needs to be read at any place.
func (a *agent) convertImage(ctx context.Context, source string, sum checksum, raw bool) error {
	h, err := sum.hash()
	if err != nil {
		return err
	}
	body, err := a.open(ctx, source)
	if err != nil {
		return err
	}
	defer body.Close()
	tmp, err := os.CreateTemp(path.Dir(a.Disk.Path()), "image-")
	if err != nil {
		return fmt.Errorf("making room for the download: %w", err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := io.Copy(io.MultiWriter(tmp, h), body); err != nil {
		return fmt.Errorf("downloading: %w", err)
	}
	if err := sum.verify(h); err != nil {
		return err
	}
	return a.convertFile(ctx, tmp, raw)
}

func (a *agent) convertFile(ctx context.Context, f *os.File, raw bool) error {
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil {
		return fmt.Errorf("reading the download: %w", err)
	}
	var err error
	if !raw && string(magic) == "QFI\xfb" {
		_, err = a.Disk.WriteQcow2(ctx, f)
		return err
	}
	if _, err = f.Seek(0, io.SeekStart); err == nil {
		_, err = a.Disk.WriteRaw(ctx, f)
	}
	return err
}

// unpackConfigDrive takes the base64 of a gzipped volume, or a URL to that or
// to the volume itself.
func (a *agent) unpackConfigDrive(ctx context.Context, given string) ([]byte, error) {
	content := []byte(given)
	if strings.HasPrefix(given, "http://") || strings.HasPrefix(given, "https://") {
		fetched, err := a.fetch(ctx, given, 2*maxConfigDrive)
		if err != nil {
			return nil, err
		}
		content = fetched
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(content)), ""))
	if err != nil {
		if string(content) == given {
			return nil, errors.New("neither a URL nor base64")
		}
		return content, nil
	}
	zipped, err := gzip.NewReader(bytes.NewReader(decoded))
	if err != nil {
		return nil, errors.New("what the base64 holds is not gzip")
	}
	volume, err := io.ReadAll(io.LimitReader(zipped, maxConfigDrive+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	if len(volume) > maxConfigDrive {
		return nil, errors.New("larger than 64 MiB")
	}
	return volume, nil
}

// open starts a download.
func (a *agent) open(ctx context.Context, source string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, fmt.Errorf("downloading: %w", err)
	}
	resp, err := a.downloads().Do(req)
	if err != nil {
		return nil, fmt.Errorf("downloading: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("downloading: answered %d", resp.StatusCode)
	}
	return resp.Body, nil
}

// downloads shares the API client's trust, without a limit on the whole time.
func (a *agent) downloads() *http.Client { return &http.Client{Transport: a.api.http.Transport} }

func (a *agent) fetch(ctx context.Context, source string, limit int64) ([]byte, error) {
	body, err := a.open(ctx, source)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return nil, fmt.Errorf("downloading: %w", err)
	}
	return content, nil
}
