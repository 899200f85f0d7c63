package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
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

func open(t *testing.T, dir string, c *clock) *Journal {
	t.Helper()
	j, err := Open(dir, c.now)
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
	j := open(t, dir, c)
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
	again := open(t, dir, c)
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
	j := open(t, source, c)
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
		torn := open(t, dir, c)
		if state, _, err := torn.Lookup("a"); err != nil || state != Begun {
			t.Fatalf("cut at %d: %v %v", cut, state, err)
		}
		if err := torn.Finish(result("a"), c.at.Add(time.Hour), true); err != nil {
			t.Fatal(err)
		}
		if state, _, err := open(t, dir, c).Lookup("a"); err != nil || state != Done {
			t.Fatalf("cut at %d, finished: %v %v", cut, state, err)
		}
	}
}

func TestHoleOfZerosIsSkippedAndDamageIsRefused(t *testing.T) {
	c := newClock()
	line := []byte(`{"id":"a","state":"begun","expiresAt":"2031-05-01T13:00:00Z"}` + "\n")
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	if err := os.WriteFile(path, append(bytes.Repeat([]byte{0}, 512), line...), 0o600); err != nil {
		t.Fatal(err)
	}
	if state, _, err := open(t, dir, c).Lookup("a"); err != nil || state != Begun {
		t.Errorf("after a hole: %v %v", state, err)
	}
	for _, bad := range []string{"not json\n", `{"id":"","state":"begun"}` + "\n", `{"id":"x","state":"done"}` + "\n", "\n"} {
		if err := os.WriteFile(path, append([]byte(bad), line...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, c.now); err == nil {
			t.Errorf("%q: a damaged journal was opened", bad)
		}
	}
}

func TestCompactionKeepsWhatMayComeAgain(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	j := open(t, dir, c)
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
	again := open(t, dir, c)
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
	if lines := bytes.Count(data, []byte{'\n'}); lines != 1 {
		t.Errorf("%d lines are left", lines)
	}
	if _, err := os.Stat(filepath.Join(dir, fileName+".new")); !os.IsNotExist(err) {
		t.Errorf("temporary file is left: %v", err)
	}
}

func TestJournalOfALongLifeStaysSmall(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	j := open(t, dir, c)
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
	j := open(t, dir, c)
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
	again := open(t, dir, c)
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
