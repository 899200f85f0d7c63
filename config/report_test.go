package config

import (
	"strings"
	"testing"
)

func TestListShowsEveryOptionAndReadsBack(t *testing.T) {
	var list strings.Builder
	if err := List(&list); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[api]\n", "#port = 6385\n", "#enabled_hardware_types = <built in>\n",
		"# no meaning here: no message bus", "#plain_http_bmcs = \n",
	} {
		if !strings.Contains(list.String(), want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	// With every option uncommented that has a default, it is a file we read.
	var file strings.Builder
	for line := range strings.Lines(list.String()) {
		option, isOption := strings.CutPrefix(line, "#")
		switch {
		case !isOption || strings.HasPrefix(option, " "):
			file.WriteString(line)
		case !strings.Contains(line, "= <"):
			file.WriteString(option)
		}
	}
	var findings strings.Builder
	if err := Check(strings.NewReader(file.String()), "all.conf", &findings); err != nil {
		t.Errorf("the list does not read back: %v", err)
	}
	if !strings.Contains(findings.String(), "unknown: 0\n") {
		t.Errorf("the list has unknown options:\n%s", findings.String())
	}
}

func TestCheckSaysWhatBecomesOfEachOption(t *testing.T) {
	const file = `[DEFAULT]
auth_strategy = noauth
transport_url = rabbit://user:hunter2@host/
[api]
port = 6385
[conductor]
configdrive_use_swift = false
deploy_callback_timout = 5
`
	const want = `honoured: 2
  ironic.conf:2: [DEFAULT] auth_strategy
  ironic.conf:5: [api] port
no meaning here: 2
  ironic.conf:3: [DEFAULT] transport_url: no message bus and no RPC
  ironic.conf:7: [conductor] configdrive_use_swift (now [deploy] configdrive_use_object_store): no Swift client
unknown: 1
  ironic.conf:8: unknown option [conductor] deploy_callback_timout; did you mean [conductor] deploy_callback_timeout?
`
	var findings strings.Builder
	err := Check(strings.NewReader(file), "ironic.conf", &findings)
	if err == nil || !strings.Contains(err.Error(), "1 unknown") {
		t.Errorf("got error %v", err)
	}
	if findings.String() != want {
		t.Errorf("got:\n%s", findings.String())
	}
}

func TestCheckSaysWhatIsWrongWithAValue(t *testing.T) {
	var findings strings.Builder
	err := Check(strings.NewReader("[api]\nport = x\n"), "ironic.conf", &findings)
	if err == nil || !strings.Contains(err.Error(), "ironic.conf:2: [api] port: must be a whole number") {
		t.Errorf("got %v", err)
	}
}
