package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Recording holds the answers of each scenario by file and name.
type Recording map[string][]Answer

// Key names a scenario in a recording.
func (s Scenario) Key() string { return s.File + "/" + s.Name }

// LoadRecording reads recorded/*.txt.
func LoadRecording(dir string) (Recording, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("list recordings: %w", err)
	}
	r := Recording{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("read a recording: %w", err)
		}
		if err := r.parse(strings.TrimSuffix(filepath.Base(f), ".txt"), string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return r, nil
}

// Write writes the file of each of the scenarios, in their order.
func (r Recording) Write(dir string, scenarios []Scenario) error {
	files := map[string]*strings.Builder{}
	for _, s := range scenarios {
		b := files[s.File]
		if b == nil {
			b = &strings.Builder{}
			files[s.File] = b
		}
		fmt.Fprintf(b, "== %s\n\n", s.Name)
		before := ""
		for _, a := range r[s.Key()] {
			now := a.says()
			if now == before && len(now) > len(asBefore) {
				fmt.Fprintf(b, "> %s\n%s\n\n", a.Text, asBefore)
			} else {
				fmt.Fprintf(b, "> %s\n%s\n", a.Text, now)
			}
			before = now
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of recordings: %w", err)
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(b.String()), 0o644); err != nil {
			return fmt.Errorf("write a recording: %w", err)
		}
	}
	return nil
}

// The two common bodies of errors have names; one that says more has it behind
// the name.
const (
	clientName  = "Client fault"
	serverName  = "Server fault"
	anyWords    = `"<text>"`
	clientFault = `{"error_message (JSON text)": {"debuginfo": null, "faultcode": "Client", "faultstring": "<text>"}}`
	serverFault = `{"error_message (JSON text)": {"debuginfo": null, "faultcode": "Server", "faultstring": "<text>"}}`
)

// asBefore stands for an answer that says the same as the one above it.
const asBefore = "the same"

// says is the answer as it is recorded.
func (a Answer) says() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", a.Status)
	for _, h := range a.Header {
		b.WriteString(h + "\n")
	}
	if !a.NoBody {
		b.WriteString(recordedBody(a.Body) + "\n")
	}
	return b.String()
}

// recordedBody is a body as it is recorded.
func recordedBody(body any) string {
	compact := compactJSON(body)
	for name, common := range map[string]string{clientName: clientFault, serverName: serverFault} {
		before, after, _ := strings.Cut(common, anyWords)
		said, begins := strings.CutPrefix(compact, before)
		said, ends := strings.CutSuffix(said, after)
		switch {
		case compact == common:
			return name
		case begins && ends && json.Valid([]byte(said)):
			return name + ": " + said
		}
	}
	return printJSON(body)
}

// unrecorded is the JSON of a body that is recorded so.
func unrecorded(text string) string {
	for name, common := range map[string]string{clientName: clientFault, serverName: serverFault} {
		if text == name {
			return common
		}
		if said, ok := strings.CutPrefix(text, name+": "); ok {
			return strings.Replace(common, anyWords, said, 1)
		}
	}
	return text
}

func (r Recording) parse(file, text string) error {
	for _, part := range strings.Split("\n"+text, "\n== ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		key := file + "/" + name
		r[key] = []Answer{}
		for _, item := range strings.Split("\n"+rest, "\n> ")[1:] {
			a, err := parseAnswer(item, r[key])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			r[key] = append(r[key], a)
		}
	}
	return nil
}

func parseAnswer(item string, before []Answer) (Answer, error) {
	lines := strings.Split(strings.TrimRight(item, "\n"), "\n")
	if len(lines) < 2 {
		return Answer{}, fmt.Errorf("no status after %q", lines[0])
	}
	a := Answer{Text: lines[0], NoBody: true}
	if lines[1] == asBefore && len(before) > 0 {
		a = before[len(before)-1]
		a.Text = lines[0]
		return a, nil
	}
	var err error
	if a.Status, err = strconv.Atoi(lines[1]); err != nil {
		return Answer{}, fmt.Errorf("status of %q: %w", lines[0], err)
	}
	rest := lines[2:]
	for len(rest) > 0 && headerLine.MatchString(rest[0]) {
		a.Header = append(a.Header, rest[0])
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return a, nil
	}
	a.NoBody = false
	if a.Body, err = decodeJSON([]byte(unrecorded(strings.Join(rest, "\n")))); err != nil {
		return Answer{}, fmt.Errorf("body of %q: %w", lines[0], err)
	}
	return a, nil
}

var headerLine = regexp.MustCompile(`^[A-Z][\w-]*: `)
