package trust

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestSealedValueOpensUnderItsOwnRefOnly(t *testing.T) {
	t.Parallel()
	s, other := newSealer(t), newSealer(t)
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "plain")
		ref := rapid.String().Draw(t, "ref")
		sealed, err := s.Seal(ref, plain)
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) > 8 && bytes.Contains(sealed, plain) {
			t.Fatal("the plaintext stands in the sealed value")
		}
		if got, err := s.Open(ref, sealed); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("open: %v", err)
		}
		if _, err := s.Open(ref+"x", sealed); err == nil {
			t.Fatal("opened under another ref")
		}
		if _, err := other.Open(ref, sealed); err == nil {
			t.Fatal("opened with another deployment key")
		}
		at := rapid.IntRange(0, len(sealed)-1).Draw(t, "at")
		sealed[at] ^= 1
		if _, err := s.Open(ref, sealed); err == nil {
			t.Fatalf("opened with byte %d altered", at)
		}
	})
}

func FuzzOpenSealed(f *testing.F) {
	s := newSealer(f)
	sealed, err := s.Seal("ref", []byte("value"))
	check(f, err)
	f.Add(sealed)
	f.Add(sealed[:sealedMinimum-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := s.Open("ref", b); err == nil && !bytes.Equal(b, sealed) {
			t.Error("something that was never sealed opened")
		}
	})
}

func TestDeploymentKeyIsMadeOnceAndPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "deployment.key")
	sealers := make([]*Sealer, 8)
	var group sync.WaitGroup
	for i := range sealers {
		group.Go(func() {
			s, err := OpenSealer(path)
			if err != nil {
				t.Error(err)
				return
			}
			sealers[i] = s
		})
	}
	group.Wait()
	for _, s := range sealers {
		sealed, err := sealers[0].Seal("r", []byte("v"))
		check(t, err)
		if _, err := s.Open("r", sealed); err != nil {
			t.Errorf("processes that start together have different keys: %v", err)
		}
	}
	info, err := os.Stat(path)
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", info.Mode())
	}
	left, err := os.ReadDir(filepath.Dir(path))
	check(t, err)
	if len(left) != 1 {
		t.Errorf("the folder holds %v, want the key alone", left)
	}
}

func TestDeploymentKeyThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "deployment.key")
	check(t, os.WriteFile(open, make([]byte, DeploymentKeySize), 0o644)) // that it is too open is the point
	short := filepath.Join(t.TempDir(), "deployment.key")
	check(t, os.WriteFile(short, make([]byte, 8), 0o600))
	for _, path := range []string{open, short} {
		if _, err := OpenSealer(path); err == nil {
			t.Errorf("%s was accepted", path)
		}
	}
}
