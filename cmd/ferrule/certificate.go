package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"ferrule/config"
)

// certificate is a certificate and its key in two files, read again when one of
// them has changed. A pair that cannot be used does not replace the one in use.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	looked time.Time
	stamps [2]stamp
	pair   *tls.Certificate
}

// stamp tells one state of a file from another.
type stamp struct {
	changed time.Time
	size    int64
}

// looksEvery bounds how often the files are looked at.
const looksEvery = time.Second

// apiCertificate is that of [api] enable_ssl_api; nil where the API is served in
// clear.
func apiCertificate(cfg *config.Config, log *slog.Logger) (*certificate, error) {
	a := cfg.API
	if !a.EnableSSLAPI {
		return nil, nil
	}
	if a.CertFile == "" || a.KeyFile == "" {
		return nil, errors.New("[api] enable_ssl_api needs a certificate: name the PEM files in [api] cert_file and [api] key_file, " +
			"or set enable_ssl_api to false and serve TLS in front of the API")
	}
	c := &certificate{certFile: a.CertFile, keyFile: a.KeyFile, log: log}
	var err error
	if c.stamps, err = c.look(); err == nil {
		err = c.read()
	}
	if err != nil {
		return nil, fmt.Errorf("[api] cert_file %s and key_file %s cannot be used: %w; give a PEM certificate, with those between it and "+
			"its root behind it, and the PEM key that belongs to it, both readable by this user", a.CertFile, a.KeyFile, err)
	}
	return c, nil
}

func (c *certificate) look() (stamps [2]stamp, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return stamps, err
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

func (c *certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err == nil {
		c.pair = &pair
	}
	return err
}

// get is for tls.Config.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < looksEvery {
		return c.pair, nil
	}
	c.looked = time.Now()
	stamps, err := c.look()
	if err == nil && stamps == c.stamps {
		return c.pair, nil
	}
	if err == nil {
		c.stamps, err = stamps, c.read()
	}
	if err != nil {
		c.log.Warn("the API's certificate has changed and cannot be used; the one before stays", "cert_file", c.certFile, "key_file", c.keyFile, "error", err)
		return c.pair, nil
	}
	c.log.Info("the API's certificate was read again", "cert_file", c.certFile)
	return c.pair, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}
