package archtest

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOnlyHardwareKnowsImplementations: no value read from a node's *_interface
// field, and no name of a row, is compared with a name outside package hardware.
// What an implementation is like is asked of its row.
func TestOnlyHardwareKnowsImplementations(t *testing.T) {
	lookAtSources(t)
	for _, p := range loadTyped(t, nil, module+"/...") {
		if within(folderOf(p.PkgPath), "hardware lab compat-tests") {
			continue // the catalogue itself, and what shares no code with the control plane
		}
		for _, found := range comparisons(p.TypesInfo, p.Syntax) {
			t.Errorf("%s: an implementation's name is compared here; ask its row in package hardware", p.Fset.Position(found))
		}
	}
}

// TestComparisonsAreFound holds the test above to examples of each form.
func TestComparisonsAreFound(t *testing.T) {
	const source = `package metal
import ("slices"; "strings")
func example(n *Node, old Node) (k int) {
	if n.DeployInterface == "direct" { k++ }
	if "fake" != n.Interface(PowerInterface) { k++ }
	if *n.InterfaceField(PowerInterface) == "fake" { k++ }
	switch n.RAIDInterface { case "agent": k++ }
	name := n.BootInterface
	if name == "fake" { k++ }
	k += map[string]int{"fake": 1}[name]
	if slices.Contains([]string{"fake"}, n.BIOSInterface) { k++ }
	if strings.HasPrefix(n.ManagementInterface, "redfish") { k++ }
	// These are no such comparisons.
	if n.DeployInterface == "" || n.DeployInterface != old.DeployInterface || n.Driver == "redfish" { k++ }
	return k
}`
	file, err := filepath.Abs(filepath.Join("..", "..", "metal", "example.go"))
	if err != nil {
		t.Fatal(err)
	}
	p := loadTyped(t, map[string][]byte{file: []byte(source)}, module+"/metal")[0]
	var lines []int
	for _, found := range comparisons(p.TypesInfo, p.Syntax) {
		lines = append(lines, p.Fset.Position(found).Line)
	}
	if want := []int{4, 5, 6, 7, 9, 10, 11, 12}; !slices.Equal(lines, want) {
		t.Errorf("found in lines %v, not in %v", lines, want)
	}
}

// loadTyped loads packages with their types; overlay has files that are not there.
func loadTyped(t *testing.T, overlay map[string][]byte, pattern string) []*packages.Package {
	t.Helper()
	mode := packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile
	loaded, err := packages.Load(&packages.Config{Mode: mode, Overlay: overlay}, pattern)
	if err != nil {
		t.Fatalf("load the code: %v", err)
	}
	for _, p := range loaded {
		for _, problem := range p.Errors {
			t.Errorf("load the code: %v", problem)
		}
	}
	return loaded
}

// names follows the names of implementations through a package.
type names struct {
	info *types.Info
	vars map[types.Object]bool // variables that hold one
}

// comparisons are the places where such a name is compared, in their order.
func comparisons(info *types.Info, files []*ast.File) []token.Pos {
	n := &names{info: info, vars: map[types.Object]bool{}}
	for before := -1; before < len(n.vars); { // until no further variable is found
		before = len(n.vars)
		n.inspect(files, n.follow)
	}
	var found []token.Pos
	n.inspect(files, func(node ast.Node) {
		if n.compares(node) {
			found = append(found, node.Pos())
		}
	})
	return found
}

func (n *names) inspect(files []*ast.File, visit func(ast.Node)) {
	for _, f := range files {
		ast.Inspect(f, func(node ast.Node) bool {
			visit(node)
			return true
		})
	}
}

// follow notes the variables that a name is assigned to.
func (n *names) follow(node ast.Node) {
	a, ok := node.(*ast.AssignStmt)
	if !ok || len(a.Lhs) != len(a.Rhs) {
		return
	}
	for i, value := range a.Rhs {
		id, ok := a.Lhs[i].(*ast.Ident)
		if !ok || !n.isName(value) {
			continue
		}
		if v := variableOf(n.info, id); v != nil {
			n.vars[v] = true
		}
	}
}

func variableOf(info *types.Info, id *ast.Ident) types.Object {
	if v := info.Defs[id]; v != nil {
		return v
	}
	return info.Uses[id]
}

// isName reports whether the expression is the name of an implementation.
func (n *names) isName(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := n.info.Uses[e].(*types.Var)
		return ok && n.vars[v]
	case *ast.SelectorExpr:
		s := n.info.Selections[e]
		if s == nil || s.Kind() != types.FieldVal {
			return false
		}
		if named(s.Recv()) == module+"/hardware.Interface" {
			return e.Sel.Name == "Name"
		}
		// The fields of metal.Node, also where another type embeds it.
		return of(s, "metal") && strings.HasSuffix(e.Sel.Name, "Interface") && e.Sel.Name != "Interface"
	case *ast.StarExpr:
		return n.isCall(e.X, "InterfaceField") || n.isName(e.X)
	case *ast.CallExpr:
		return n.isCall(e, "Interface")
	}
	return false
}

// isCall reports whether e calls the node's method of that name.
func (n *names) isCall(e ast.Expr, method string) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != method {
		return false
	}
	s := n.info.Selections[f]
	return s != nil && of(s, "metal")
}

// of reports whether what is selected belongs to one of our folders.
func of(s *types.Selection, folder string) bool {
	return s.Obj().Pkg() != nil && s.Obj().Pkg().Path() == module+"/"+folder
}

func named(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if nt, ok := t.(*types.Named); ok && nt.Obj().Pkg() != nil {
		return nt.Obj().Pkg().Path() + "." + nt.Obj().Name()
	}
	return ""
}

// isWord reports whether the expression is a constant text, not the empty one:
// that a field is not set may be asked by anybody.
func (n *names) isWord(e ast.Expr) bool {
	v := n.info.Types[e].Value
	return v != nil && v.Kind() == constant.String && constant.StringVal(v) != ""
}

// compares reports whether the node of the syntax compares a name.
func (n *names) compares(node ast.Node) bool {
	switch e := node.(type) {
	case *ast.BinaryExpr:
		compares := e.Op == token.EQL || e.Op == token.NEQ
		return compares && (n.isName(e.X) && n.isWord(e.Y) || n.isName(e.Y) && n.isWord(e.X))
	case *ast.SwitchStmt:
		return e.Tag != nil && n.isName(e.Tag)
	case *ast.IndexExpr:
		_, isMap := n.info.Types[e.X].Type.Underlying().(*types.Map)
		return isMap && n.isName(e.Index)
	case *ast.CallExpr:
		return n.searches(e)
	}
	return false
}

// searches reports whether a call of slices or strings compares a name.
func (n *names) searches(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || n.info.Uses[f.Sel] == nil || n.info.Uses[f.Sel].Pkg() == nil {
		return false
	}
	switch n.info.Uses[f.Sel].Pkg().Path() {
	case "slices", "strings":
		return slices.ContainsFunc(call.Args, n.isName)
	}
	return false
}
