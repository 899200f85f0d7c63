package archtest

import (
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ferrule/config"
)

// TestHonouredOptionsAreThoseThatCodeReads keeps options.tsv honest: an option
// is honoured when something reads its field, and "later" when nothing does.
// With -update it corrects the file.
func TestHonouredOptionsAreThoseThatCodeReads(t *testing.T) {
	if testing.Short() && !*update {
		t.Skip("type-checks everything")
	}
	lookAtSources(t)
	read := fieldsRead(t)
	file := filepath.Join("..", "..", "config", "options.tsv")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fields := optionFields()
	var corrected strings.Builder
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(line, "\t")
		if len(cells) < 6 || cells[4] == "-" || cells[4] == "lost" {
			corrected.WriteString(line)
			continue
		}
		field, is := fields[cells[0]+"."+cells[1]], cells[4]
		want := map[bool]string{true: "honoured", false: "later"}[read[field]]
		if strings.HasPrefix(is, "own") {
			want = map[bool]string{true: "own", false: "own-later"}[read[field]]
		}
		if is != want && !*update {
			t.Errorf("%s.%s is %q, and should be %q by what reads config.%s; `make generate` corrects it", cells[0], cells[1], is, want, field)
		}
		cells[4] = want
		corrected.WriteString(strings.Join(cells, "\t"))
	}
	if *update {
		if err := os.WriteFile(file, []byte(corrected.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// optionFields gives for each option its field, as Type.Field.
func optionFields() map[string]string {
	fields := map[string]string{}
	whole := reflect.TypeFor[config.Config]()
	for i := range whole.NumField() {
		section := whole.Field(i).Tag.Get("section")
		if section == "" {
			continue
		}
		part := whole.Field(i).Type
		for j := range part.NumField() {
			name, field := part.Field(j).Tag.Get("option"), part.Name()+"."+part.Field(j).Name
			fields[section+"."+name] = field
			for _, kind := range config.InterfaceKinds() {
				fields[section+"."+strings.Replace(name, "*", kind, 1)] = field
			}
		}
	}
	return fields
}

// fieldsRead gives the fields of config's types that any code but tests names.
func fieldsRead(t *testing.T) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	for _, p := range loadTyped(t, nil, module+"/...") {
		for _, tree := range p.Syntax {
			ast.Inspect(tree, func(node ast.Node) bool {
				if selector, ok := node.(*ast.SelectorExpr); ok {
					if field := configField(p.TypesInfo.Selections[selector]); field != "" {
						read[field] = true
					}
				}
				return true
			})
		}
	}
	return read
}

// configField names the field of a type of config that is selected, or "".
func configField(selection *types.Selection) string {
	if selection == nil || selection.Kind() != types.FieldVal || selection.Obj().Pkg() == nil ||
		selection.Obj().Pkg().Path() != module+"/config" {
		return ""
	}
	receiver := selection.Recv()
	if pointer, ok := receiver.(*types.Pointer); ok {
		receiver = pointer.Elem()
	}
	named, ok := receiver.(*types.Named)
	if !ok {
		return ""
	}
	return named.Obj().Name() + "." + selection.Obj().Name()
}
