package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"ferrule/compat-tests/env"
)

// oslo runs testdata/oslo.py in real Ironic's Python.
func oslo(t *testing.T, what string, input any) []byte {
	t.Helper()
	question, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(env.Venv(t, env.Ironic), "-W", "ignore", filepath.Join("testdata", "oslo.py"), what)
	command.Stdin = bytes.NewReader(question)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	answer, err := command.Output()
	if err != nil {
		t.Fatalf("oslo.py %s: %v\n%s", what, err, complaint.Bytes())
	}
	return answer
}

// differs lists where the catalogue differs from Ironic on purpose, by column.
var differs = map[string]string{
	"DEFAULT.auth_strategy": "type default", // "none" is a word for noauth; keystone needs a Keystone
	"api.host_ip":           "default",      // nobody is let in from outside unasked

	"conductor.force_power_state_during_sync": "default", // what is seen is believed

	// All that is built in and works is enabled.
	"DEFAULT.enabled_hardware_types": "default", "DEFAULT.enabled_bios_interfaces": "default",
	"DEFAULT.enabled_boot_interfaces": "default", "DEFAULT.enabled_console_interfaces": "default",
	"DEFAULT.enabled_deploy_interfaces": "default", "DEFAULT.enabled_firmware_interfaces": "default",
	"DEFAULT.enabled_inspect_interfaces": "default", "DEFAULT.enabled_management_interfaces": "default",
	"DEFAULT.enabled_network_interfaces": "default", "DEFAULT.enabled_power_interfaces": "default",
	"DEFAULT.enabled_raid_interfaces": "default", "DEFAULT.enabled_rescue_interfaces": "default",
	"DEFAULT.enabled_storage_interfaces": "default", "DEFAULT.enabled_vendor_interfaces": "default",
	"DEFAULT.default_network_interface": "default", // no Neutron is assumed

	// The machine decides.
	"DEFAULT.host": "default", "DEFAULT.my_ip": "default", "DEFAULT.tempdir": "default", "DEFAULT.pybasedir": "default",
	"oslo_messaging_rabbit.processname": "default",

	// The choices change with each release or Python.
	"DEFAULT.pin_release_version": "type", "DEFAULT.hash_ring_algorithm": "type",
}

func TestTheCatalogueIsRealIronics(t *testing.T) {
	if testing.Short() {
		t.Skip("asks real Ironic")
	}
	ours := map[string]Option{}
	for _, option := range Options() {
		if !option.Own && option.Name != "*" {
			ours[option.Key()] = option
		}
	}
	for line := range strings.Lines(string(oslo(t, "options", nil))) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		key := cells[0] + "." + cells[1]
		option, ok := ours[key]
		if !ok {
			t.Errorf("%s is missing", key)
			continue
		}
		delete(ours, key)
		if option.Type != cells[2] && !strings.Contains(differs[key], "type") {
			t.Errorf("%s is of type %s, not %s", key, cells[2], option.Type)
		}
		if want := strings.ReplaceAll(cells[3], `\n`, "\n"); option.Default != want && !strings.Contains(differs[key], "default") {
			t.Errorf("%s is %q by default, not %q", key, want, option.Default)
		}
		if got := strings.Join(option.aliases, ","); got != cells[4] {
			t.Errorf("%s has the other names %q, not %q", key, cells[4], got)
		}
	}
	// What Ironic had until lately, and what its exporter for Prometheus adds.
	for _, key := range []string{"deploy.default_boot_option", "oslo_messaging_notifications.location"} {
		delete(ours, key)
	}
	for key := range ours {
		t.Errorf("Ironic has no %s", key)
	}
}

// valueCase is one file of testdata/values.
type valueCase struct {
	name, conf string
	ask        [][2]string
	want       []string // JSON, or "error"
}

func valueCases(t *testing.T) []valueCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "values", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var cases []valueCase
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := valueCase{name: filepath.Base(file), conf: string(archive.Files[0].Data)}
		for line := range strings.Lines(string(archive.Files[1].Data)) {
			key, want, _ := strings.Cut(strings.TrimSpace(line), " = ")
			section, name, _ := strings.Cut(key, ".")
			c.ask, c.want = append(c.ask, [2]string{section, name}), append(c.want, want)
		}
		cases = append(cases, c)
	}
	return cases
}

// valueOf answers as testdata/oslo.py does.
func valueOf(found []given, section, name string) string {
	f := &filler{values: map[string][]given{}}
	for _, g := range found {
		f.values[g.option.Key()] = append(f.values[g.option.Key()], g)
	}
	option, _ := theCatalogue().find(section, name)
	kind, err := parseType(option.Type)
	if err != nil {
		return "error"
	}
	texts, _ := f.texts(option, kind.multi)
	var all []any
	for _, text := range texts {
		expanded, err := f.expand(option, text, 0)
		if err != nil {
			return "error"
		}
		value, err := kind.parse(expanded)
		if err != nil {
			return "error"
		}
		all = append(all, value)
	}
	var whole any = all
	if !kind.multi && len(all) == 1 {
		whole = all[0]
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return "error"
	}
	return string(text)
}

func TestValuesAreReadAsRecorded(t *testing.T) {
	for _, c := range valueCases(t) {
		var l loader
		l.readFile(write(t, c.conf))
		for _, err := range l.mistakes {
			t.Errorf("%s: %v", c.name, err)
		}
		for i, asked := range c.ask {
			if got := valueOf(l.found, asked[0], asked[1]); got != c.want[i] {
				t.Errorf("%s: %s.%s is %s, recorded is %s", c.name, asked[0], asked[1], got, c.want[i])
			}
		}
	}
}

func TestRealOsloConfigAgreesWithTheRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("asks real Ironic")
	}
	cases := valueCases(t)
	var question []map[string]any
	for _, c := range cases {
		question = append(question, map[string]any{"conf": c.conf, "ask": c.ask})
	}
	var answers [][]struct {
		Value json.RawMessage
		Error string
	}
	if err := json.Unmarshal(oslo(t, "values", question), &answers); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		for j, asked := range c.ask {
			got := "error"
			if answers[i][j].Error == "" {
				var compact bytes.Buffer
				if err := json.Compact(&compact, answers[i][j].Value); err != nil {
					t.Fatal(err)
				}
				got = compact.String()
			}
			if got != c.want[j] {
				t.Errorf("%s: %s.%s is %s, recorded is %s", c.name, asked[0], asked[1], got, c.want[j])
			}
		}
	}
}

// pieces are what made-up files are put together from: whatever the dialect
// gives a meaning to, and what other dialects do.
var pieces = []string{
	"[", "]", "=", ":", "#", ";", "'", "\"", " ", "\t", "\n", "\n", "\n", "\r\n", "\r", "a", "b", "$", "\\", "%", "é", "\u00a0", "\u2028", "\f", "\v", "\x1c", "\x85",
	"[s]\n", "[DEFAULT]\n", "[Default]\n", "name = value\n", "name: value\n", " continued\n", "#comment\n",
}

func madeUpFile(random *rand.Rand) string {
	var file strings.Builder
	if random.IntN(4) > 0 {
		file.WriteString("[s]\n")
	}
	for range random.IntN(24) {
		file.WriteString(pieces[random.IntN(len(pieces))])
	}
	return strings.ToValidUTF8(file.String(), "")
}

func TestRealOsloConfigReadsMadeUpFilesAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("asks real Ironic")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	files := make([]string, 5000)
	for i := range files {
		files[i] = madeUpFile(random)
	}
	var answers []struct {
		Found [][3]string
		Line  int
	}
	if err := json.Unmarshal(oslo(t, "ini", files), &answers); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		want := fmt.Sprintf("%q", answers[i].Found)
		if answers[i].Line > 0 {
			want = "wrong" // it names a later line where it finds out later
		}
		if difference := cmp.Diff(want, readAlike(file)); difference != "" {
			t.Errorf("%q (-real +ours):\n%s", file, difference)
		}
	}
}

// readAlike says what our reader makes of a file.
func readAlike(file string) string {
	assignments, err := parseINI(strings.NewReader(file))
	if err != nil {
		return "wrong"
	}
	found := [][3]string{}
	for _, a := range assignments {
		found = append(found, [3]string{a.section, a.name, a.value})
	}
	return fmt.Sprintf("%q", found)
}

func FuzzLoad(f *testing.F) {
	for _, file := range []string{"[api]\nport = 1\n", "[a\n", "x", "[inspector]\nhooks = $hooks\n", "[pxe]\n a\n", "[conductor]\nbootloader_by_arch = a:b,\n"} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "ironic.conf")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, loaded := Load(Sources{Files: []string{file}})
		_, checked := Check(Sources{Files: []string{file}})
		if (loaded == nil) != (checked == nil) {
			t.Errorf("a start says %v, a check says %v", loaded, checked)
		}
	})
}
