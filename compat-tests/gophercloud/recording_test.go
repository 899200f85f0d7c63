package gophercloud

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// header is the first line of a recording.
const header = "# test\ton real Ironic\twhy it does not pass\n"

// recorded is how a test ends on real Ironic, and why where it does not pass.
type recorded struct{ result, reason string }

func recordingOf(suite string) string { return filepath.Join("recorded", suite+".tsv") }

func readRecording(t *testing.T, suite string) map[string]recorded {
	t.Helper()
	text, err := os.ReadFile(recordingOf(suite))
	if *update && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatalf("%v: go test -update writes it", err)
	}
	all := map[string]recorded{}
	for line := range strings.Lines(strings.TrimPrefix(string(text), header)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 3 {
			t.Fatalf("%s: not three cells: %q", recordingOf(suite), line)
		}
		all[cells[0]] = recorded{cells[1], cells[2]}
	}
	return all
}

// write records how the tests ended on real Ironic; reasons stay.
func write(t *testing.T, suite string, ended map[string]ending) {
	t.Helper()
	before := readRecording(t, suite)
	var b strings.Builder
	b.WriteString(header)
	for _, test := range slices.Sorted(maps.Keys(ended)) {
		reason := before[test].reason
		if result := ended[test].result; result == "pass" {
			reason = ""
		} else {
			t.Logf("%s: %s\n%s", test, result, ended[test].output)
		}
		b.WriteString(test + "\t" + ended[test].result + "\t" + reason + "\n")
	}
	if err := os.WriteFile(recordingOf(suite), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// compare holds how the tests ended on Ferrule to how they do on real Ironic.
func compare(t *testing.T, suite string, ended map[string]ending) {
	t.Helper()
	file, list := recordingOf(suite), readRecording(t, suite)
	passed := 0
	for test, e := range ended {
		on, listed := list[test]
		switch {
		case !listed:
			t.Errorf("%s does not list %s, which says %s: go test -update writes it anew\n%s", file, test, e.result, e.output)
		case on.result != "pass" && on.reason == "":
			t.Errorf("%s does not say why real Ironic's %s is a %s", file, test, on.result)
		case e.result == "pass":
			passed++
		case on.result == "pass":
			t.Errorf("%s passes on real Ironic; here it is a %s:\n%s", test, e.result, e.output)
		}
	}
	for test := range list {
		if _, ran := ended[test]; !ran {
			t.Errorf("%s lists %s, which did not run", file, test)
		}
	}
	t.Logf("%d of %d pass", passed, len(ended))
}
