package link_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrule/link/client"
	"ferrule/trust"
)

func TestAgentJoinsOnceAndIsKnownAfterwards(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	dir := filepath.Join(t.TempDir(), "agent")
	code := p.code("edge")
	id, err := client.Enroll(t.Context(), code.Encode(), dir, hello())
	check(t, err)
	if id.Site() != "edge" || id.Address() != p.address {
		t.Errorf("joined site %q at %q", id.Site(), id.Address())
	}
	loaded, err := client.Load(dir)
	check(t, err)
	if loaded.AgentID() != id.AgentID() {
		t.Errorf("loaded agent %q, want %q", loaded.AgentID(), id.AgentID())
	}
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		check(t, err)
		info, err := d.Info()
		check(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: others may read it", path, info.Mode())
		}
		return nil
	}))
	if _, err := client.Enroll(t.Context(), code.Encode(), dir, hello()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("joining again in the same folder: %v", err)
	}
	_, err = client.Enroll(t.Context(), code.Encode(), t.TempDir(), hello())
	var rejected *client.Rejected
	if !errors.As(err, &rejected) || rejected.Code != trust.RefusedJoinCode {
		t.Errorf("a used code gave %v", err)
	}
}

func TestLoadWithoutIdentity(t *testing.T) {
	t.Parallel()
	if _, err := client.Load(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestEnrolmentWhoseAnswerWasLostCanBeRepeated(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	dir, code := t.TempDir(), p.code("")
	first, err := client.Enroll(t.Context(), code.Encode(), dir, hello())
	check(t, err)
	// What a lost answer leaves behind: the key, and no identity.
	text, err := os.ReadFile(filepath.Join(dir, "identity.json"))
	check(t, err)
	key := keyIn(t, text)
	check(t, os.WriteFile(filepath.Join(dir, "joining.key"), key, 0o600))
	check(t, os.Remove(filepath.Join(dir, "identity.json")))
	again, err := client.Enroll(t.Context(), code.Encode(), dir, hello())
	check(t, err)
	if again.AgentID() != first.AgentID() {
		t.Errorf("repeating made another agent: %q, was %q", again.AgentID(), first.AgentID())
	}
}

func TestJoinCodesThatDoNotWork(t *testing.T) {
	t.Parallel()
	p, other := newPlane(t), newPlane(t)
	unknown, err := p.ca.NewJoinCode(p.address, time.Hour)
	check(t, err)
	expired, err := p.ca.NewJoinCode(p.address, -time.Minute)
	check(t, err)
	elsewhere, err := other.ca.NewJoinCode(p.address, time.Hour) // the wrong CA answers
	check(t, err)
	for name, c := range map[string]struct{ code, want string }{
		"unknown":   {unknown.Encode(), "make a new one"},
		"expired":   {expired.Encode(), "expired"},
		"other CA":  {elsewhere.Encode(), "another fingerprint"},
		"malformed": {"nonsense!", "cannot be read"},
	} {
		_, err := client.Enroll(t.Context(), c.code, t.TempDir(), hello())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s code: got %v, want mention of %q", name, err, c.want)
		}
	}
}

func TestRetiredKeyDoesNotJoinAgain(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	dir, code := t.TempDir(), p.code("")
	id, err := client.Enroll(t.Context(), code.Encode(), dir, hello())
	check(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "identity.json"))
	check(t, err)
	p.update(func() { p.agents[id.AgentID()].Keys = []string{"a newer one"} })
	stolen := t.TempDir()
	check(t, os.WriteFile(filepath.Join(stolen, "joining.key"), keyIn(t, text), 0o600))
	if _, err := client.Enroll(t.Context(), code.Encode(), stolen, hello()); refusalCode(err) != trust.RefusedJoinCode {
		t.Errorf("an old key with its old code: %v", err)
	}
}
