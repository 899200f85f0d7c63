package hardware

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
)

var update = flag.Bool("update", false, "write testdata/catalogue.txt anew")

// TestTheCatalogueIsAsWritten prints every row, so that a change of one shows in
// the diff of the file.
func TestTheCatalogueIsAsWritten(t *testing.T) {
	var b strings.Builder
	for _, h := range Types() {
		printType(&b, h)
	}
	for _, row := range sortedRows() {
		printRow(&b, row)
	}
	file := filepath.Join("testdata", "catalogue.txt")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the catalogue has changed; go test ./hardware -update writes the file anew:\n%s", diff)
	}
}

func sortedRows() []*Interface {
	return slices.SortedFunc(maps.Values(rowsOf(Types())), func(a, b *Interface) int {
		return strings.Compare(string(a.Type)+" "+a.Name, string(b.Type)+" "+b.Name)
	})
}

func printType(b *strings.Builder, h Type) {
	fmt.Fprintf(b, "hardware type %s, hosted by %s, driver %s\n", h.Name, h.Host, h.Driver)
	for _, t := range metal.InterfaceTypes() {
		var names []string
		for _, row := range h.Supported[t] {
			names = append(names, row.Name)
		}
		fmt.Fprintf(b, "\t%s: %s\n", t, strings.Join(names, ", "))
	}
	if h.TakesAny {
		b.WriteString("\ttakes any other that is enabled\n")
	}
	b.WriteString("\n")
}

// sample is a node with the row and, of the rest, what works with it.
func sample(row *Interface) Machine {
	c, err := NewCatalogue(Enabled{}, ValidationSettings{})
	if err != nil {
		panic(err)
	}
	n := &metal.Node{UUID: "n", Driver: "redfish"}
	if err := c.ResolveInterfaces(n); err != nil {
		panic(err)
	}
	*n.InterfaceField(row.Type) = row.Name
	return c.Machine(n)
}

func printRow(b *strings.Builder, row *Interface) {
	fmt.Fprintf(b, "%s %s\n", row.Type, row.Name)
	line := func(what string, values ...any) {
		if text := fmt.Sprint(values...); text != "" && text != "[]" && text != "false" {
			fmt.Fprintf(b, "\t%s: %s\n", what, text)
		}
	}
	line("absent", row.Absent)
	line("ramdisk", row.Ramdisk)
	line("unserved", row.Unserved)
	for _, p := range row.Properties {
		marks := ""
		if p.Required {
			marks += " required"
		}
		if p.Secret {
			marks += " secret"
		}
		fmt.Fprintf(b, "\tdriver_info %s%s: %s\n", p.Key, marks, p.Help)
	}
	line("needs", row.Needs)
	line("offers", row.Offers)
	line("capabilities", row.Capabilities)
	line("power targets", row.Power.Targets)
	printManagement(line, row.Management)
	line("checks ports", row.Network.ChecksPorts)
	line("inspects by itself", row.Boot.Inspects)
	line("logical disks", slices.Sorted(maps.Keys(row.RAID.LogicalDisks)))
	for _, name := range slices.Sorted(maps.Keys(row.Vendor.Methods)) {
		m := row.Vendor.Methods[name]
		line("vendor method "+name, fmt.Sprintf("%v async %v exclusive %v needs %q: %s", m.HTTPMethods, m.Async, m.ExclusiveLock, m.Needs, m.Description))
	}
	m := sample(row)
	for _, s := range row.Steps {
		line("step "+s.Name(), fmt.Sprintf("%v priority %d ramdisk %v args %v needs %v", s.Kinds, s.Priority, s.RequiresRamdisk, slices.Sorted(maps.Keys(s.ArgsInfo)), s.Needs))
		if s.Tasks != nil {
			line("\ttasks", words(s.Tasks(m, s.Step)))
		}
	}
	for _, piece := range pieces(m, row) {
		line("plan "+piece.name, words(piece.tasks))
	}
	b.WriteString("\n")
}

func printManagement(line func(string, ...any), m Management) {
	line("boot devices", m.BootDevices)
	if m.Fixed != nil {
		line("fixed boot device", m.Fixed.Device)
	}
	line("sets the boot device", m.SetsBootDevice)
	line("tells health", m.TellsHealth)
	line("knows the BMC", m.KnowsBMC)
}

type piece struct {
	name  string
	tasks []Task
}

// pieces are those that the runner takes from the row.
func pieces(m Machine, row *Interface) []piece {
	list := []piece{{"refresh", row.Refresh}, {"begin deployment", row.Deploy.Begin}, {"start console", row.Console.Start}, {"stop console", row.Console.Stop}}
	add := func(name string, tasks []Task) { list = append(list, piece{name, tasks}) }
	if row.Boot.Prepare != nil {
		add("boot ramdisk", m.BootRamdisk("word"))
		add("reboot ramdisk", m.RebootRamdisk())
		add("leave ramdisk", m.LeaveRamdisk())
		add("boot instance", m.BootInstance())
	}
	if row.Deploy.TearDown != nil {
		add("tear down", row.Deploy.TearDown(m))
	}
	if row.Inspect.Tasks != nil {
		add("inspect", row.Inspect.Tasks(m, Inspection{CreatePorts: true, PowerOff: true}))
	}
	if row.Rescue.Begin != nil {
		add("rescue", row.Rescue.Begin(m))
		add("unrescue", row.Rescue.End(m))
		add("clean up rescue", row.Rescue.CleanUp(m, false))
		add("clean up aborted rescue", row.Rescue.CleanUp(m, true))
	}
	return slices.DeleteFunc(list, func(p piece) bool { return len(p.tasks) == 0 })
}

// words writes tasks in one line; a question mark is for one that is tried.
func words(tasks []Task) string {
	list := make([]string, len(tasks))
	for i, t := range tasks {
		list[i] = t.Do
		if t.Args != "" {
			list[i] += " " + string(t.Args)
		}
		if t.BestEffort {
			list[i] += "?"
		}
	}
	return strings.Join(list, "; ")
}
