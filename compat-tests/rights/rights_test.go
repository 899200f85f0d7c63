package rights

import (
	"crypto/rand"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
)

var update = flag.Bool("update", false, "ask real Ironic, and write recorded/ anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ironicConf is real Ironic as far as the table asks.
const ironicConf = `
[DEFAULT]
enabled_hardware_types = fake-hardware
enabled_power_interfaces = fake
enabled_management_interfaces = fake
enabled_boot_interfaces = fake
enabled_deploy_interfaces = fake
enabled_inspect_interfaces = no-inspect
enabled_network_interfaces = noop
enabled_raid_interfaces = fake
enabled_bios_interfaces = no-bios
enabled_vendor_interfaces = fake
enabled_storage_interfaces = noop
enabled_console_interfaces = no-console
enabled_rescue_interfaces = no-rescue
enabled_firmware_interfaces = no-firmware
`

// elsewhere are the projects where no Keystone makes any.
var elsewhere = map[string]string{"blue": "b1b1", "green": "6e6e", "red": "4ed0"}

// play asks every request of the table as every caller, of Ferrule, or of real
// Ironic to record what it says. master may do everything.
func play(t *testing.T, mode, conf string, callers []caller, master caller, projects map[string]string) {
	t.Helper()
	var url string
	if *update {
		url = env.RealIronic(t, conf+ironicConf).URL
	} else {
		url = plane.Start(t, plane.Options{Config: conf}).URL
	}
	awaitDrivers(t, url, master)
	s := furnish(t, url, master, projects)
	s.heard = describedAnswers(t)
	table := newRecording(t, requests(t), callers)
	for row, r := range table.requests {
		for column, who := range callers {
			table.words[row][column] = s.ask(who, r)
		}
	}
	file := filepath.Join("recorded", mode+".tsv")
	if *update {
		table.write(file)
		return
	}
	table.compare(file)
}

// awaitDrivers waits until a conductor serves nodes.
func awaitDrivers(t *testing.T, url string, master caller) {
	t.Helper()
	s := &service{t: t, url: url}
	s.await("a conductor", func() bool {
		return strings.Contains(s.send(master, http.MethodGet, "/v1/drivers", "").text, "fake-hardware")
	})
}

func TestKeystone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Keystone")
	}
	k := newKeystone(t)
	callers := k.callers()
	play(t, "keystone", k.conf(), callers, callers[2], k.projects)
}

func TestNoAuthentication(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	anyone := caller{"anyone", nil}
	play(t, "noauth", "[DEFAULT]\nauth_strategy = noauth\n", []caller{
		anyone,
		{"who says blue", map[string]string{"X-Project-Id": elsewhere["blue"], "X-Roles": "reader"}},
		{"who says system", map[string]string{"OpenStack-System-Scope": "all"}},
		{"with a token", map[string]string{"X-Auth-Token": "made-up"}},
	}, caller{"system", map[string]string{"OpenStack-System-Scope": "all"}}, elsewhere)
}

func TestBasicAuthentication(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	password := rand.Text()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(users, fmt.Appendf(nil, "una:%s\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	una := basic("una", "una", password)
	master := basic("", "una", password)
	master.headers["OpenStack-System-Scope"] = "all"
	play(t, "http_basic", "[DEFAULT]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = "+users+"\n", []caller{
		{"nobody", nil}, basic("wrong password", "una", rand.Text()), basic("stranger", "uno", password), una,
		{"with a token", map[string]string{"X-Auth-Token": "made-up"}},
	}, master, elsewhere)
}
