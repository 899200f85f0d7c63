package auth

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"
)

const basicChallenge = `Basic realm="Baremetal API"`

// maxRemembered bounds the memory of passwords that were found right: bcrypt is
// slow on purpose, and clients send the same password with every request.
const maxRemembered = 256

// basic checks Authorization: Basic against an htpasswd file, which is read
// anew for each request, so that a change counts at once.
type basic struct {
	file string
	key  [32]byte // of the digests below; never leaves the process

	guesses chan struct{}                           // places of computations under way
	compare func(hash string, password []byte) bool // bcrypt's; tests count its calls

	mu         sync.Mutex
	remembered map[[sha256.Size]byte]bool
}

func newBasic(file string) (*basic, error) {
	b := &basic{
		file: file, remembered: map[[sha256.Size]byte]bool{}, compare: bcryptMatches,
		guesses: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), // the other half is for requests of known users
	}
	if _, err := rand.Read(b.key[:]); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if err := checkUserFile(file); err != nil {
		return nil, err
	}
	return b, nil
}

// checkUserFile refuses a file with an entry that is not bcrypt, and one that lets
// nobody in. Lines that are no entries mean nothing, as to Ironic.
func checkUserFile(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read http_basic_auth_user_file: %w", err)
	}
	users, number := 0, 0
	for line := range strings.Lines(string(raw)) {
		number++
		user, hash, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found || strings.HasPrefix(user, "#") {
			continue
		}
		if _, err := bcrypt.Cost([]byte(goHash(hash))); !isBcrypt(hash) || err != nil {
			return fmt.Errorf("http_basic_auth_user_file %s, line %d: the password is not a bcrypt hash; make the line with htpasswd -nB NAME", file, number)
		}
		users++
	}
	if users == 0 {
		return fmt.Errorf("http_basic_auth_user_file %s lets nobody in: it has no line NAME:HASH; make one with htpasswd -nB NAME", file)
	}
	return nil
}

// goHash is a hash as Go's bcrypt knows it: the algorithm of $2y$ is that of $2b$.
func goHash(hash string) string {
	if rest, ok := strings.CutPrefix(hash, "$2y$"); ok {
		return "$2b$" + rest
	}
	return hash
}

func isBcrypt(hash string) bool {
	return strings.HasPrefix(hash, "$2y$") || strings.HasPrefix(hash, "$2a$") || strings.HasPrefix(hash, "$2b$")
}

func (b *basic) Authenticate(r *http.Request) (*Identity, error) {
	user, password, err := credentials(r.Header)
	if err != nil {
		return nil, err
	}
	hash, known, err := b.hashOf(user)
	if err != nil {
		return nil, err
	}
	right, err := b.matches(r.Context(), password, hash, known)
	if err != nil {
		return nil, err
	}
	if !right {
		return nil, unauthorized("Incorrect username or password")
	}
	who := claimed(r.Header)
	who.User, who.UserID = user, user
	return who, nil
}

func unauthorized(message string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Message: message, Challenge: basicChallenge}
}

func malformed(message string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Message: message}
}

// credentials reads the header by hand: a scheme other than Basic and a token
// that is no base64 are 400 here, where net/http says only "none".
func credentials(h http.Header) (user string, password []byte, err error) {
	value := strings.TrimSpace(h.Get("Authorization"))
	if len(h.Values("Authorization")) == 0 {
		return "", nil, unauthorized("Authorization required")
	}
	scheme, token, found := strings.Cut(value, " ")
	if !found {
		return "", nil, malformed("Could not parse Authorization header")
	}
	if !strings.EqualFold(scheme, "basic") {
		return "", nil, malformed(fmt.Sprintf("Unsupported authorization type %q", scheme))
	}
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(token))
	name, password, found := bytes.Cut(pair, []byte(":"))
	if err != nil || !found || !utf8.Valid(name) {
		return "", nil, malformed("Could not decode authorization token")
	}
	return string(name), password, nil
}

// hashOf is the user's entry in the file. For an unknown user it is somebody
// else's, always the same one for one name, so that how long the comparison takes
// does not tell who is known.
func (b *basic) hashOf(user string) (hash string, known bool, err error) {
	f, err := os.Open(b.file)
	if err != nil {
		return "", false, fmt.Errorf("open http_basic_auth_user_file: %w", err)
	}
	defer f.Close()
	var nearest []byte // the least digest of the name with an entry
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, entry, found := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		switch {
		case !found:
		case name == user && user != "" && !known:
			hash, known = entry, true
		case !known && isBcrypt(entry) && !strings.HasPrefix(name, "#"):
			if d := b.digest(user, entry); nearest == nil || bytes.Compare(d[:], nearest) < 0 {
				hash, nearest = entry, d[:]
			}
		}
	}
	if known && !isBcrypt(hash) {
		return "", false, errors.New("http_basic_auth_user_file: the password of a user is not a bcrypt hash")
	}
	return hash, known, lines.Err()
}

func (b *basic) digest(parts ...string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, b.key[:])
	for _, part := range parts {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return [sha256.Size]byte(mac.Sum(nil))
}

// matches compares a password with a hash. For an unknown user it takes as long
// and says no.
func (b *basic) matches(ctx context.Context, password []byte, hash string, known bool) (bool, error) {
	digest := b.digest(hash, string(password))
	if known && b.remembers(digest) {
		return true, nil // waits behind no guess
	}
	select {
	case b.guesses <- struct{}{}:
		defer func() { <-b.guesses }()
	case <-ctx.Done():
		return false, fmt.Errorf("wait for the check of a password: %w", ctx.Err())
	}
	if known && b.remembers(digest) {
		return true, nil // another request with this password was before
	}
	if right := b.compare(hash, password); !right || !known {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.remembered) >= maxRemembered {
		clear(b.remembered)
	}
	b.remembered[digest] = true
	return true, nil
}

func (b *basic) remembers(digest [sha256.Size]byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remembered[digest]
}

func bcryptMatches(hash string, password []byte) bool {
	return bcrypt.CompareHashAndPassword([]byte(goHash(hash)), password) == nil
}
