// Package logfile opens what the programs log to, as the options say. It is
// part of cmd.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"ferrule/config"
)

// Open gives the log that [DEFAULT] log_file, log_dir, debug and use_json
// describe; name is the program's, for a log_dir alone. The log is standard
// error where no file is named. A file is opened anew at each SIGHUP, so that
// logrotate can move it away.
func Open(o config.Default, name string) (log *slog.Logger, closeLog func() error, err error) {
	var out io.Writer = os.Stderr
	closeLog = func() error { return nil }
	if path := pathOf(o, name); path != "" {
		f, err := openFile(path)
		if err != nil {
			return nil, nil, err
		}
		out, closeLog = f, f.Close
	}
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if o.Debug {
		options.Level = slog.LevelDebug
	}
	if o.UseJSON {
		return slog.New(slog.NewJSONHandler(out, options)), closeLog, nil
	}
	return slog.New(slog.NewTextHandler(out, options)), closeLog, nil
}

// pathOf is the file that is logged to, "" for none.
func pathOf(o config.Default, name string) string {
	switch {
	case o.LogDir == "" || filepath.IsAbs(o.LogFile):
		return o.LogFile
	case o.LogFile == "":
		return filepath.Join(o.LogDir, name+".log")
	}
	return filepath.Join(o.LogDir, o.LogFile)
}

// file is a log file that is opened anew at each SIGHUP.
type file struct {
	path string

	mu  sync.Mutex
	out *os.File

	hangUps chan os.Signal
	done    chan struct{}
}

func openFile(path string) (*file, error) {
	out, err := openAt(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, out: out, hangUps: make(chan os.Signal, 1), done: make(chan struct{})}
	signal.Notify(f.hangUps, syscall.SIGHUP)
	go func() {
		defer close(f.done)
		for range f.hangUps {
			f.reopen()
		}
	}()
	return f, nil
}

func openAt(path string) (*os.File, error) {
	out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return out, nil
}

// reopen goes on in the file that has the name now. Where there can be none, the
// old one is kept.
func (f *file) reopen() {
	out, err := openAt(f.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		fmt.Fprintln(f.out, "level=ERROR msg=\"the log stays in the old file\" error=", err)
		return
	}
	_ = f.out.Close()
	f.out = out
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.Write(p)
}

// Close ends the wait for signals and closes the file.
func (f *file) Close() error {
	signal.Stop(f.hangUps)
	close(f.hangUps)
	<-f.done
	if err := f.out.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
