package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ferrule/openapi"
	"ferrule/openapi/conform"
)

// A boundary is a microversion at which something of the API begins, or has
// ended: it has to be asked for just before and just then.
type boundary struct {
	kind kind
	op   *openapi.Operation
	name string // of the parameter, argument or field
	word string // of the argument
	at   openapi.Version
}

type kind string

const (
	ofRoute   kind = "route"
	ofParam   kind = "parameter"
	everParam kind = "parameter ever" // asked for at any version, as none brought it
	ofArg     kind = "argument"
	ofWord    kind = "word"
	created   kind = "created field"
	patched   kind = "patched field"
	selected  kind = "selected field"
	sortedBy  kind = "sort key"
	shown     kind = "shown field"
	shownFull kind = "field shown in detail"
)

func (b boundary) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s at %s", b.kind, b.op.ID, b.name, b.word, b.at)), " ")
}

// takesInput reports whether the boundary is of something that a client writes,
// well or badly.
func (b boundary) takesInput() bool {
	return slices.Contains([]kind{ofRoute, ofParam, everParam, ofArg, ofWord, created, patched}, b.kind)
}

// takesBad reports whether there is something of the sort that can be wrong; any
// text may be an item of a list.
func (b boundary) takesBad() bool {
	if p, ok := b.op.Param(b.name); ok && (b.kind == ofParam || b.kind == everParam) && p.Kind == openapi.ParamList && b.name != "fields" {
		return false
	}
	return b.takesInput()
}

// boundaries are all that the registry tells of.
func boundaries() []boundary {
	var all []boundary
	for i := range openapi.Operations {
		op := &openapi.Operations[i]
		if op.Own {
			continue
		}
		all = append(all, operationBoundaries(op)...)
		for _, r := range openapi.Resources {
			if r.Name == op.Resource {
				all = append(all, fieldBoundaries(op, r)...)
			}
		}
	}
	// Where the operation itself begins no earlier, its own boundary is seen.
	return slices.DeleteFunc(all, func(b boundary) bool {
		return b.at <= openapi.MinVersion || b.kind != ofRoute && b.at <= b.op.Min
	})
}

func operationBoundaries(op *openapi.Operation) []boundary {
	all := []boundary{{kind: ofRoute, op: op, at: op.Min}}
	if op.AlsoAt != 0 {
		all = append(all, boundary{kind: ofRoute, op: op, at: op.AlsoAt + 1})
	}
	for _, p := range op.Params {
		switch {
		case p.Min > op.Min:
			all = append(all, boundary{kind: ofParam, op: op, name: p.Name, at: p.Min})
		case op.Method == "GET" && op.Resource != "":
			all = append(all, boundary{kind: everParam, op: op, name: p.Name, at: openapi.MaxVersion})
		}
	}
	for _, arg := range op.Args {
		all = append(all, boundary{kind: ofArg, op: op, name: arg.Name, at: arg.Min})
		for _, word := range slices.Sorted(maps.Keys(arg.Since)) {
			all = append(all, boundary{kind: ofWord, op: op, name: arg.Name, word: word, at: arg.Since[word]})
		}
	}
	return all
}

func fieldBoundaries(op *openapi.Operation, r *openapi.Resource) []boundary {
	var all []boundary
	for i := range r.Fields {
		f := &r.Fields[i]
		ends := []openapi.Version{f.Min}
		if f.Max < openapi.MaxVersion {
			ends = append(ends, f.Max+1)
		}
		for _, at := range ends {
			for _, k := range fieldKinds(op, f, at) {
				all = append(all, boundary{kind: k, op: op, name: f.Name, at: at})
			}
		}
	}
	return all
}

// fieldKinds are the ways in which an operation has to do with a field at a
// version.
func fieldKinds(op *openapi.Operation, f *openapi.Field, at openapi.Version) []kind {
	var all []kind
	add := func(k kind, yes bool) {
		if yes {
			all = append(all, k)
		}
	}
	add(created, op.Method == "POST" && f.Create)
	add(patched, op.Method == "PATCH" && f.Patch)
	if op.Method != "GET" {
		return all
	}
	fields, selects := op.Param("fields")
	add(selected, selects && f.Select && at > fields.Min)
	_, sorts := op.Param("sort_key")
	add(sortedBy, sorts && f.Sort)
	whole := strings.HasSuffix(op.Path, "/detail") || strings.HasPrefix(op.ID, "get")
	detail, details := op.Param("detail")
	add(shown, f.List || f.Detail && whole)
	add(shownFull, !f.List && f.Detail && !whole && details && at > detail.Min)
	return all
}

// asked is a request as far as it matters to boundaries, with what real Ironic
// answered at each version at which it was sent.
type asked struct {
	query    url.Values
	body     any
	statuses map[openapi.Version][]int
}

// isAbout reports whether the request, which is of the operation, has to do with
// the boundary.
func (a *asked) isAbout(b boundary) bool {
	switch b.kind {
	case ofRoute:
		return true
	case ofParam, everParam:
		return a.query.Has(b.name)
	case ofArg, created:
		_, given := a.argument(b.name)
		return given
	case ofWord:
		word, _ := a.argument(b.name)
		return word == b.word
	case patched:
		return a.patches(b.name)
	case selected:
		return slices.Contains(strings.Split(strings.Join(a.query["fields"], ","), ","), b.name)
	case sortedBy:
		return a.query.Get("sort_key") == b.name
	case shown:
		return !a.query.Has("fields") && !a.query.Has("detail")
	case shownFull:
		return a.query.Get("detail") == "true"
	}
	return false
}

func (a *asked) argument(name string) (any, bool) {
	object, _ := a.body.(map[string]any)
	v, ok := object[name]
	if !ok && a.query.Has(name) {
		return a.query.Get(name), true
	}
	return v, ok
}

func (a *asked) patches(field string) bool {
	list, _ := a.body.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		op, _ := item.(map[string]any)
		return op["path"] == "/"+field
	})
}

// pairs reports whether the request was sent on both sides of a boundary, and
// was a good one or a bad one by its answer where there is something to take.
func (a *asked) pairs(b boundary, good bool) bool {
	before, then := a.statuses[b.at-1], a.statuses[b.at]
	if b.kind == everParam {
		before = slices.Concat(slices.Collect(maps.Values(a.statuses))...)
		then = before
	}
	if len(before) == 0 || len(then) == 0 {
		return false
	}
	if b.kind == ofRoute && b.at == b.op.AlsoAt+1 {
		then = before // it has ended
	}
	return slices.ContainsFunc(then, func(status int) bool {
		return good && (status < 400 || status >= 500) || !good && status >= 400
	})
}

// counted are the parts of requests that only make them differ.
var counted = regexp.MustCompile(`([0-9a-f]{2}:){5}[0-9a-f]{2}|\bk\d+\b|"boot_index": \d+|CUSTOM_K\d+`)

// requestsAsked are the requests of the cases by operation, those of the same
// text together.
func requestsAsked(d *conform.Description, scenarios []Scenario, recording Recording) map[string][]*asked {
	operation := map[string]string{}
	for _, op := range openapi.Operations {
		operation[op.Method+" "+op.Path] = op.ID
	}
	all, byText := map[string][]*asked{}, map[string]*asked{}
	for _, s := range scenarios {
		answers := recording[s.Key()]
		for _, step := range s.Steps {
			if !step.Recorded() || len(answers) == 0 {
				continue
			}
			answer := answers[0]
			answers = answers[1:]
			if step.Kind != Request {
				continue
			}
			version := answeredAt(step, answer)
			id := operation[step.Method+" "+d.Route(routedPath(step, version))]
			text := s.File + counted.ReplaceAllString(step.Method+" "+step.Path+" "+step.Body, "#")
			if byText[text] == nil {
				byText[text] = readRequest(step)
				all[id] = append(all[id], byText[text])
			}
			byText[text].statuses[version] = append(byText[text].statuses[version], answer.Status)
		}
	}
	return all
}

func readRequest(step Step) *asked {
	a := &asked{statuses: map[openapi.Version][]int{}}
	_, query, _ := strings.Cut(step.Path, "?")
	a.query, _ = url.ParseQuery(query)             // what is malformed asks for nothing
	_ = json.Unmarshal([]byte(step.Body), &a.body) // nor does what is no JSON
	return a
}

// want is a boundary, and whether it is to be asked for well or badly.
type want struct {
	boundary
	good bool
}

// unasked lists what no request asks for on both sides.
func unasked(requests map[string][]*asked) []want {
	var missing []want
	for _, b := range boundaries() {
		for _, good := range []bool{true, false} {
			if !good && !b.takesBad() {
				continue
			}
			if !slices.ContainsFunc(requests[b.op.ID], func(a *asked) bool { return a.isAbout(b) && a.pairs(b, good) }) {
				missing = append(missing, want{b, good})
			}
		}
	}
	return missing
}

// Everything that comes with a microversion is asked for at that version and at
// the one before, with the same request: with one that Ironic takes, and with
// one that it refuses.
func TestEveryBoundaryIsAsked(t *testing.T) {
	if *only != "" || *update {
		return
	}
	missing := unasked(requestsAsked(description(t), loadCases(t), loadRecording(t)))
	for _, m := range missing {
		how := map[bool]string{true: "well", false: "badly"}[m.good]
		if impossible[m.boundary.String()+" "+how] == "" {
			t.Errorf("nobody asks %s for %s", how, m.boundary)
		}
	}
	t.Logf("%d boundaries, %d sides not asked", len(boundaries()), len(missing))
}

// impossible are the requests that cannot be made, each with its reason.
var impossible = map[string]string{
	"parameter ever listNodePorts conductor_groups at 1.115 well":            "a list has one parent",
	"parameter ever listNodePortsDetail conductor_groups at 1.115 well":      "a list has one parent",
	"parameter ever listPortgroupPorts conductor_groups at 1.115 well":       "a list has one parent",
	"parameter ever listPortgroupPortsDetail conductor_groups at 1.115 well": "a list has one parent",
	"parameter ever listNodePortgroups conductor_groups at 1.115 well":       "a list has one parent",
	"parameter ever listNodePortgroupsDetail conductor_groups at 1.115 well": "a list has one parent",
	"parameter ever listPortgroupPorts node at 1.115 well":                   "a list has one parent",
	"parameter ever listPortgroupPorts node_uuid at 1.115 well":              "a list has one parent",
	"parameter ever listPortgroupPorts portgroup at 1.115 badly":             "the path's portgroup takes its place",
	"parameter ever listPortgroupPortsDetail node at 1.115 well":             "a list has one parent",
	"parameter ever listPortgroupPortsDetail node_uuid at 1.115 well":        "a list has one parent",
	"parameter ever listPortgroupPortsDetail portgroup at 1.115 badly":       "the path's portgroup takes its place",
	"parameter ever listNodePorts node at 1.115 badly":                       "the path's node takes its place",
	"parameter ever listNodePortsDetail node at 1.115 badly":                 "the path's node takes its place",
	"parameter ever listNodePortgroups node at 1.115 badly":                  "the path's node takes its place",
	"parameter ever listNodePortgroupsDetail node at 1.115 badly":            "the path's node takes its place",
	"parameter ever listNodeConnectors node at 1.115 badly":                  "the path's node takes its place",
	"parameter ever listNodeTargets node at 1.115 badly":                     "the path's node takes its place",
	"parameter ever listNodePortgroups address at 1.115 well":                "a list has one parent",
	"parameter ever listNodePortgroupsDetail address at 1.115 well":          "a list has one parent",
	"parameter ever listNodesDetail include_children at 1.115 badly":         "any word is taken",
	"parameter ever listChassisNodesDetail include_children at 1.115 badly":  "any word is taken",
	"parameter ever listFirmware detail at 1.115 well":                       "Ironic wants a JSON boolean, which no query can hold",
	"parameter ever listConductors marker at 1.115 well":                     "a page of one conductor has none after it",
	"route heartbeat at 1.22 well":                                           "a heartbeat has to name an agent_version, which is newer",
	"route getNodeVolume at 1.32 badly":                                      "Ironic looks for no node there",
	"route injectNMI at 1.29 well":                                           "no fake hardware can be interrupted",
	"route getMedia at 1.93 well":                                            "no fake hardware has virtual media to show",
	"parameter listNodePorts portgroup at 1.24 well":                         "a list of ports has one parent",
	"parameter listNodePortsDetail portgroup at 1.24 well":                   "a list of ports has one parent",
	"parameter listNodePorts shard at 1.82 well":                             "a list of ports has one parent",
	"parameter listNodePortsDetail shard at 1.82 well":                       "a list of ports has one parent",
	"parameter listPortgroupPorts shard at 1.82 well":                        "a list of ports has one parent",
	"parameter listPortgroupPortsDetail shard at 1.82 well":                  "a list of ports has one parent",
	"parameter listNodePortgroups shard at 1.106 well":                       "a list of portgroups has one parent",
	"parameter listNodePortgroupsDetail shard at 1.106 well":                 "a list of portgroups has one parent",
	"selected field listDrivers default_firmware_interface at 1.86 well":     "the list shows none of the interfaces, so that none can be asked for",
	"selected field listDrivers enabled_firmware_interfaces at 1.86 well":    "the list shows none of the interfaces, so that none can be asked for",
}

// Every microversion changes something that is asked for: what the registry
// tells of, or what microversions.tsv has a request for.
func TestEveryMicroversionIsAsked(t *testing.T) {
	if *only != "" || *update {
		return
	}
	rows, err := readTable("microversions.tsv", 3)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, s := range loadCases(t) {
		for _, step := range s.Steps {
			if step.Kind == Request {
				asked[step.Version+"\t"+s.File+"\t"+strings.TrimSpace(step.Method+" "+step.Path+" "+step.Body)] = true
			}
		}
	}
	changes := map[openapi.Version]bool{}
	for _, b := range boundaries() {
		changes[b.at] = true
	}
	for _, row := range rows {
		at := versionOf(t, row[0])
		changes[at] = true
		if !askedOnBothSides(asked, at, glob(row[2])) {
			t.Errorf("nobody asks %q at %s and at %s, and so whether %s", row[2], at-1, at, row[1])
		}
	}
	for v := openapi.MinVersion + 1; v <= openapi.MaxVersion; v++ {
		if !changes[v] {
			t.Errorf("%s changes nothing: microversions.tsv has to say what it is for", v)
		}
	}
}

func versionOf(t *testing.T, word string) openapi.Version {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(word, "1."))
	if err != nil {
		t.Fatal(err)
	}
	return openapi.Version(n)
}

// askedOnBothSides reports whether one request that matches was sent at a
// version and at the one before.
func askedOnBothSides(asked map[string]bool, at openapi.Version, match *regexp.Regexp) bool {
	for key := range asked {
		version, rest, _ := strings.Cut(key, "\t")
		_, text, _ := strings.Cut(rest, "\t")
		if version == at.String() && match.MatchString(text) && asked[(at-1).String()+"\t"+rest] {
			return true
		}
	}
	return false
}
