package rights

import (
	"os"
	"strings"
	"testing"
)

// recording is how every request of every caller went.
type recording struct {
	t        *testing.T
	requests []request
	callers  []caller
	words    [][]string // by request, then by caller
}

func newRecording(t *testing.T, requests []request, callers []caller) *recording {
	r := &recording{t: t, requests: requests, callers: callers, words: make([][]string, len(requests))}
	for i := range r.words {
		r.words[i] = make([]string, len(callers))
	}
	return r
}

func (r *recording) header() string {
	names := []string{"# rule", "name"}
	for _, who := range r.callers {
		names = append(names, who.name)
	}
	return strings.Join(names, "\t") + "\n"
}

func (r *recording) write(file string) {
	r.t.Helper()
	var b strings.Builder
	b.WriteString(r.header())
	for i, request := range r.requests {
		b.WriteString(request.rule + "\t" + request.name + "\t" + strings.Join(r.words[i], "\t") + "\n")
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// compare holds what Ferrule said to what real Ironic did.
func (r *recording) compare(file string) {
	r.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatalf("%v: go test -update writes it", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0]+"\n" != r.header() {
		r.t.Fatalf("%s is of other callers: go test -update writes it anew", file)
	}
	recorded := map[string][]string{}
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		recorded[cells[1]] = cells[2:]
	}
	for i, request := range r.requests {
		theirs, ok := recorded[request.name]
		if !ok {
			r.t.Errorf("%s has no %q: go test -update writes it anew", file, request.name)
			continue
		}
		for column, who := range r.callers {
			if got := r.words[i][column]; !same(got, theirs[column]) {
				r.t.Errorf("%s, %s (%s): Ironic says %s, Ferrule %s", who.name, request.name, request.rule, theirs[column], got)
			}
		}
	}
}

// same lets a refusal stand where Ironic fails, which it does for a token of
// another scope than the policy's, and lets it name the policy where Ironic does
// not.
func same(got, theirs string) bool {
	if theirs == "500" || theirs == "403" {
		return strings.HasPrefix(got, "403")
	}
	return got == theirs
}
