package media

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// damages are the ways in which a file comes back from a crash or a bad disk.
var damages = []struct {
	name string
	do   func(path string) error
}{
	{"emptied", func(path string) error { return os.Truncate(path, 0) }},
	{"truncated", func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}},
	{"garbled", func(path string) error { return os.WriteFile(path, randomBytes(300), 0o600) }},
	{"missing", os.Remove},
}

// What a shelf keeps can be made again, so no damage to it stops a start.
func TestADamagedListOfMediaWithdrawsThem(t *testing.T) {
	for _, damage := range damages {
		t.Run(damage.name, func(t *testing.T) {
			s := newSite(t)
			old := s.publish(s.args(), "")
			if err := damage.do(filepath.Join(s.dir, "grants.json")); err != nil {
				t.Fatal(err)
			}
			s.open()
			if status, _ := s.get(old); status != http.StatusNotFound {
				t.Errorf("the medium of before: %d", status)
			}
			if left, err := os.ReadDir(filepath.Join(s.dir, "published")); err != nil || len(left) != 0 {
				t.Errorf("files that nobody may read: %v, %v", left, err)
			}
			if status, _ := s.get(s.publish(s.args(), "")); status != http.StatusOK {
				t.Errorf("a medium made afterwards: %d", status)
			}
			s.open()
		})
	}
}

func TestADamagedImageInTheCacheIsFetchedAgain(t *testing.T) {
	for _, damage := range damages {
		for _, file := range []string{"", aboutSuffix} {
			t.Run(damage.name+file, func(t *testing.T) {
				s := newSite(t)
				want := s.content(t, s.publish(s.args(), ""))
				images, err := filepath.Glob(filepath.Join(s.dir, "images", "*"+aboutSuffix))
				if err != nil || len(images) != 2 {
					t.Fatalf("%v, %v", images, err)
				}
				for _, about := range images {
					if err := damage.do(about[:len(about)-len(aboutSuffix)] + file); err != nil {
						t.Fatal(err)
					}
				}
				gets := s.gets
				s.open()
				got := s.content(t, s.publish(s.args(), ""))
				if s.gets != gets+2 || len(got) != len(want) {
					t.Errorf("%d images were fetched again, want 2; the medium has %d bytes, want %d", s.gets-gets, len(got), len(want))
				}
			})
		}
	}
}

// content is the medium at an address.
func (s *site) content(t *testing.T, address string) []byte {
	t.Helper()
	status, content := s.get(address)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d", address, status)
	}
	return content
}

func TestWhatACrashLeftIsRemoved(t *testing.T) {
	s := newSite(t)
	left := []string{".new-grants.json-1", "images/fetch-1", "images/.new-x.about-1"}
	for _, name := range left {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.open()
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(s.dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
