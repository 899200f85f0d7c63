package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrule/lab"
)

// otherImage is an image of the user's: one behind a URL is read once for its
// checksum; a file is served from here.
func (p *demoProcesses) otherImage(ctx context.Context, at string) (lab.ServedImage, error) {
	if strings.HasPrefix(at, "http://") || strings.HasPrefix(at, "https://") {
		return describeURL(ctx, at)
	}
	f, err := os.Open(at)
	if err != nil {
		return lab.ServedImage{}, err
	}
	defer f.Close()
	img, err := describe(f)
	if err != nil {
		return img, fmt.Errorf("read the image %s: %w", at, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return img, err
	}
	path := "/" + filepath.Base(at)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, at)
	})}
	go func() { _ = server.Serve(listener) }()
	p.closers = append(p.closers, server.Close)
	img.URL = "http://" + listener.Addr().String() + path
	return img, nil
}

func describeURL(ctx context.Context, url string) (lab.ServedImage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return lab.ServedImage{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return lab.ServedImage{}, fmt.Errorf("read the image: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return lab.ServedImage{}, fmt.Errorf("read the image %s: %s", url, resp.Status)
	}
	img, err := describe(resp.Body)
	img.URL = url
	return img, err
}

// describe finds format and checksum; qcow2 begins with its magic.
func describe(r io.Reader) (lab.ServedImage, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return lab.ServedImage{}, err
	}
	img := lab.ServedImage{DiskFormat: "raw"}
	if bytes.Equal(head, []byte("QFI\xfb")) {
		img.DiskFormat = "qcow2"
	}
	sum := sha256.New()
	sum.Write(head)
	if _, err := io.Copy(sum, r); err != nil {
		return img, err
	}
	img.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return img, nil
}
