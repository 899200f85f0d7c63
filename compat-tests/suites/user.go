package suites

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// user is who runs a suite, and how the service is to be configured for that.
// Without a name, there is no authentication.
type user struct {
	mode           string // Ironic's auth_strategy
	name, password string
	file           string // the service's list of users
}

var modes = []string{"noauth", "http_basic"}

func newUser(t *testing.T, mode string) user {
	t.Helper()
	if mode == "noauth" {
		return user{mode: mode}
	}
	who := user{mode: mode, name: "una", password: rand.Text(), file: filepath.Join(t.TempDir(), "htpasswd")}
	hash, err := bcrypt.GenerateFromPassword([]byte(who.password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(who.file, fmt.Appendf(nil, "%s:%s\n", who.name, hash), 0o600); err != nil {
		t.Fatal(err)
	}
	return who
}

// conf is an ironic.conf that lets this user in, with the fake hardware that
// the suites ask for.
func (u user) conf() string {
	conf := "[DEFAULT]\nauth_strategy = " + u.mode + "\n"
	if u.name != "" {
		conf += "http_basic_auth_user_file = " + u.file + "\n"
	}
	return conf + fakeHardware
}

const fakeHardware = `
enabled_hardware_types = fake-hardware
enabled_boot_interfaces = fake
enabled_deploy_interfaces = fake
enabled_management_interfaces = fake
enabled_power_interfaces = fake
enabled_network_interfaces = noop
enabled_inspect_interfaces = fake,no-inspect
enabled_raid_interfaces = fake,no-raid
enabled_bios_interfaces = fake,no-bios
enabled_vendor_interfaces = fake,no-vendor
enabled_console_interfaces = fake,no-console
enabled_storage_interfaces = fake,noop
enabled_rescue_interfaces = fake,no-rescue
enabled_firmware_interfaces = fake,no-firmware
`

// clouds is a clouds.yaml in which each cloud that openstacksdk's tests name is
// this service alone.
func (u user) clouds(url string) string {
	auth := fmt.Sprintf("{auth_type: none, auth: {endpoint: %q}", url)
	if u.name != "" {
		auth = fmt.Sprintf("{auth_type: http_basic, auth: {endpoint: %q, username: %q, password: %q}", url, u.name, u.password)
	}
	var b strings.Builder
	b.WriteString("clouds:\n")
	for _, cloud := range []string{"devstack", "devstack-alt", "devstack-admin", "devstack-system-admin"} {
		fmt.Fprintf(&b, "  %s: %s, has_compute: false, has_image: false}\n", cloud, auth)
	}
	return b.String()
}

// testConf is a test.conf of python-ironicclient's tests. They know only
// Keystone's way of giving a name and a password; what plugin takes these, the
// environment says.
func (u user) testConf(url string) string {
	if u.name == "" {
		return fmt.Sprintf("[functional]\nauth_strategy = noauth\nironic_url = %s\n", url)
	}
	return fmt.Sprintf("[functional]\nauth_strategy = keystone\nos_auth_url = %s\nos_username = %s\nos_password = %s\n", url, u.name, u.password)
}

func (u user) environ(url string) []string {
	if u.name == "" {
		return nil
	}
	return []string{"OS_AUTH_TYPE=http_basic", "OS_ENDPOINT=" + url}
}
