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
	if lines[0]+"\n" != r.header() || len(lines) != len(r.requests)+1 {
		r.t.Fatalf("%s is of other callers or requests: go test -update writes it anew", file)
	}
	for i, request := range r.requests {
		want := strings.Split(lines[i+1], "\t")
		if want[1] != request.name {
			r.t.Fatalf("%s: row %d is %q, not %q", file, i+1, want[1], request.name)
		}
		for column, who := range r.callers {
			if got, theirs := r.words[i][column], want[column+2]; !same(got, theirs) {
				r.t.Errorf("%s, %s (%s): Ironic says %s, Ferrule %s", who.name, request.name, request.rule, theirs, got)
			}
		}
	}
}

// same lets a refusal stand where Ironic fails: it has no answer for a token of
// another scope than the policy's.
func same(got, theirs string) bool {
	if theirs == "500" {
		return strings.HasPrefix(got, "403 ")
	}
	return got == theirs
}
