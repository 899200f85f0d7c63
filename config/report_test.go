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
	report, err := Check(Sources{Files: []string{write(t, file.String())}})
	if err != nil {
		t.Errorf("the list does not read back: %v", err)
	}
	for _, f := range report.Findings {
		if f.Verdict == Unknown || f.Verdict == Loses || f.Verdict == Refused {
			t.Errorf("a default is %s: %s", f.Verdict, f)
		}
	}
}

func TestCheckSortsByWhatTheUserLoses(t *testing.T) {
	file := write(t, `[DEFAULT]
auth_strategy = noauth
transport_url = rabbit://user:hunter2@host/
[api]
port = 6385
[conductor]
configdrive_use_swift = true
deploy_callback_timout = 5
[deploy]
fast_track = true
erase_skip_read_only = yes
erase_devices_priority = abc
shred_final_overwrite_with_zeros = True
[nova]
send_power_notifications = false
[neutron]
auth_url = http://keystone
cleaning_network = clean
[database]
connection = mysql+pymysql://u:hunter2@db/ironic
`)
	const want = `refused, so that a start stops: 1
  FILE:12: [deploy] erase_devices_priority: must be a whole number
lost, since it is not built in: 6
  FILE:7: [deploy] configdrive_use_object_store (here [conductor] configdrive_use_swift): objects in Swift
  FILE:10: [deploy] fast_track: a ramdisk that runs already is booted again
  FILE:11: [deploy] erase_skip_read_only: not built yet: pass over disks that are read only
  FILE:17: [neutron] auth_url: networks and DHCP by Neutron
  FILE:18: [neutron] cleaning_network: networks and DHCP by Neutron
  FILE:20: [database] connection: MySQL is not supported: the database is a SQLite file in [store] data_dir, unless [store] connection names a PostgreSQL
unknown, and ignored as in Ironic: 1
  FILE:8: [conductor] deploy_callback_timout: did you mean [conductor] deploy_callback_timeout?
honoured: 2
  FILE:2: [DEFAULT] auth_strategy
  FILE:5: [api] port
no meaning here, and not missed: 3
  FILE:3: [DEFAULT] transport_url: no message bus and no RPC
  FILE:13: [deploy] shred_final_overwrite_with_zeros: as it is without the option
  FILE:15: [nova] send_power_notifications: as it is without the option
you lose: [deploy] erase_skip_read_only; fast track; networks and DHCP by Neutron; objects in Swift; the database in MySQL
`
	report, err := Check(Sources{Files: []string{file}})
	if err == nil || !strings.Contains(err.Error(), "stop at 1") {
		t.Errorf("got error %v", err)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(text.String(), file, "FILE"); got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestNothingIsLostByAFileOfHonouredOptions(t *testing.T) {
	report, err := Check(Sources{Files: []string{write(t, "[api]\nport = 1\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(text.String(), "\nyou lose: nothing\n") {
		t.Errorf("got:\n%s", text.String())
	}
}
