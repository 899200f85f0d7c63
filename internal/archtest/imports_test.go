package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the import path of the whole.
const module = "ferrule"

// mayImport says, for each folder at the top and a few below, which others of
// ours its code may import, by their folder at the top. "leaf" stands for metal,
// hardware, config, failpoint and durable, which anything may import; tests may
// import more.
var mayImport = []struct {
	folder, imports, because string
}{
	{"metal", "", "the domain is pure: the standard library and nothing else"},
	{"hardware", "metal", "the catalogue is pure: it describes hardware and reaches none"},
	{"config", "", "a leaf like metal, so that anything may be configured"},
	{"failpoint", "", "a leaf, so that any step may be a place to be killed at"},
	{"durable", "", "a leaf, so that every file is written in one way"},
	{"openapi", "leaf", "the description of the API knows no implementation"},
	{"migrations", "leaf", "SQL outlives the code that uses it"},
	{"store", "leaf openapi migrations", "persistence knows neither the wire nor who drives it"},
	{"trust", "leaf", "what decides who may do what depends on no storage and no transport"},
	{"store/storetest", "leaf store migrations compat-tests", "gives a test of any package a store on either engine"},
	{"link", "leaf trust openapi", "the wire carries envelopes and asks others for what is in them"},
	{"drivers", "leaf", "a driver knows a BMC and nothing of who sent the command"},
	{"siteagent", "leaf link trust drivers", "the site daemon has no database, no queue and no API"},
	{"api", "leaf store trust link openapi ui", "it speaks HTTP; hardware and the state machine's runner are behind the store"},
	{"conductor", "leaf store trust link openapi", "it decides; hardware is reached by commands only"},
	{"ui", "leaf", "pages, served by api"},
	{"lab", "leaf", "emulated hardware knows Redfish, HTTP and the ramdisk's protocol, so that it proves ours"},
	{"internal", "leaf", "tests of the code's shape"},
	{"compat-tests", "leaf lab", "outside clients and peers: Ferrule is reached as they reach it"},
	{"cmd", "leaf api conductor siteagent lab link trust drivers store openapi migrations ui", "the only place that wires packages together"},
}

var leaves = []string{"metal", "hardware", "config", "failpoint", "durable"}

// onlyIn says which folders alone may import an outside package.
var onlyIn = []struct {
	outside, folders, because string
}{
	{"github.com/stmcginnis/gofish", "drivers/redfish", "Redfish has one implementation behind one contract"},
	{"github.com/bmc-toolbox/bmclib", "drivers", "vendors' ways outside Redfish stay with the drivers"},
	{"github.com/go-jose/go-jose", "trust", "every signature and seal is made and checked in one place"},
	{"github.com/uptrace/bun", "store", "one code path to two engines"},
	{"github.com/jackc/pgx", "store compat-tests", "dialect differences live in the store; tests look at what a process has left behind"},
	{"modernc.org/sqlite", "store compat-tests", "dialect differences live in the store; tests look at what a process has left behind"},
	{"github.com/riverqueue/river", "store conductor cmd", "inserted in the store's transaction, worked by the conductor"},
	{"github.com/gophercloud/gophercloud", "api/auth conductor cmd compat-tests", "Keystone, Neutron and Glance, and the demo's client"},
	{"github.com/labstack/echo", "api cmd", "the web framework stays at the edge"},
	{"github.com/getkin/kin-openapi", "openapi api compat-tests", "the description is read where code and checks are made of it"},
	{"github.com/alecthomas/kong", "cmd", "command lines are read at the top"},
}

// neverReach says what a folder may not have even behind others.
var neverReach = []struct {
	folders, forbidden, because string
}{
	{"siteagent drivers cmd/ferrule-agent", "ferrule/store ferrule/api ferrule/conductor ferrule/migrations", "an agent that is taken over must hold nothing of the control plane"},
	{"siteagent drivers cmd/ferrule-agent", "github.com/riverqueue/river github.com/uptrace/bun github.com/labstack/echo database/sql", "the agent needs no database, queue or web framework, and each is attack surface at every site"},
	{"api conductor store", "ferrule/drivers", "the control plane never touches hardware"},
	{"conductor/runner conductor/rules", "ferrule/store ferrule/trust ferrule/link database/sql net/http os/exec", "what decides is a function of what it is given, so that no transaction waits for it and tests need no I/O"},
	{"api", "ferrule/conductor", "accepted work goes through the database, so that either can be killed"},
	{"conductor", "ferrule/api", "accepted work goes through the database, so that either can be killed"},
	{"lab", "ferrule/link ferrule/trust ferrule/store ferrule/siteagent ferrule/api ferrule/conductor ferrule/drivers", "emulated hardware that shared code with us would agree with our mistakes"},
}

// pkg is what `go list -json` tells of a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

// lookAtSources makes the go command count every source file as an input of the
// test, so that it does not take the result of other code from its cache.
func lookAtSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") || entry.Name() == "go.mod" {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ourPackages lists all of ours, with what is behind them.
func ourPackages(t *testing.T) []pkg {
	t.Helper()
	lookAtSources(t)
	command := exec.Command("go", "list", "-e", "-json=ImportPath,Standard,Imports,Deps", module+"/...")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

// folderOf is a package's place in the module.
func folderOf(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// topOf is the first part of a folder.
func topOf(folder string) string {
	top, _, _ := strings.Cut(folder, "/")
	return top
}

// within says whether a path is one of the given ones or below one.
func within(path, roots string) bool {
	return slices.ContainsFunc(strings.Fields(roots), func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

// isOurs tells our packages from the standard library's and others'.
func isOurs(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// isStandard tells the standard library by its first part, which has no dot.
func isStandard(importPath string) bool {
	return !isOurs(importPath) && !strings.Contains(topOf(importPath), ".")
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range ourPackages(t) {
		folder := folderOf(p.ImportPath)
		own, imports, because := ruleFor(folder)
		if own == "" {
			t.Errorf("%s: the map of imports has no line for this folder", p.ImportPath)
			continue
		}
		allowed := strings.Fields(strings.ReplaceAll(imports, "leaf", strings.Join(leaves, " ")))
		for _, imported := range p.Imports {
			to := folderOf(imported)
			if isOurs(imported) && !within(to, own) && !slices.Contains(allowed, topOf(to)) {
				t.Errorf("%s imports %s; %s", p.ImportPath, imported, because)
			}
			if slices.Contains(leaves, own) && !isStandard(imported) && !isOurs(imported) {
				t.Errorf("%s imports %s; %s", p.ImportPath, imported, because)
			}
			if isOurs(imported) && strings.HasSuffix(imported, "test") && !strings.HasSuffix(folder, "test") {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, imported)
			}
		}
	}
}

// ruleFor is the line of the map that fits a folder best.
func ruleFor(folder string) (own, imports, because string) {
	for _, rule := range mayImport {
		if within(folder, rule.folder) && len(rule.folder) > len(own) {
			own, imports, because = rule.folder, rule.imports, rule.because
		}
	}
	return own, imports, because
}

func TestOutsidePackagesStayInTheirFolder(t *testing.T) {
	for _, p := range ourPackages(t) {
		for _, imported := range p.Imports {
			for _, rule := range onlyIn {
				if within(imported, rule.outside) && !within(folderOf(p.ImportPath), rule.folders) {
					t.Errorf("%s imports %s; only %s may: %s", p.ImportPath, imported, rule.folders, rule.because)
				}
			}
		}
	}
}

func TestNothingForbiddenIsBehind(t *testing.T) {
	for _, p := range ourPackages(t) {
		for _, rule := range neverReach {
			if !within(folderOf(p.ImportPath), rule.folders) {
				continue
			}
			for _, behind := range p.Deps {
				if within(behind, rule.forbidden) {
					t.Errorf("%s reaches %s; %s", p.ImportPath, behind, rule.because)
				}
			}
		}
	}
}
