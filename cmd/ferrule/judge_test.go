package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ferrule/config"
)

// ofInstaller is a file as a tool that sets Ironic up writes it.
func ofInstaller(name string) string {
	return filepath.Join("..", "..", "config", "testdata", "conf", name)
}

func TestAStartWithAFileOfAnInstallerLogsOneWarning(t *testing.T) {
	policies := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policies, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"metal3.conf", "bifrost.conf", "kolla-ansible.conf"} {
		log := filepath.Join(t.TempDir(), "log")
		cfg, err := sources{
			Config: []string{ofInstaller(name)}, Data: t.TempDir(), Listen: "127.0.0.1:0", Auth: "none",
			Set: []string{
				"DEFAULT.log_file=" + log, "DEFAULT.log_dir=", "store.connection=sqlite:///" + filepath.Join(t.TempDir(), "db"),
				"api.unix_socket=", "api.enable_ssl_api=false", "oslo_policy.policy_file=" + policies,
			},
		}.load()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := openPlane(t.Context(), cfg, parts{api: true, conductor: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "level=WARN"); n != 1 {
			t.Errorf("%s: %d warnings:\n%s", name, n, text)
		}
		if !strings.Contains(string(text), "ferrule config check "+ofInstaller(name)) {
			t.Errorf("%s: the log does not say how to see more:\n%s", name, text)
		}
	}
}

func TestACheckNamesValuesThatAreNotBuiltIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ironic.conf")
	text := "[DEFAULT]\nenabled_hardware_types = ipmi, redfish\nenabled_boot_interfaces = made-up,redfish-virtual-media\n" +
		"default_boot_interface = made-up\nauth_strategy = keystone\n[inspector]\nhooks = $default_hooks,made-up-hook\n" +
		"[conductor]\nclean_step_priority_override = deploy.x:many\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := config.Check(config.Sources{Files: []string{file}, Judge: judge})
	if err == nil {
		t.Error("a start would stop, and the check says nothing of it")
	}
	for _, want := range []string{"boot interface made-up", "inspection hook made-up-hook"} {
		if !slices.Contains(report.YouLose, want) {
			t.Errorf("%q lacks %q", report.YouLose, want)
		}
	}
	var out strings.Builder
	if err := report.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[keystone_authtoken] auth_url", "clean_step_priority_override",
		file + ":3: [DEFAULT] enabled_boot_interfaces: the boot interface made-up is not built in",
		file + ":4: [DEFAULT] default_boot_interface: the boot interface made-up is not built in",
		file + ":7: [inspector] hooks: the inspection hook made-up-hook is not built in and is left out",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "redfish-virtual-media is not") {
		t.Errorf("what is built in counts as missing:\n%s", out.String())
	}
}
