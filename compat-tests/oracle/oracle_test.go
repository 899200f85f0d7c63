package oracle

import (
	_ "embed"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
)

var (
	update     = flag.Bool("update", false, "ask a real Ironic everything and rewrite recorded/")
	ferruleURL = flag.String("ferrule", "", "a running Ferrule to compare, in place of one that the test starts")
	ferruleDB  = flag.String("ferrule.sqlite", "", "the SQLite file of that Ferrule")
	only       = flag.String("scenario", "", "play only the scenarios that match this expression")
	most       = flag.Int("most", 200, "how many differences to print")
	seed       = flag.Uint64("seed", uint64(time.Now().UnixNano()), "chooses the scenarios that are asked again")
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"), // idle connections of the client
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

func loadCases(t *testing.T) []Scenario {
	t.Helper()
	all, err := LoadCases(os.DirFS("cases"))
	if err != nil {
		t.Fatal(err)
	}
	expression := regexp.MustCompile(*only)
	return slices.DeleteFunc(all, func(s Scenario) bool { return !expression.MatchString(s.Key()) })
}

func loadRecording(t *testing.T) Recording {
	t.Helper()
	r, err := LoadRecording("recorded")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recordedTexts are the steps of a scenario that have answers.
func recordedTexts(s Scenario) []string {
	var texts []string
	for _, step := range s.Steps {
		if step.Recorded() {
			texts = append(texts, step.Text)
		}
	}
	return texts
}

func TestRecordingIsWhole(t *testing.T) {
	if *update {
		return // it is being rewritten
	}
	recording := loadRecording(t)
	requests := 0
	for _, s := range loadCases(t) {
		var have []string
		for _, a := range recording[s.Key()] {
			have = append(have, a.Text)
		}
		if !slices.Equal(have, recordedTexts(s)) {
			t.Errorf("%s: the recording has other requests; run make oracle", s.Key())
		}
		requests += len(have)
		delete(recording, s.Key())
	}
	if *only != "" {
		return
	}
	for key := range recording {
		t.Errorf("%s is recorded but no case file has it; run make oracle", key)
	}
	if requests < 300 {
		t.Errorf("only %d requests", requests)
	}
}

func TestEveryRuleIsAsked(t *testing.T) {
	rules, err := LoadRules("rules.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if *only != "" {
		return
	}
	asked := map[string]bool{}
	for _, s := range loadCases(t) {
		for _, step := range s.Steps {
			for _, id := range step.IDs {
				asked[id] = true
				if _, ok := rules[id]; !ok {
					t.Errorf("%s:%d names %s, which rules.tsv does not have", s.File, step.Line, id)
				}
			}
		}
	}
	for id, title := range rules {
		if !asked[id] {
			t.Errorf("no request names %s (%s)", id, title)
		}
	}
}

// commonConfig is what both servers run with.
//
//go:embed ironic.conf
var commonConfig string

// ironicConfig is what real Ironic needs beside it. The addresses are asked
// for, and never used.
const ironicConfig = `
[DEFAULT]
host = oracle-conductor
default_log_levels = amqp=WARN,sqlalchemy=WARN,requests=WARN,urllib3=WARN,ironic.drivers.modules.fake=WARN
[conductor]
heartbeat_timeout = 36000
[service_catalog]
endpoint_override = http://127.0.0.1:1
[deploy]
http_url = http://127.0.0.1:1
`

func startIronic(t *testing.T) *Server {
	t.Helper()
	ironic := env.RealIronic(t, commonConfig+ironicConfig)
	return connect(t, ironic.URL, ironic.Database())
}

func connect(t *testing.T, url, database string) *Server {
	t.Helper()
	server, err := Connect(t.Context(), url, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // the server itself is going too
	return server
}

// aTwentieth chooses scenarios by the seed, which it logs.
func aTwentieth(t *testing.T, scenarios []Scenario) []Scenario {
	t.Logf("scenarios chosen by -seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	random.Shuffle(len(scenarios), func(i, j int) { scenarios[i], scenarios[j] = scenarios[j], scenarios[i] })
	return scenarios[:(len(scenarios)+19)/20]
}

// TestRecordingHolds asks a real Ironic again.
func TestRecordingHolds(t *testing.T) {
	if testing.Short() || *update {
		t.Skip("takes long")
	}
	report := Compare(t.Context(), startIronic(t), aTwentieth(t, loadCases(t)), loadRecording(t))
	for _, b := range report.Broken {
		t.Error(b)
	}
	if len(report.Found) > 0 {
		t.Errorf("Ironic answers %d of %d requests otherwise than recorded:\n%s",
			differing(report.Found), report.Requests, describe(report.Found, *most))
	}
}

// TestRecord rewrites the recording; it runs only with -update.
func TestRecord(t *testing.T) {
	if !*update {
		return
	}
	scenarios := loadCases(t)
	server := startIronic(t)
	recording := loadRecording(t)
	for _, s := range scenarios {
		answers, err := Play(t.Context(), server, s, nil)
		if err != nil {
			t.Errorf("%s: %v", s.Key(), err)
		}
		recording[s.Key()] = answers
	}
	all, err := LoadCases(os.DirFS("cases"))
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(s Scenario) bool {
		return !slices.ContainsFunc(scenarios, func(played Scenario) bool { return played.File == s.File })
	})
	if err := recording.Write("recorded", all); err != nil {
		t.Fatal(err)
	}
}

// TestOracle compares Ferrule with the recording: all of it, or when short a
// twentieth.
func TestOracle(t *testing.T) {
	if *update {
		return
	}
	server := ferrule(t)
	allowed, err := LoadAllowed("differences.tsv")
	if err != nil {
		t.Fatal(err)
	}
	scenarios := loadCases(t)
	whole := *only == "" && !testing.Short()
	if testing.Short() {
		scenarios = aTwentieth(t, scenarios)
	}
	d := description(t)
	server.Watch = func(step Step, a Answer) {
		if err := holdToDescription(d, step, a); err != nil {
			t.Errorf("%s is answered %d, which is not as described: %s", cut(step.Text, 200), a.Status, firstLine(err))
		}
	}
	report := Compare(t.Context(), server, scenarios, loadRecording(t))
	unwanted := Unwanted(report.Found, allowed)
	t.Logf("%d requests, %d differ, %d of them unwanted", report.Requests, differing(report.Found), differing(unwanted))
	for _, b := range report.Broken {
		t.Error(b)
	}
	if len(unwanted) > 0 {
		t.Errorf("%d unwanted differences:\n%s", len(unwanted), describe(unwanted, *most))
	}
	if whole {
		for _, a := range Unused(allowed) {
			t.Errorf("differences.tsv allows what no longer differs: %s %s %s", a.Scenario, a.Request, a.Place)
		}
	}
}

// TestOracleAskedAgain asks Ferrule for each change twice with one key: what was
// done once, and is answered from memory, is what Ironic says and does.
func TestOracleAskedAgain(t *testing.T) {
	if testing.Short() || *update {
		t.Skip("takes long")
	}
	server := ferrule(t)
	server.Keyed = true
	allowed, err := LoadAllowed("differences.tsv")
	if err != nil {
		t.Fatal(err)
	}
	scenarios := loadCases(t)
	if *only == "" {
		scenarios = aTwentieth(t, scenarios)
	}
	report := Compare(t.Context(), server, scenarios, loadRecording(t))
	for _, b := range report.Broken {
		t.Error(b)
	}
	if unwanted := Unwanted(report.Found, allowed); len(unwanted) > 0 {
		t.Errorf("%d unwanted differences:\n%s", differing(unwanted), describe(unwanted, *most))
	}
}

func ferrule(t *testing.T) *Server {
	t.Helper()
	if *ferruleURL != "" {
		return connect(t, *ferruleURL, *ferruleDB)
	}
	p := plane.Start(t, plane.Options{Config: commonConfig})
	return connect(t, p.URL, filepath.Join(p.DataDir, "ferrule.sqlite"))
}
