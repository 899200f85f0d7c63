package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// write makes a configuration file of text.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ironic.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func load(t *testing.T, from Sources) *Config {
	t.Helper()
	c, err := Load(from)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

func TestDefaultsAreIronics(t *testing.T) {
	c := Defaults()
	for _, is := range []struct {
		what      string
		got, want any
	}{
		{"auth_strategy", c.Default.AuthStrategy, "noauth"},
		{"port", c.API.Port, 6385},
		{"max_limit", c.API.MaxLimit, 1000},
		{"clean_callback_timeout", c.Conductor.CleanCallbackTimeout, 30 * time.Minute},
		{"automated_clean", c.Conductor.AutomatedClean, true},
		{"force_power_state_during_sync", c.Conductor.ForcePowerStateDuringSync, false},
		{"disallow_clean_steps", c.API.DisallowCleanSteps, []string{"vendor.send_raw"}},
		{"hooks", c.Inspector.Hooks, "ramdisk-error,validate-interfaces,ports,architecture"},
		{"erase_devices_priority", c.Deploy.EraseDevicesPriority, (*int)(nil)},
		{"certificate_lifetime", c.Trust.CertificateLifetime, 90 * 24 * time.Hour},
		{"enabled_hardware_types", c.Default.EnabledHardwareTypes, []string(nil)},
		{"enabled interfaces", c.Default.EnabledInterfaces, map[string][]string{}},
		{"default interfaces", c.Default.DefaultInterfaces, map[string]string{"network": "noop", "storage": "noop"}},
		{"step priorities", c.Conductor.CleanStepPriorityOverride, map[string]string{}},
	} {
		if !reflect.DeepEqual(is.got, is.want) {
			t.Errorf("%s is %#v by default, not %#v", is.what, is.got, is.want)
		}
	}
	if c.Default.MyIP == "" || c.Default.Host == "" {
		t.Errorf("my_ip %q and host %q must be found out", c.Default.MyIP, c.Default.Host)
	}
	if c.IsSet("api", "port") {
		t.Error("a default counts as set")
	}
}

func TestStrongerSourcesWin(t *testing.T) {
	first := write(t, "[api]\nport = 1\nmax_limit = 10\nhost_ip = 192.0.2.1\n[conductor]\nclean_step_priority_override = raid.a:1\n")
	second := write(t, "[api]\nport = 2\nport = 3\n[CONDUCTOR]\nclean_step_priority_override = raid.b:2\n")
	c := load(t, Sources{
		Files:   []string{first, second},
		Environ: []string{"OS_API__MAX_LIMIT=20", "OS_DEFAULT__AUTH_STRATEGY=noauth", "OS_AUTH_URL=x", "OS_MINE__THING=1", "PATH=/bin"},
		Set:     []string{"api.max_limit=30", "DEFAULT.default_resource_class=big"},
	})
	if c.API.Port != 3 || c.API.MaxLimit != 30 || c.API.HostIP != "192.0.2.1" {
		t.Errorf("got %+v", c.API)
	}
	if c.Default.AuthStrategy != "noauth" || c.Default.DefaultResourceClass != "big" {
		t.Errorf("got %+v", c.Default)
	}
	want := map[string]string{"raid.a": "1", "raid.b": "2"}
	if got := c.Conductor.CleanStepPriorityOverride; !reflect.DeepEqual(got, want) {
		t.Errorf("lines of one option add up: got %v", got)
	}
	if !c.IsSet("api", "max_limit") || c.IsSet("api", "restrict_lookup") {
		t.Error("IsSet does not tell given options from others")
	}
}

func TestAnEnabledListIsExactlyWhatIsListed(t *testing.T) {
	c := load(t, Sources{Files: []string{write(t, "[DEFAULT]\nenabled_hardware_types = redfish, ipmi\nenabled_boot_interfaces=\ndefault_boot_interface = ipxe\n")}})
	if !slices.Equal(c.Default.EnabledHardwareTypes, []string{"redfish", "ipmi"}) {
		t.Errorf("got %v", c.Default.EnabledHardwareTypes)
	}
	if boot, set := c.Default.EnabledInterfaces["boot"]; !set || len(boot) != 0 {
		t.Errorf("an empty list must enable nothing: got %v, %v", boot, set)
	}
	if c.Default.DefaultInterfaces["boot"] != "ipxe" {
		t.Errorf("got %v", c.Default.DefaultInterfaces)
	}
}

func TestMistakesNameTheirPlace(t *testing.T) {
	for _, is := range []struct {
		text string
		set  []string
		env  []string
		want []string
	}{
		{text: "[api]\n\nport = many\n", want: []string{"ironic.conf:3", "[api] port", "whole number"}},
		{text: "[api]\nport = 70000\nmax_json_body_depth = 2", want: []string{"ironic.conf:2", "0 to 65535", "ironic.conf:3", "at least 8"}},
		{text: "[DEFAULT]\nauth_strategy = magic\n", want: []string{"noauth, none, http_basic, keystone"}},
		{text: "port = 1\n", want: []string{"line 1", "before the first [section]"}},
		{text: "[api]\nhost_ip = $nosuch\n", want: []string{"ironic.conf:2", "$nosuch", "no option"}},
		{text: "[inspector]\nhooks = $hooks\n", want: []string{"refers to itself"}},
		{text: "[store]\nconnection = mysql+pymysql://u:hunter2@db/ironic\n", want: []string{"[store] connection", "MySQL", "sqlite:///"}},
		{text: "[conductor]\nheartbeat_interval = 0\n", want: []string{"ironic.conf:2", "[conductor] heartbeat_interval", "at least 1"}},
		{text: "[conductor]\nheartbeat_timeout = -1\n", want: []string{"ironic.conf:2", "[conductor] heartbeat_timeout", "more than heartbeat_interval, which is 10s"}},
		{text: "[conductor]\nheartbeat_interval = 60\n", want: []string{"default: [conductor] heartbeat_timeout", "which is 1m0s"}},
		{text: "[api]\nmax_limit = 0\nramdisk_heartbeat_timeout = -5\n", want: []string{"ironic.conf:2", "[api] max_limit", "ironic.conf:3", "[api] ramdisk_heartbeat_timeout"}},
		{set: []string{"api.prot=1"}, want: []string{"--set api.prot", "did you mean [api] port?"}},
		{set: []string{"port"}, want: []string{"--set port", "section.option=value"}},
	} {
		from := Sources{Set: is.set, Environ: is.env}
		if is.text != "" {
			from.Files = []string{write(t, is.text)}
		}
		_, err := Load(from)
		if err == nil {
			t.Errorf("%q %v %v: no error", is.text, is.set, is.env)
			continue
		}
		for _, want := range is.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %q lacks %q", is.text, err, want)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

func TestAnUnknownOptionIsToldOfAndLetsTheStartGoOn(t *testing.T) {
	file := write(t, "[api]\nport = 7\nprot = 1\n[DEFAULT]\nport = 1\n[nobody]\nknows = hunter2\n[keystone_authtoken]\nvalid_interfaces = internal\n")
	c := load(t, Sources{Files: []string{file}, Environ: []string{"OS_CONDUCTOR__AUTOMATED_CLAEN=true"}})
	if c.API.Port != 7 {
		t.Errorf("the rest of the file is lost: port %d", c.API.Port)
	}
	var got []string
	for _, f := range c.Findings {
		if f.Verdict == Unknown {
			got = append(got, f.String())
		}
	}
	want := []string{
		file + ":3: [api] prot: did you mean [api] port?",
		file + ":5: [DEFAULT] port: did you mean [api] port?",
		file + ":7: [nobody] knows",
		file + ":9: [keystone_authtoken] valid_interfaces: did you mean [keystone_authtoken] interface?",
		"environment OS_CONDUCTOR__AUTOMATED_CLAEN: [conductor] automated_claen: did you mean [conductor] automated_clean?",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
}

func TestAnOptionWithoutMeaningIsToldOfOnce(t *testing.T) {
	file := write(t, "[oslo_messaging_notifications]\ndriver = messagingv2\ndriver = log\n[ilo]\nanything = 1\n")
	c := load(t, Sources{Files: []string{file}})
	var got []string
	for _, f := range c.Findings {
		got = append(got, string(f.Verdict)+": "+f.String())
	}
	slices.Sort(got)
	want := []string{
		"no meaning here: " + file + ":3: [oslo_messaging_notifications] driver: no message bus",
		"no meaning here: " + file + ":5: [ilo] anything: no ilo driver in Ironic any more",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAFolderStandsForTheFilesInIt(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"20-later.conf": "[api]\nport = 20\n", "10-first.conf": "[api]\nport = 10\nmax_limit = 10\n",
		".hidden.conf": "[api]\nport = 1\n", "30-not.txt": "[api]\nport = 1\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, after := write(t, "[api]\nmax_limit = 1\nhost_ip = 192.0.2.1\n"), write(t, "[api]\nmax_limit = 99\n")
	c := load(t, Sources{Files: []string{before, folder, after}})
	if c.API.Port != 20 || c.API.MaxLimit != 99 || c.API.HostIP != "192.0.2.1" {
		t.Errorf("got %+v", c.API)
	}
	want := []string{before, filepath.Join(folder, "10-first.conf"), filepath.Join(folder, "20-later.conf"), after}
	if !slices.Equal(c.Files, want) {
		t.Errorf("read %v", c.Files)
	}
	if _, err := Load(Sources{Files: []string{filepath.Join(folder, "none")}}); err == nil {
		t.Error("a folder that is not there is not told of")
	}
}

func TestStoreConnection(t *testing.T) {
	for _, is := range []struct {
		set  []string
		want Connection
	}{
		{nil, Connection{Engine: SQLite, Path: "ferrule-data/ferrule.sqlite"}},
		{[]string{"store.data_dir=/d"}, Connection{Engine: SQLite, Path: "/d/ferrule.sqlite"}},
		{[]string{"database.connection=sqlite:////var/lib/i.sqlite?timeout=3"}, Connection{Engine: SQLite, Path: "/var/lib/i.sqlite"}},
		{[]string{"database.connection=sqlite:///i.sqlite"}, Connection{Engine: SQLite, Path: "i.sqlite"}},
		{[]string{"database.connection=sqlite://"}, Connection{Engine: SQLite, Path: ":memory:"}},
		{[]string{"database.connection=mysql+pymysql://u@h/n"}, Connection{Engine: SQLite, Path: "ferrule-data/ferrule.sqlite"}},
		{[]string{"database.connection=postgresql+psycopg2://u@h/n"}, Connection{Engine: PostgreSQL, URL: "postgresql://u@h/n"}},
		{[]string{"database.connection=mysql://x", "store.connection=postgres://u@h/n"}, Connection{Engine: PostgreSQL, URL: "postgresql://u@h/n"}},
	} {
		got, err := load(t, Sources{Set: is.set}).StoreConnection()
		if err != nil || got != is.want {
			t.Errorf("%v: got %+v, %v", is.set, got, err)
		}
	}
}

func TestPlainHTTPNetworks(t *testing.T) {
	c := load(t, Sources{Set: []string{"siteagent.plain_http_bmcs=127.0.0.0/8, 192.0.2.7,fd00::1/64"}})
	got := make([]string, 0, 3)
	for _, network := range c.SiteAgent.PlainHTTPBMCs {
		got = append(got, network.String())
	}
	if !slices.Equal(got, []string{"127.0.0.0/8", "192.0.2.7/32", "fd00::/64"}) {
		t.Errorf("got %v", got)
	}
}

func TestAMetal3ConfigurationWorks(t *testing.T) {
	c := load(t, Sources{
		Files: []string{filepath.Join("testdata", "conf", "metal3.conf")},
		Environ: []string{
			"OS_CONDUCTOR__DEPLOY_CALLBACK_TIMEOUT=5400", "OS_PXE__BOOT_RETRY_TIMEOUT=3600",
			"OS_JSON_RPC__HTTP_BASIC_AUTH_USER_FILE=/etc/x", "OS_DEFAULT__FORCE_RAW_IMAGES=false",
		},
	})
	if c.Conductor.DeployCallbackTimeout != 90*time.Minute || c.Default.ForceRawImages {
		t.Errorf("the environment does not win: %+v", c.Conductor.DeployCallbackTimeout)
	}
	if *c.Deploy.EraseDevicesPriority != 0 || *c.Deploy.EraseDevicesMetadataPriority != 10 {
		t.Error("a priority of 0 must be told from none")
	}
	if c.API.UnixSocketMode != 0o666 || c.API.HostIP != "::" {
		t.Errorf("got %+v", c.API)
	}
	if want := "ramdisk-error,validate-interfaces,ports,architecture,parse-lldp"; c.Inspector.Hooks != want {
		t.Errorf("got %q", c.Inspector.Hooks)
	}
	if c.Count(Nothing) < 10 {
		t.Errorf("only %d options without meaning", c.Count(Nothing))
	}
}

// Files as the tools that set Ironic up write them start Ferrule, and only what
// neither Ironic nor Ferrule has is unknown in them.
func TestFilesOfIronicsInstallersAreTaken(t *testing.T) {
	for file, want := range map[string][]string{
		"metal3.conf": nil,
		"bifrost.conf": {
			"[conductor] send_sensor_data", "[conductor] send_sensor_data_for_undeployed_nodes", "[conductor] send_sensor_data_interval",
		},
		"kolla-ansible.conf": {
			"[oslo_messaging_rabbit] heartbeat_in_pthread",
			"[conductor] send_sensor_data", "[conductor] send_sensor_data_for_undeployed_nodes", "[conductor] send_sensor_data_interval",
			"[keystone_authtoken] valid_interfaces",
		},
	} {
		c := load(t, Sources{Files: []string{filepath.Join("testdata", "conf", file)}})
		var unknown []string
		for _, f := range c.Findings {
			if f.Verdict == Unknown {
				unknown = append(unknown, "["+f.Section+"] "+f.Option)
			}
		}
		if !slices.Equal(unknown, want) {
			t.Errorf("%s: unknown are %q", file, unknown)
		}
		if len(c.Losses()) == 0 {
			t.Errorf("%s: nothing is lost", file)
		}
		t.Logf("%s: you lose: %s", file, strings.Join(c.Losses(), "; "))
	}
}
