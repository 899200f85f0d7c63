package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// maxTokens bounds the tokens that are remembered.
const maxTokens = 10_000

// digest is what a token is remembered by; the token itself is not kept.
type digest [sha256.Size]byte

// tokenCache remembers what Keystone said of tokens.
type tokenCache struct {
	key [32]byte // of the digests; never leaves the process

	mu      sync.Mutex
	entries map[digest]remembered
}

// remembered is a token's contents, nil for one that Keystone does not know.
type remembered struct {
	token *token
	until time.Time
}

func newTokenCache() *tokenCache {
	c := &tokenCache{entries: map[digest]remembered{}}
	_, _ = rand.Read(c.key[:]) // never fails
	return c
}

func (c *tokenCache) digest(token string, allowExpired bool) digest {
	mac := hmac.New(sha256.New, c.key[:])
	if allowExpired {
		mac.Write([]byte{1})
	} else {
		mac.Write([]byte{0})
	}
	mac.Write([]byte(token))
	return digest(mac.Sum(nil))
}

func (c *tokenCache) get(d digest, now time.Time) (*token, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[d]
	if !ok || !now.Before(entry.until) {
		return nil, false
	}
	return entry.token, true
}

// put remembers an answer. Where there is no room, what is over goes, and then
// anything.
func (c *tokenCache) put(d digest, t *token, until, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxTokens {
		for key, entry := range c.entries {
			if !now.Before(entry.until) {
				delete(c.entries, key)
			}
		}
	}
	for key := range c.entries {
		if len(c.entries) < maxTokens {
			break
		}
		delete(c.entries, key)
	}
	c.entries[d] = remembered{t, until}
}
