// Package durable writes files so that a power cut leaves the old content or
// the new, and never a part of either. It is a leaf: the standard library only.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// tempPrefix begins the name of a file that is being written. What a crash
// leaves under such a name may be removed.
const tempPrefix = ".new-"

// Write replaces the file at path whole, readable by its owner alone, and
// returns when content and name are on the disk. The folder is made where it is
// missing.
func Write(path string, content []byte) error {
	temp, err := writeTemp(path, content)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }() // after the rename there is none
	return Rename(temp, path)
}

// Create is Write for a file that must not exist yet: one that another process
// made in the meantime stays as it is, and the error holds fs.ErrExist.
func Create(path string, content []byte) error {
	temp, err := writeTemp(path, content)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }()
	if err := os.Link(temp, path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

func writeTemp(path string, content []byte) (string, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, tempPrefix+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// Replace puts the open file in the place of path and returns when both are on
// the disk. The file must be in the same folder as path, and stays open.
func Replace(file *os.File, path string) error {
	if err := file.Sync(); err != nil {
		return err
	}
	return Rename(file.Name(), path)
}

// Rename moves a file whose content is on the disk already and returns when its
// new name is there too.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

// Remove removes a file durably; one that is not there is no error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SetAside moves a damaged file out of the way, so that it can be looked at,
// and tells its new name.
func SetAside(path string) (string, error) {
	aside := path + ".damaged"
	if err := Rename(path, aside); err != nil {
		return "", fmt.Errorf("set the damaged file aside: %w", err)
	}
	return aside, nil
}

// RemoveLeftovers removes what writes that a crash cut short have left in a
// folder. Nobody may be writing there.
func RemoveLeftovers(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
