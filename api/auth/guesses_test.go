package auth

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/crypto/bcrypt"
)

// basicOf is an authenticator that knows the user "una" with the password "right"
// and another.
func basicOf(t *testing.T) *basic {
	t.Helper()
	file := filepath.Join(t.TempDir(), "htpasswd")
	var text string
	for user, password := range map[string]string{"una": "right", "duo": "other"} {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		text += user + ":" + string(hash) + "\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := newBasic(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func asUser(ctx context.Context, user, password string) *http.Request {
	r := (&http.Request{Header: http.Header{}}).WithContext(ctx)
	r.SetBasicAuth(user, password)
	return r
}

func TestEachGuessCostsOneComparison(t *testing.T) {
	b := basicOf(t)
	var hashes []string
	compare := b.compare
	b.compare = func(hash string, password []byte) bool {
		hashes = append(hashes, hash)
		return compare(hash, password)
	}
	for _, user := range []string{"una", "nobody", "", "nobody"} {
		for _, password := range []string{"wrong", "right", "other"} {
			before := len(hashes)
			_, err := b.Authenticate(asUser(t.Context(), user, password))
			if (err == nil) != (user == "una" && password == "right") {
				t.Errorf("%q %q: %v", user, password, err)
			}
			if len(hashes) != before+1 {
				t.Errorf("%q %q: %d comparisons", user, password, len(hashes)-before)
			}
		}
	}
	if hashes[3] != hashes[9] {
		t.Error("the time for an unknown user changes from one guess to the next")
	}
}

func TestGuessesAreBoundedAndHoldUpNoKnownLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := basicOf(t)
		if _, err := b.Authenticate(asUser(t.Context(), "una", "right")); err != nil {
			t.Fatal(err)
		}
		hang := make(chan struct{})
		var mu sync.Mutex
		atOnce := 0
		b.compare = func(string, []byte) bool {
			mu.Lock()
			atOnce++
			mu.Unlock()
			<-hang
			return false
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { _, _ = b.Authenticate(asUser(ctx, "nobody", "guess")) })
		}
		synctest.Wait()
		if atOnce != cap(b.guesses) {
			t.Errorf("%d comparisons at once in %d places", atOnce, cap(b.guesses))
		}
		if _, err := b.Authenticate(asUser(t.Context(), "una", "right")); err != nil {
			t.Errorf("a known login behind guesses: %v", err)
		}
		cancel() // those that wait have gone
		close(hang)
		all.Wait()
		if atOnce > 2*cap(b.guesses) {
			t.Errorf("%d comparisons for senders who had gone", atOnce)
		}
	})
}
