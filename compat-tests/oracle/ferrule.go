package oracle

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

var endpoint = regexp.MustCompile(`https?://[^\s"]+`)

// StartFerrule starts "ferrule up" on a data folder in dir.
func StartFerrule(ctx context.Context, binary, dir string) (*Process, error) {
	conf, data := filepath.Join(dir, "ironic.conf"), filepath.Join(dir, "data")
	if err := os.WriteFile(conf, []byte(commonConfig), 0o600); err != nil {
		return nil, fmt.Errorf("write ironic.conf: %w", err)
	}
	cmd := exec.CommandContext(ctx, binary, "up", "--listen", "127.0.0.1:0", "--data", data, "--config", conf)
	log, err := os.Create(filepath.Join(dir, "ferrule.log"))
	if err != nil {
		return nil, fmt.Errorf("make the log: %w", err)
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("read Ferrule's output: %w", err)
	}
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	base, err := readEndpoint(out)
	if err != nil {
		return nil, fmt.Errorf("%w; see %s", err, log.Name())
	}
	db, err := findDatabase(data)
	if err != nil {
		return nil, err
	}
	p.Server, err = Connect(ctx, base, db)
	return p, err
}

// readEndpoint waits for the line that names the endpoint and drops the rest.
func readEndpoint(out io.Reader) (string, error) {
	found := make(chan string, 1)
	go func() {
		defer close(found)
		lines := bufio.NewScanner(out)
		for sent := false; lines.Scan(); {
			if url := endpoint.FindString(lines.Text()); url != "" && !sent {
				found <- url
				sent = true
			}
		}
	}()
	select {
	case url, ok := <-found:
		if ok {
			return url, nil
		}
		return "", fmt.Errorf("ferrule ended without naming its endpoint")
	case <-time.After(startTime):
		return "", fmt.Errorf("ferrule did not name its endpoint in %s", startTime)
	}
}

func findDatabase(dir string) (string, error) {
	for _, pattern := range []string{"*.db", "*.sqlite", "*.sqlite3"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", fmt.Errorf("look for the database: %w", err)
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("no database in %s", dir)
}
