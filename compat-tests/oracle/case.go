package oracle

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
)

const latest = "1.115"

// Kind says what a step does.
type Kind int

// The kinds of steps.
const (
	Request Kind = iota
	CreateNode
	CreatePort
	SetColumns
	Await
	Until
)

// Step is one line of a scenario with its variables still in it.
type Step struct {
	Kind Kind
	Line int
	// Text identifies the step in the recording.
	Text string

	Version string // "-" for none
	Header  [][2]string
	Method  string
	Path    string
	Body    string
	IDs     []string
	Capture string // path into the answer, "" for none
	Var     string // captured into, or the node that a directive is about
	Show    []string
	Words   bool // what an error says counts

	State   string      // of CreateNode and Await; "" awaits that nothing works on the node
	Node    string      // of CreatePort
	Columns [][2]string // of SetColumns; of Until, the key and each value that ends it
}

// Recorded reports whether the step has an answer that is compared.
func (s Step) Recorded() bool { return s.Kind == Request || s.Kind == Await }

// Scenario is a sequence of steps that starts on an empty inventory.
type Scenario struct {
	File  string
	Name  string
	Lets  map[string]string
	Steps []Step
}

// LoadCases reads every case file of dir in order of name.
func LoadCases(dir fs.FS) ([]Scenario, error) {
	files, err := fs.Glob(dir, "*.txt")
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var all []Scenario
	for _, f := range files {
		text, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, err
		}
		scenarios, err := ParseCases(strings.TrimSuffix(path.Base(f), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, scenarios...)
	}
	return all, nil
}

// ParseCases reads the scenarios of one file.
func ParseCases(file, text string) ([]Scenario, error) {
	var all []Scenario
	for _, block := range splitScenarios(text) {
		name, variable, values, err := parseTitle(block.lines[0])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, block.first, err)
		}
		for _, value := range values {
			p := newScenarioParser(file, expand(name, variable, value))
			for i, line := range block.lines[1:] {
				if err := p.line(block.first+1+i, expand(line, variable, value)); err != nil {
					return nil, fmt.Errorf("%s:%d: %w", file, block.first+1+i, err)
				}
			}
			all = append(all, p.scenario)
		}
	}
	return all, nil
}

type block struct {
	first int
	lines []string
}

func splitScenarios(text string) []block {
	var blocks []block
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "== "):
			blocks = append(blocks, block{first: i + 1, lines: []string{line}})
		case len(blocks) > 0:
			last := &blocks[len(blocks)-1]
			last.lines = append(last.lines, line)
		}
	}
	return blocks
}

func expand(line, variable, value string) string {
	if variable == "" {
		return line
	}
	return strings.ReplaceAll(line, "{"+variable+"}", value)
}

var titleLine = regexp.MustCompile(`^== (.*?)(?: for ([a-z_]+) in (\S+))?$`)

func parseTitle(line string) (name, variable string, values []string, err error) {
	m := titleLine.FindStringSubmatch(strings.TrimRight(line, " "))
	switch {
	case m == nil:
		return "", "", nil, fmt.Errorf("not a scenario title: %s", line)
	case m[2] == "":
		return m[1], "", []string{""}, nil
	case m[3] == "all-states":
		return m[1], m[2], stateNames(), nil
	}
	return m[1], m[2], strings.Split(m[3], ","), nil
}

type scenarioParser struct {
	scenario Scenario
	version  string
	show     []string
	words    bool
	before   []string
	after    []string
}

func newScenarioParser(file, name string) *scenarioParser {
	return &scenarioParser{
		scenario: Scenario{File: file, Name: name, Lets: map[string]string{}},
		version:  latest,
	}
}

func (p *scenarioParser) line(number int, line string) error {
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "use":
		p.version = rest
	case "show":
		p.show = nil
		if rest != "all" {
			p.show = strings.Split(rest, ",")
		}
	case "words":
		p.words = rest != "any"
	case "let":
		name, value, ok := strings.Cut(rest, " = ")
		if !ok {
			return fmt.Errorf("let needs NAME = TEXT")
		}
		p.scenario.Lets[name] = value
	case "before":
		p.before = repeated(p.before, rest)
	case "after":
		p.after = repeated(p.after, rest)
	case "node", "port", "set", "await", "settle", "until":
		return p.directive(number, line)
	default:
		return p.requests(number, line)
	}
	return nil
}

func repeated(list []string, rest string) []string {
	if rest == "nothing" {
		return nil
	}
	return append(slices.Clone(list), rest)
}

func (p *scenarioParser) directive(number int, line string) error {
	step, err := parseDirective(line)
	if err != nil {
		return err
	}
	step.Line, step.Text = number, line
	p.scenario.Steps = append(p.scenario.Steps, step)
	return nil
}

var nodeLine = regexp.MustCompile(`^node (\w+)(?: in ([a-z-]+))?(?: (\{.*\}))?$`)

func parseDirective(line string) (Step, error) {
	words := strings.Fields(line)
	switch {
	case words[0] == "node":
		m := nodeLine.FindStringSubmatch(line)
		if m == nil {
			return Step{}, fmt.Errorf("node needs: NAME [in STATE] [JSON]")
		}
		return Step{Kind: CreateNode, Var: m[1], State: m[2], Body: m[3]}, checkState(m[2])
	case words[0] == "port" && len(words) == 4 && words[2] == "of":
		return Step{Kind: CreatePort, Var: words[1], Node: words[3]}, nil
	case words[0] == "set" && len(words) > 2:
		return parseSet(words[1], words[2:])
	case words[0] == "await" && len(words) == 3:
		return Step{Kind: Await, Var: words[1], State: words[2]}, checkState(words[2])
	case words[0] == "until" && len(words) == 3 && strings.Contains(words[2], "="):
		key, values, _ := strings.Cut(words[2], "=")
		step := Step{Kind: Until, Path: words[1]}
		for _, v := range strings.Split(values, ",") {
			step.Columns = append(step.Columns, [2]string{key, v})
		}
		return step, nil
	case words[0] == "settle" && len(words) == 2:
		return Step{Kind: Await, Var: words[1]}, nil
	}
	return Step{}, fmt.Errorf("not a directive: %s", line)
}

func parseSet(node string, words []string) (Step, error) {
	step := Step{Kind: SetColumns, Var: node}
	for _, w := range words {
		column, value, ok := strings.Cut(w, "=")
		if !ok || !slices.Contains(settable, column) {
			return Step{}, fmt.Errorf("set: %q is not COLUMN=VALUE of a known column", w)
		}
		step.Columns = append(step.Columns, [2]string{column, value})
	}
	return step, nil
}

func (p *scenarioParser) requests(number int, line string) error {
	steps, err := parseRequests(line, p.version)
	if err != nil {
		return err
	}
	for _, step := range steps {
		step.Line, step.Show, step.Words = number, p.show, p.words
		for _, d := range p.before {
			if err := p.directive(number, d); err != nil {
				return err
			}
		}
		p.scenario.Steps = append(p.scenario.Steps, step)
		for _, d := range p.after {
			if err := p.directive(number, d); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	requestTail = regexp.MustCompile(`^(.*?)(?:\s+#([\w./-]+(?: [\w./-]+)*))?(?:\s+-> (\S+) as (\w+))?$`)
	requestLine = regexp.MustCompile(`^(?:@(\S+) )?((?:\+\S+ )*)([A-Z]+) (/\S*)(?: (.*))?$`)
)

// parseRequests gives one request for each version that the line names.
func parseRequests(line, version string) ([]Step, error) {
	tail := requestTail.FindStringSubmatch(line)
	head := requestLine.FindStringSubmatch(tail[1])
	if head == nil {
		return nil, fmt.Errorf("not a request: %s", line)
	}
	if head[1] != "" {
		version = head[1]
	}
	var header [][2]string
	for _, word := range strings.Fields(head[2]) {
		name, value, ok := strings.Cut(word[1:], "=")
		if !ok {
			return nil, fmt.Errorf("not a header: %s", word)
		}
		header = append(header, [2]string{name, value})
	}
	var steps []Step
	for _, v := range strings.Split(version, ",") {
		step := Step{
			Kind: Request, Version: v, Header: header, Method: head[3], Path: head[4], Body: head[5],
			IDs: strings.Fields(tail[2]), Capture: tail[3], Var: tail[4],
		}
		step.Text = strings.TrimRight(fmt.Sprintf("@%s %s%s %s %s", v, head[2], head[3], head[4], head[5]), " ")
		steps = append(steps, step)
	}
	return steps, nil
}
