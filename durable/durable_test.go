package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// holds fails the test unless the folder has exactly these files.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("the folder holds %v, want %v", entries, want)
	}
	for name, content := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v; want %q", name, got, err, content)
		}
	}
}

func TestWriteReplacesAFileWholeAndLeavesNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	path := filepath.Join(dir, "file")
	for _, content := range []string{"first", "", "third"} {
		if err := Write(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, map[string]string{"file": content})
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAFailedWriteLeavesTheOldFileAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x")); err == nil {
		t.Error("a file took the place of a folder that is not empty")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := Create(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second Create: %v", err)
	}
	holds(t, dir, map[string]string{"key": "one"})
}

func TestRemoveAndSetAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Remove(path); err != nil {
		t.Errorf("remove what is not there: %v", err)
	}
	if err := Write(path, []byte("bad")); err != nil {
		t.Fatal(err)
	}
	if aside, err := SetAside(path); err != nil || aside != path+".damaged" {
		t.Fatalf("%q, %v", aside, err)
	}
	holds(t, dir, map[string]string{"file.damaged": "bad"})
	if err := Remove(path + ".damaged"); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, nil)
}

func TestLeftoversOfACrashAreRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Write(path, []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if _, err := writeTemp(path, []byte("never renamed")); err != nil {
		t.Fatal(err)
	}
	if err := RemoveLeftovers(dir); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"file": "kept"})
}
