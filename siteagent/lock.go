package siteagent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder makes the data folder and takes it for this process, until the
// file is closed: two agents with one journal would do commands twice. ran says
// that an agent has worked there before, for the lock file is never removed.
func lockFolder(dir string) (lock *os.File, ran bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("make the agent's data folder: %w", err)
	}
	path := filepath.Join(dir, "agent.lock")
	_, err = os.Stat(path)
	ran = err == nil
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, ran, fmt.Errorf("lock the agent's data folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, ran, errors.Join(fmt.Errorf("another agent uses the data folder %s: %w", dir, err), file.Close())
	}
	return file, ran, nil
}
