package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
)

// clock is a time that tests move by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{at: time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)} }

func opened(t *testing.T, dir string, c *clock) *Journal {
	t.Helper()
	j, err := Open(Options{Dir: dir, Now: c.now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func result(id string) metal.CommandResult {
	return metal.CommandResult{
		CommandID: id, OK: true, ResultJSON: json.RawMessage(`{"state":"power on"}`),
		FinishedAt: time.Date(2031, 5, 1, 12, 0, 1, 0, time.UTC),
	}
}

func TestStatesSurviveReopening(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	expires := c.at.Add(time.Minute)
	j := opened(t, dir, c)
	if err := j.Begin("a", expires, true); err != nil {
		t.Fatal(err)
	}
	if err := j.Finish(result("a"), expires, true); err != nil {
		t.Fatal(err)
	}
	if err := j.Begin("b", expires, true); err != nil {
		t.Fatal(err)
	}
	// No Close: the process was killed.
	again := opened(t, dir, c)
	want := result("a")
	if state, got, err := again.Lookup("a"); err != nil || state != Done || !cmp.Equal(got, &want) {
		t.Errorf("a: %v %v %v", state, cmp.Diff(&want, got), err)
	}
	if state, _, err := again.Lookup("b"); err != nil || state != Begun {
		t.Errorf("b: %v %v", state, err)
	}
	if state, _, err := again.Lookup("c"); err != nil || state != Unknown {
		t.Errorf("c: %v %v", state, err)
	}
}

func TestTornTailIsDroppedAtEveryLength(t *testing.T) {
	c := newClock()
	source := t.TempDir()
	j := opened(t, source, c)
	if err := j.Begin("a", c.at.Add(time.Hour), true); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(source, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Finish(result("a"), c.at.Add(time.Hour), true); err != nil {
		t.Fatal(err)
	}
	both, err := os.ReadFile(filepath.Join(source, fileName))
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole); cut < len(both); cut++ {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), both[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		torn := opened(t, dir, c)
		if state, _, err := torn.Lookup("a"); err != nil || state != Begun {
			t.Fatalf("cut at %d: %v %v", cut, state, err)
		}
		if err := torn.Finish(result("a"), c.at.Add(time.Hour), true); err != nil {
			t.Fatal(err)
		}
		if state, _, err := opened(t, dir, c).Lookup("a"); err != nil || state != Done {
			t.Fatalf("cut at %d, finished: %v %v", cut, state, err)
		}
	}
}

func TestHoleOfZerosIsSkipped(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	content := append([]byte(`{"journal":1}`+"\n"), bytes.Repeat([]byte{0}, 512)...)
	content = append(content, `{"id":"a","state":"begun","expiresAt":"2031-05-01T13:00:00Z"}`+"\n"...)
	if err := os.WriteFile(filepath.Join(dir, fileName), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if state, _, err := opened(t, dir, c).Lookup("a"); err != nil || state != Begun {
		t.Errorf("after a hole: %v %v", state, err)
	}
}

// A journal that is lost in any way is replaced by one that says which commands
// it cannot know; only a new agent's knows everything from the start.
func TestALostJournalKnowsWhatItForgot(t *testing.T) {
	line := `{"id":"a","state":"begun","expiresAt":"2031-05-01T13:00:00Z"}` + "\n"
	heading := `{"journal":1}` + "\n"
	for name, lost := range map[string]struct {
		content string
		ran     bool
	}{
		"missing": {"", true}, "empty": {"", false}, "without heading": {line, false}, "heading torn": {`{"journal":1}`, false},
		"no json": {heading + "not json\n" + line, false}, "no id": {heading + `{"id":"","state":"begun"}` + "\n" + line, false},
		"no result": {heading + `{"id":"x","state":"done"}` + "\n" + line, false}, "blank line": {heading + "\n" + line, false},
		"garbage": {"\x7fELF\x00\x01\n\xff", false},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir := newClock(), t.TempDir()
			path := filepath.Join(dir, fileName)
			if name != "missing" {
				if err := os.WriteFile(path, []byte(lost.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := Options{Dir: dir, Ran: lost.ran, Now: c.now, Log: slog.New(slog.DiscardHandler)}
			for range 2 { // it knows it still after the next start
				j, err := Open(o)
				if err != nil {
					t.Fatal(err)
				}
				if !j.Forgot(c.at) || j.Forgot(c.at.Add(issueSkew)) {
					t.Errorf("forgot what was issued now: %v, later: %v", j.Forgot(c.at), j.Forgot(c.at.Add(issueSkew)))
				}
				if err := j.Begin("b", c.at.Add(time.Minute), true); err != nil {
					t.Fatal(err)
				}
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
			}
			kept, err := os.ReadFile(path + ".damaged")
			if name != "missing" && string(kept) != lost.content {
				t.Errorf("of the lost journal is kept %q, %v", kept, err)
			}
		})
	}
	if opened(t, t.TempDir(), newClock()).Forgot(newClock().at) {
		t.Error("a new agent's journal says that it forgot something")
	}
}

func TestCompactionKeepsWhatMayComeAgain(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	j := opened(t, dir, c)
	for i := range 100 {
		id := fmt.Sprintf("old-%d", i)
		if err := j.Begin(id, c.at, false); err != nil {
			t.Fatal(err)
		}
	}
	late := c.at.Add(2 * Keep)
	if err := j.Begin("young", late, true); err != nil {
		t.Fatal(err)
	}
	if err := j.Finish(result("young"), late, true); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(Keep + time.Second)
	again := opened(t, dir, c)
	if state, got, err := again.Lookup("young"); err != nil || state != Done || got.CommandID != "young" {
		t.Errorf("young: %v %v %v", state, got, err)
	}
	if state, _, _ := again.Lookup("old-7"); state != Unknown {
		t.Errorf("old entry is still there: %v", state)
	}
	data, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(data, []byte{'\n'}); lines != 2 {
		t.Errorf("%d lines are left, want the heading and one record", lines)
	}
	if _, err := os.Stat(filepath.Join(dir, fileName+".new")); !os.IsNotExist(err) {
		t.Errorf("temporary file is left: %v", err)
	}
}

func TestJournalOfALongLifeStaysSmall(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	j := opened(t, dir, c)
	for i := range 4 * compactFrom {
		id := fmt.Sprint(i)
		if err := j.Begin(id, c.at, false); err != nil {
			t.Fatal(err)
		}
		if err := j.Finish(result(id), c.at, false); err != nil {
			t.Fatal(err)
		}
		c.at = c.at.Add(Keep / 100)
	}
	data, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(data, []byte{'\n'}); lines > compactFrom {
		t.Errorf("%d lines of 100 commands that may come again", lines)
	}
}

func TestManyWritersShareTheFileWhileItIsCompacted(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	j := opened(t, dir, c)
	stale, live := c.at.Add(-2*Keep), c.at.Add(time.Hour)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range compactFrom / 4 {
				if err := j.Begin(fmt.Sprintf("stale-%d", w), stale, i%512 == 0); err != nil {
					t.Error(err)
					return
				}
			}
			id := fmt.Sprintf("live-%d", w)
			if err := j.Begin(id, live, true); err != nil {
				t.Error(err)
			}
			if err := j.Finish(result(id), live, true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	again := opened(t, dir, c)
	for w := range 8 {
		id := fmt.Sprintf("live-%d", w)
		if state, got, err := again.Lookup(id); err != nil || state != Done || got.CommandID != id {
			t.Errorf("%s: %v %v %v", id, state, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"a","state":"begun","expiresAt":"2031-05-01T13:00:00Z"}`))
	f.Add([]byte(`{"id":"a","state":"done","result":{"commandId":"a","ok":true}}`))
	f.Add([]byte("\x00\x00{}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		rec, err := parse(line)
		if err == nil && (rec.ID == "" || (rec.State == Done) != (rec.Result != nil)) {
			t.Errorf("accepted %q as %+v", line, rec)
		}
	})
}
