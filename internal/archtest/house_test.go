package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longestFile is where one concept has become two.
const longestFile = 600

// A source is one Go file of ours, parsed.
type source struct {
	path    string // from the top of the module
	text    string
	files   *token.FileSet
	tree    *ast.File
	isTest  bool
	isMade  bool // by a generator
	imports map[string]bool
}

func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2) {
			return fs.SkipDir
		}
		if entry.IsDir() && path != root {
			// A module of its own (the benchmark, which sleeps to measure) has its own rules.
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{
			path: strings.TrimPrefix(path, root+string(filepath.Separator)), text: string(text), files: files, tree: tree,
			isTest: strings.HasSuffix(path, "_test.go"), isMade: ast.IsGenerated(tree), imports: map[string]bool{},
		}
		for _, imported := range tree.Imports {
			s.imports[strings.Trim(imported.Path.Value, `"`)] = true
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// calls gives the lines on which a file calls receiver.name.
func (s source) calls(receiver, name string) []int {
	var lines []int
	ast.Inspect(s.tree, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != name {
			return true
		}
		if on, ok := selector.X.(*ast.Ident); ok && on.Name == receiver {
			lines = append(lines, s.files.Position(selector.Pos()).Line)
		}
		return true
	})
	return lines
}

func TestFilesAreOneConcept(t *testing.T) {
	for _, s := range sources(t) {
		if lines := strings.Count(s.text, "\n"); lines > longestFile && !s.isMade {
			t.Errorf("%s has %d lines: past %d a file is two concepts", s.path, lines, longestFile)
		}
	}
}

func TestNothingSleepsOrIsSkipped(t *testing.T) {
	for _, s := range sources(t) {
		// In a bubble of synctest, time is made up and a sleep costs none.
		if !s.imports["testing/synctest"] {
			for _, line := range s.calls("time", "Sleep") {
				t.Errorf("%s:%d: wait for the event, or ask again until a deadline", s.path, line)
			}
		}
		inShortRuns := s.shortOnly()
		for _, name := range []string{"Skip", "Skipf", "SkipNow"} {
			for _, line := range s.calls("t", name) {
				if !inShortRuns[line] {
					t.Errorf("%s:%d: a test that does not run proves nothing; only short runs may leave one out", s.path, line)
				}
			}
		}
	}
}

// shortOnly are the lines under an if that asks for testing.Short.
func (s source) shortOnly() map[int]bool {
	lines := map[int]bool{}
	for _, branch := range s.shortBranches() {
		for line := s.files.Position(branch.Pos()).Line; line <= s.files.Position(branch.Body.End()).Line; line++ {
			lines[line] = true
		}
	}
	return lines
}

// shortBranches are the ifs that ask for testing.Short, whatever else they ask.
func (s source) shortBranches() []*ast.IfStmt {
	var found []*ast.IfStmt
	ast.Inspect(s.tree, func(node ast.Node) bool {
		if branch, ok := node.(*ast.IfStmt); ok && asksForShort(branch.Cond) {
			found = append(found, branch)
		}
		return true
	})
	return found
}

func asksForShort(condition ast.Expr) bool {
	switch c := condition.(type) {
	case *ast.BinaryExpr:
		return asksForShort(c.X) || asksForShort(c.Y)
	case *ast.CallExpr:
		asks, ok := c.Fun.(*ast.SelectorExpr)
		return ok && asks.Sel.Name == "Short"
	}
	return false
}

// A test that returns in a short run is reported as passed, though it looked at
// nothing.
func TestShortRunsSayWhatTheyLeaveOut(t *testing.T) {
	for _, s := range sources(t) {
		for _, branch := range s.shortBranches() {
			if len(branch.Body.List) != 1 {
				continue
			}
			if _, ok := branch.Body.List[0].(*ast.ReturnStmt); ok {
				t.Errorf("%s:%d: say t.Skip with the reason instead", s.path, s.files.Position(branch.Pos()).Line)
			}
		}
	}
}

// clockless are the packages that are told what time it is, and given the end of
// what they may take as a context.
var clockless = []string{"conductor/runner", "conductor/rules", "hardware"}

func TestPureCodeReadsNoClock(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest || !slices.Contains(clockless, filepath.ToSlash(filepath.Dir(s.path))) {
			continue
		}
		for _, name := range []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"} {
			for _, line := range s.calls("time", name) {
				t.Errorf("%s:%d: time.%s: this code is given the time", s.path, line, name)
			}
		}
		for _, name := range []string{"WithTimeout", "WithDeadline"} {
			for _, line := range s.calls("context", name) {
				t.Errorf("%s:%d: context.%s: this code is given its context", s.path, line, name)
			}
		}
	}
}

var leftOver = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b|/work/(main|shared)`)

func TestNothingIsLeftForLater(t *testing.T) {
	for _, s := range sources(t) {
		for _, group := range s.tree.Comments {
			if found := leftOver.FindString(group.Text()); found != "" {
				t.Errorf("%s:%d: %s", s.path, s.files.Position(group.Pos()).Line, found)
			}
		}
	}
}

var vague = regexp.MustCompile(`(?i)^(utils?|common|helpers?|misc|shared|manager)$`)

func TestPackagesAreNamedForOneThing(t *testing.T) {
	for _, s := range sources(t) {
		if name := s.tree.Name.Name; vague.MatchString(name) {
			t.Errorf("%s: package %s says nothing of what it owns", s.path, name)
		}
	}
}

func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	said := map[string]bool{}
	for _, s := range sources(t) {
		folder := filepath.Dir(s.path)
		said[folder] = said[folder] || s.tree.Doc != nil && !s.isTest
	}
	for _, s := range sources(t) {
		if folder := filepath.Dir(s.path); !s.isTest && !said[folder] {
			t.Errorf("package %s has no doc comment", folder)
			said[folder] = true
		}
	}
}
