package runner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"ferrule/metal"
)

// TestEveryTaskHasAnAction: the vocabulary of plans, which package hardware
// owns, and the actions are the same.
func TestEveryTaskHasAnAction(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../hardware/task.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Task") {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		known[name] = true
		if _, ok := actions(name); !ok {
			t.Errorf("%s (%q) has no action", spec.Names[0].Name, name)
		}
		return true
	})
	for _, group := range actionGroups() {
		for name := range group {
			if !known[name] {
				t.Errorf("the action %q is not in the vocabulary", name)
			}
		}
	}
}

// TestEveryVerbHasAPlan: what the table of verbs has, the runner can begin or
// hand to the operation that waits.
func TestEveryVerbHasAPlan(t *testing.T) {
	for _, v := range metal.Verbs() {
		_, signals := verbSignals[v.Verb]
		begins := verbPlans[v.Verb].begin != nil
		if begins == v.Signals || signals != v.Signals {
			t.Errorf("%s: begins %v, signals %v", v.Verb, begins, signals)
		}
	}
	if len(verbPlans)+len(verbSignals) != len(metal.Verbs()) {
		t.Error("the runner knows verbs that the table does not have")
	}
}
