package gophercloud

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
)

var update = flag.Bool("update", false, "run them on real Ironic, and write recorded/ anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conf is what both servers run with: the suites expect fake nodes that deploy
// and clean in moments, and these defaults.
const conf = `
[DEFAULT]
enabled_hardware_types = fake-hardware
enabled_power_interfaces = fake
enabled_management_interfaces = fake
enabled_boot_interfaces = fake
enabled_deploy_interfaces = fake
enabled_inspect_interfaces = no-inspect
enabled_network_interfaces = noop
enabled_raid_interfaces = no-raid,agent
enabled_bios_interfaces = no-bios
enabled_vendor_interfaces = no-vendor
enabled_storage_interfaces = noop
enabled_console_interfaces = no-console
enabled_rescue_interfaces = no-rescue
enabled_firmware_interfaces = no-firmware
[conductor]
automated_clean = false
`

// play runs a suite on Ferrule, or on real Ironic to record how it ends there.
// environ says how its clients reach the server that is at a URL.
func play(t *testing.T, suite, auth string, environ func(url string) []string) {
	t.Helper()
	if *update {
		write(t, suite, runSuite(t, suite, environ(withoutIPMI(t, env.RealIronic(t, auth+conf).URL))...))
		return
	}
	compare(t, suite, runSuite(t, suite, environ(withoutIPMI(t, plane.Start(t, plane.Options{Config: auth + conf}).URL))...))
}

// withoutIPMI stands before a server and makes of each node that is to be
// created for IPMI one of fake hardware: most of the suites create nodes for a
// BMC that nobody ever talks to, and Ferrule has no IPMI.
func withoutIPMI(t *testing.T, server string) string {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // the server's links lead here
		if r.In.Method != http.MethodPost || !strings.HasSuffix(r.In.URL.Path, "/v1/nodes") {
			return
		}
		var node map[string]any
		if err := json.NewDecoder(r.In.Body).Decode(&node); err != nil {
			t.Errorf("a node that is no JSON: %v", err)
		}
		if node["driver"] == "ipmi" {
			node["driver"], node["boot_interface"] = "fake-hardware", "fake"
		}
		body, err := json.Marshal(node)
		if err != nil {
			t.Error(err)
		}
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}}
	front := httptest.NewServer(proxy)
	t.Cleanup(func() {
		front.Close()
		transport.CloseIdleConnections()
	})
	return front.URL
}

func TestNoAuthentication(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the suite, and starts a control plane")
	}
	play(t, "noauth", "[DEFAULT]\nauth_strategy = noauth\n", func(url string) []string {
		return []string{"IRONIC_ENDPOINT=" + url + "/v1", "OS_USERNAME=anyone"}
	})
}

func TestBasicAuthentication(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the suite, and starts a control plane")
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
	play(t, "httpbasic", "[DEFAULT]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = "+users+"\n", func(url string) []string {
		return []string{"IRONIC_ENDPOINT=" + url + "/v1", "OS_USERNAME=una", "OS_PASSWORD=" + password}
	})
}

func TestKeystone(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the suite, and starts a Keystone and a control plane")
	}
	k := env.RealKeystone(t)
	auth := fmt.Sprintf("[DEFAULT]\nauth_strategy = keystone\n[keystone_authtoken]\nauth_type = password\nauth_url = %[1]s\n"+
		"www_authenticate_uri = %[1]s\nusername = admin\nuser_domain_name = Default\npassword = %[2]s\nproject_name = admin\n"+
		"project_domain_name = Default\n", k.URL, k.Password)
	play(t, "v1", auth, func(url string) []string {
		register(t, k, url)
		return []string{
			"OS_AUTH_URL=" + k.URL, "OS_REGION_NAME=R", "OS_USERNAME=admin", "OS_PASSWORD=" + k.Password,
			"OS_DOMAIN_NAME=Default", "OS_SYSTEM_SCOPE=all",
		}
	})
}

// register puts the server into Keystone's catalogue.
func register(t *testing.T, k *env.KeystoneServer, url string) {
	t.Helper()
	ctx := t.Context()
	provider, err := openstack.NewClient(k.URL)
	if err != nil {
		t.Fatal(err)
	}
	provider.HTTPClient.Transport = &http.Transport{DisableKeepAlives: true}
	err = openstack.Authenticate(ctx, provider, gophercloud.AuthOptions{
		IdentityEndpoint: k.URL, Username: "admin", Password: k.Password, DomainName: "Default",
		Scope: &gophercloud.AuthScope{System: true},
	})
	if err != nil {
		t.Fatalf("Keystone: %v", err)
	}
	if err := addEndpoint(ctx, provider, url); err != nil {
		t.Fatalf("Keystone: %v", err)
	}
}

func addEndpoint(ctx context.Context, provider *gophercloud.ProviderClient, url string) error {
	identity, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: "R"})
	if err != nil {
		return err
	}
	service, err := services.Create(ctx, identity, services.CreateOpts{Type: "baremetal", Extra: map[string]any{"name": "ironic"}}).Extract()
	if err != nil {
		return err
	}
	_, err = endpoints.Create(ctx, identity, endpoints.CreateOpts{
		Availability: gophercloud.AvailabilityPublic, Name: "ironic", Region: "R", ServiceID: service.ID, URL: url,
	}).Extract()
	return err
}
