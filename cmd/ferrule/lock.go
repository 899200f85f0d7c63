package main

import (
	"fmt"
	"os"
	"syscall"
)

// lockFile holds an exclusive lock on a file until unlock is called or the
// process ends, however it ends.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the database: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("the database is in use by another ferrule (%s is locked); stop it, or give --data another folder", path)
	}
	return f.Close, nil
}
