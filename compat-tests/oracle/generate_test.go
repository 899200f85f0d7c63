package oracle

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ferrule/openapi"
)

//go:generate go test -count=1 -run BoundaryCases . -write-cases

var writeCases = flag.Bool("write-cases", false, "write the cases of boundaries that no other case asks for")

// The files that the generator writes.
const (
	inputCases = "50-boundary-inputs" // what clients write
	viewCases  = "51-boundary-views"  // what is shown to them
)

// generator writes the cases that ask for boundaries, one scenario for each
// operation.
type generator struct {
	b     strings.Builder
	count int
	show  string
}

// generateCases is a file of cases that ask for everything that is missing.
func generateCases(missing []want) string {
	g := &generator{}
	g.line("# Written by go generate: what no other case asks for of the boundaries of")
	g.line("# microversions, on both sides, with requests that are taken and that are refused.")
	byOperation := map[string][]want{}
	for _, w := range missing {
		byOperation[w.op.ID] = append(byOperation[w.op.ID], w)
	}
	for i := range openapi.Operations {
		if wants := byOperation[openapi.Operations[i].ID]; len(wants) > 0 {
			g.scenario(&openapi.Operations[i], wants)
		}
	}
	return g.b.String()
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }

// scenario asks for what is missing of one operation. What deletes its object
// comes last.
func (g *generator) scenario(op *openapi.Operation, wants []want) {
	g.line("\n== %s", op.ID)
	g.show, g.count = "all", 0
	for _, line := range furnish(op, wants) {
		g.line("%s", g.number(line))
	}
	slices.SortStableFunc(wants, func(a, b want) int { return cmp.Compare(last(a), last(b)) })
	for _, w := range wants {
		g.ask(w)
	}
}

func last(w want) int {
	if w.kind == ofRoute && w.good {
		return 1
	}
	return 0
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// furnish gives the lines that make what an operation's requests are about.
func furnish(op *openapi.Operation, wants []want) []string {
	var lines []string
	made := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if made[name] {
			return
		}
		made[name] = true
		for _, n := range furniture[name].needs {
			add(n)
		}
		lines = append(lines, furniture[name].lines...)
	}
	for _, m := range pathParameter.FindAllStringSubmatch(op.Path, -1) {
		add(m[1])
	}
	texts := body[op.ID]
	for _, w := range wants {
		texts += fieldValue[op.Resource+"."+w.name][0] + paramValue[w.name][0]
	}
	for _, name := range slices.Sorted(maps.Keys(furniture)) {
		if word := furniture[name].word; strings.HasPrefix(word, "{") && strings.Contains(texts, word) {
			add(name)
		}
	}
	if resource := listed[op.Resource]; op.Method == "GET" && resource != "" {
		add(resource) // there has to be one to show
	}
	return append(lines, before[op.ID]...)
}

// listed is the furniture that is of a kind.
var listed = map[string]string{
	"Node": "node", "Port": "port", "Portgroup": "portgroup", "Chassis": "chassis", "VolumeConnector": "connector",
	"VolumeTarget": "target", "Allocation": "allocation", "DeployTemplate": "template", "Runbook": "runbook", "InspectionRule": "inspection_rule",
}

// before are the lines that make an operation succeed.
var before = map[string][]string{
	"heartbeat": {
		"port p1 of n1", "set n1 provision_state=clean-wait maintenance=true",
		"GET /v1/lookup?addresses={p1_mac} -> config.agent_token as token",
	},
	"deleteTrait": {"PUT /v1/nodes/{n1}/traits/CUSTOM_A"},
	"setProvision": {
		`POST /v1/runbooks {"name": "CUSTOM_R", "steps": [{"interface": "bios", "step": "factory_reset", "order": 1}]}`,
	},
}

// number puts fresh numbers into a text.
func (g *generator) number(text string) string {
	for strings.Contains(text, "%") {
		g.count++
		switch {
		case strings.Contains(text, "%02x:%02x"):
			text = strings.Replace(text, "%02x:%02x", fmt.Sprintf("%02x:%02x", g.count/256, g.count%256), 1)
		case strings.Contains(text, "%d"):
			text = strings.Replace(text, "%d", fmt.Sprint(g.count), 1)
		default:
			return text
		}
	}
	return text
}

// ask writes the request of a want at both sides of its version.
func (g *generator) ask(w want) {
	request, state := w.request()
	if key := shownKey(w); key != g.show {
		g.show = key
		g.line("show %s", key)
	}
	if w.kind == everParam {
		g.line("@%s %s", w.at, request)
		return
	}
	if state == "" && !strings.Contains(request, "%") {
		g.line("@%s,%s %s", w.at-1, w.at, request)
		return
	}
	for _, v := range []openapi.Version{w.at - 1, w.at} {
		if state != "" {
			g.line("node n in %s", state)
		}
		g.line("@%s %s", v, g.number(request))
		if state != "" {
			g.line("settle n")
		}
	}
}

// shownKey is what of an answer is recorded: the field that the want is about,
// and one that is always there.
func shownKey(w want) string {
	switch w.kind {
	case created, patched:
		return firstField(w.op) + "," + w.name
	case shown, shownFull, selected:
		if key := listKey(w.op); key != "" {
			return key + "/" + firstField(w.op) + "," + key + "/" + w.name
		}
		return firstField(w.op) + "," + w.name
	case sortedBy:
		if key := listKey(w.op); key != "" {
			return key + "/" + firstField(w.op)
		}
	}
	return "all"
}

func firstField(op *openapi.Operation) string {
	for _, r := range openapi.Resources {
		if r.Name == op.Resource {
			return r.Fields[0].Name
		}
	}
	return "uuid"
}

// listKey is the key under which a list answers.
func listKey(op *openapi.Operation) string {
	if strings.HasPrefix(op.ID, "get") {
		return ""
	}
	words := strings.Split(strings.TrimSuffix(op.Path, "/detail"), "/")
	return words[len(words)-1]
}

// request is the request of a want, with the state that its node has to be in.
func (w want) request() (text, state string) {
	path := pathParameter.ReplaceAllStringFunc(w.op.Path, func(p string) string { return furniture[p[1:len(p)-1]].word })
	head := w.op.Method + " " + path
	switch w.kind {
	case ofRoute:
		return w.routeRequest(head), ""
	case ofParam, everParam:
		return head + "?" + w.paramQuery(), ""
	case ofArg, ofWord:
		v := argValue[strings.TrimSpace(w.op.ID+" "+w.name+" "+w.word)]
		return w.argRequest(head, v.good, v.bad, v.state)
	case created:
		return head + " " + w.createBody(), ""
	case patched:
		return fmt.Sprintf(`%s [{"op": "add", "path": "/%s", "value": %s}]`, head, w.name, w.value()), ""
	case selected:
		return head + "?fields=" + firstField(w.op) + "," + w.name, ""
	case sortedBy:
		return head + "?sort_key=" + w.name, ""
	case shownFull:
		return head + "?detail=true", ""
	}
	return head, ""
}

// routeRequest is refused because its object is not there, or because of what is
// in it.
func (w want) routeRequest(head string) string {
	text := body[w.op.ID]
	switch {
	case w.op.Method == "PATCH" && text == "":
		text = `[{"op": "add", "path": "/extra", "value": {"a": 1}}]`
	case !w.good && badBody[w.op.ID] != "":
		text = badBody[w.op.ID]
	case !w.good && strings.Contains(w.op.Path, "{"):
		first := furniture[pathParameter.FindStringSubmatch(w.op.Path)[1]].word
		head = strings.Replace(head, first, "nosuch", 1)
	case !w.good && w.op.Method == "POST":
		text = `{"nosuch": 1}`
	case !w.good:
		head += "?nosuch=1"
	}
	if !w.good && w.op.Method == "PATCH" {
		text = `[{"op": "add", "path": "/nosuch", "value": 1}]`
	}
	return strings.TrimSpace(head + " " + text)
}

func (w want) paramQuery() string {
	p, _ := w.op.Param(w.name)
	pair, known := paramValue[w.name]
	switch {
	case !known && p.Kind == openapi.ParamBool:
		pair = [2]string{"true", "maybe"}
	case !known && p.Kind == openapi.ParamInt:
		pair = [2]string{"1", "x"}
	case !known:
		pair = [2]string{"x", ""}
	}
	switch w.name {
	case "sort_key", "fields":
		pair[0] = firstField(w.op)
	case "marker":
		pair[0] = furniture[listed[w.op.Resource]].word
	}
	switch {
	case w.good:
		return w.name + "=" + pair[0]
	case pair[1] == "":
		return w.name + "=a&" + w.name + "=b"
	}
	return w.name + "=" + pair[1]
}

// argRequest is a verb that is refused in another state, where it is not by its
// arguments.
func (w want) argRequest(head, good, bad, state string) (text, in string) {
	if w.good || bad == "" {
		text = good
	} else {
		text = bad
	}
	if !w.good && bad == "" {
		state = "verifying"
	}
	if state != "" {
		head = strings.Replace(head, "{n1}", "{n}", 1)
	}
	return head + " " + text, state
}

func (w want) createBody() string {
	base := body[w.op.ID]
	if w.name == "node_ident" {
		base = strings.Replace(base, `"node_uuid": "{n1}", `, "", 1)
	}
	return strings.TrimSuffix(base, "}") + fmt.Sprintf(`, "%s": %s}`, w.name, w.value())
}

// value is the JSON of the field that the want is about.
func (w want) value() string {
	pair, known := fieldValue[w.op.Resource+"."+w.name]
	for _, r := range openapi.Resources {
		if f, _, ok := r.Field(w.name); ok && r.Name == w.op.Resource && !known {
			pair = kindValue[f.Kind]
			if strings.HasSuffix(f.Name, "_interface") {
				pair = [2]string{`"fake"`, `"nosuch"`}
			}
		}
	}
	if w.good {
		return pair[0]
	}
	return pair[1]
}

// The generated cases are what is missing in the others.
func TestBoundaryCasesAreCurrent(t *testing.T) {
	if *only != "" || *update {
		return
	}
	byHand := slices.DeleteFunc(loadCases(t), func(s Scenario) bool { return s.File == inputCases || s.File == viewCases })
	missing := unasked(requestsAsked(description(t), byHand, loadRecording(t)))
	for file, ofInput := range map[string]bool{inputCases: true, viewCases: false} {
		text := generateCases(slices.DeleteFunc(slices.Clone(missing), func(w want) bool { return w.takesInput() != ofInput }))
		path := "cases/" + file + ".txt"
		if *writeCases {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		written, err := os.ReadFile(path)
		if err != nil || string(written) != text {
			t.Errorf("%s is not what the description asks for: run go generate ./compat-tests/oracle, and record it with -update -scenario ^%s", path, file)
		}
	}
}
