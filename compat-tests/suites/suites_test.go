package suites

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
)

var (
	update = flag.Bool("update", false, "run all on real Ironic, and write recorded/ anew")
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano()), "chooses what is run again on real Ironic")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each goes through the suites and kinds of authentication.
func each(do func(name string, s suite, mode string)) {
	for _, s := range suites {
		for _, mode := range modes {
			do(s.name+"/"+mode, s, mode)
		}
	}
}

// TestSuites runs all tests on Ferrule, each suite with a Ferrule of its own.
// What passes on real Ironic must pass, and what was never run there is not
// known to be right.
func TestSuites(t *testing.T) {
	if testing.Short() || *update {
		t.Skip("takes minutes")
	}
	t.Parallel()
	runs := map[string]*run{}
	each(func(name string, s suite, mode string) {
		who := newUser(t, mode)
		runs[name] = s.start(t, plane.Start(t, plane.Options{Config: who.conf()}).URL, who)
	})
	each(func(name string, s suite, mode string) {
		t.Run(name, func(t *testing.T) {
			ended := runs[name].wait(t)
			for _, wrong := range loadList(t, s, mode).judge(ended) {
				t.Error(wrong)
			}
			t.Logf("%d tests", len(ended))
		})
	})
}

func TestJudgment(t *testing.T) {
	recorded := list{"passes": "pass", "passes too": "pass", "fails": "fail", "fails there": "fail", "is left out": "pass", "is skipped": "pass"}
	wrong := recorded.judge([]outcome{
		{"passes", "pass", ""}, {"passes too", "fail", "why"}, {"fails", "fail", ""}, {"fails there", "pass", ""},
		{"is new", "pass", ""}, {"is skipped", "skip", "no such service"},
	})
	want := []string{
		"passes too passes on real Ironic; here: fail\nwhy",
		"is new is in no list: go test -update runs it on real Ironic",
		"is skipped passes on real Ironic; here: skip\nno such service",
		"is left out did not run",
	}
	if !slices.Equal(wrong, want) {
		t.Errorf("%q", wrong)
	}
}

// TestEveryFailureHasAReason holds the reasons to the lists.
func TestEveryFailureHasAReason(t *testing.T) {
	reasons := loadReasons(t)
	used := map[string]bool{}
	each(func(name string, s suite, mode string) {
		recorded := loadList(t, s, mode)
		if passing := recorded.passing(); len(passing) < 90 {
			t.Errorf("%s: only %d of %d tests pass", name, len(passing), len(recorded))
		}
		for _, test := range recorded.failing() {
			if used[test] = true; reasons[test] == "" {
				t.Errorf("reasons.tsv does not say why this does not pass on real Ironic: %s", test)
			}
		}
	})
	for test := range reasons {
		if !used[test] {
			t.Errorf("reasons.tsv has what passes on real Ironic, or is in no list: %s", test)
		}
	}
}

// TestListsHold runs a twentieth again on real Ironic, and what fails there.
func TestListsHold(t *testing.T) {
	if testing.Short() || *update {
		t.Skip("starts real Ironic")
	}
	t.Parallel() // clients wait more than they work
	t.Logf("chosen by -seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	mode := modes[random.IntN(len(modes))]
	who := newUser(t, mode)
	url := realIronic(t, who)
	for _, s := range suites {
		recorded := loadList(t, s, mode)
		passing, failing := recorded.passing(), recorded.failing()
		random.Shuffle(len(passing), func(i, j int) { passing[i], passing[j] = passing[j], passing[i] })
		said := patiently(t, s, url, who, passing[:(len(passing)+19)/20])
		if len(failing) > 0 {
			for _, o := range s.start(t, url, who, failing...).wait(t) {
				said[o.Test] = o
			}
		}
		for test, o := range said {
			if o.Outcome != recorded[test] {
				t.Errorf("%s, %s: %q is recorded; now %q\n%s", mode, test, recorded[test], o.Outcome, tail(o.Output))
			}
		}
	}
}

// TestRecord writes the lists anew; it runs only with -update.
func TestRecord(t *testing.T) {
	if !*update {
		return
	}
	each(func(name string, s suite, mode string) {
		t.Run(name, func(t *testing.T) {
			who := newUser(t, mode)
			recorded := list{}
			for test, o := range patiently(t, s, realIronic(t, who), who, nil) {
				if recorded[test] = o.Outcome; o.Outcome != "pass" {
					t.Logf("%s: %s\n%s", test, o.Outcome, tail(o.Output))
				}
			}
			if !t.Failed() {
				recorded.write(t, s, mode)
			}
		})
	})
}

// realIronic gives the URL of one that does not take itself for dead: on SQLite
// it sends no heartbeat.
func realIronic(t *testing.T, who user) string {
	t.Helper()
	return env.RealIronic(t, who.conf()+"[conductor]\nheartbeat_timeout = 86400\n").URL
}

// patiently gives how these tests end on real Ironic, or all. What fails is run
// again: on SQLite, Ironic now and then answers that the database is locked.
func patiently(t *testing.T, s suite, url string, who user, tests []string) map[string]outcome {
	t.Helper()
	said := map[string]outcome{}
	for range 3 {
		var failed []string
		for _, o := range s.start(t, url, who, tests...).wait(t) {
			if said[o.Test] = o; o.Outcome == "fail" {
				failed = append(failed, o.Test)
			}
		}
		if tests = failed; len(tests) == 0 {
			break
		}
		t.Logf("%s, failed: %s", s.name, strings.Join(tests, " "))
	}
	return said
}
