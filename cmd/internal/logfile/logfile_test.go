package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ferrule/config"
)

// logrotate moves the file away and sends SIGHUP.
func TestALogFileIsOpenedAnewOnSIGHUP(t *testing.T) {
	dir := t.TempDir()
	log, closeLog, err := Open(config.Default{LogDir: dir}, "ferrule")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ferrule.log")
	log.Info("before")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, err := os.Stat(path); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no new file")
		}
	}
	if err := closeLog(); err != nil { // after it, a signal would end the process: the first is worked off
		t.Fatal(err)
	}
	old, err := os.ReadFile(path + ".1")
	if err != nil || !strings.Contains(string(old), "before") {
		t.Errorf("the old file has %q, %v", old, err)
	}
}

func TestWhichFileIsLoggedTo(t *testing.T) {
	for _, c := range []struct {
		file, dir, want string
	}{
		{"", "", ""}, {"a.log", "", "a.log"}, {"a.log", "/d", "/d/a.log"}, {"/b/a.log", "/d", "/b/a.log"}, {"", "/d", "/d/name.log"},
	} {
		if got := pathOf(config.Default{LogFile: c.file, LogDir: c.dir}, "name"); got != c.want {
			t.Errorf("log_file %q, log_dir %q: %q, not %q", c.file, c.dir, got, c.want)
		}
	}
}
