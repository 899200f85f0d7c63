package site_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
	"ferrule/lab/machine"
	"ferrule/siteagent/iso/isotest"
)

// fetch reads what is served at an address.
func fetch(t *testing.T, address string) (status int, body []byte) {
	t.Helper()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

func TestTheMediumThatIsServed(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{Servers: 2})
	s := r.server(0)
	node := r.enrol(s, nil)
	r.verb(node, "manage", "manageable", nil)
	r.verb(node, "inspect", "manageable", nil)
	s.SetStepFaults(map[string]lab.StepFault{"erase_devices_metadata": {Hold: true}})
	r.Provision(node, "provide", nil)
	awaitStep(t, s, "erase_devices_metadata")

	given := s.Machine.Media().URL
	status, content := fetch(t, given)
	if status != http.StatusOK {
		t.Fatalf("the medium is answered with %d", status)
	}
	relay := checkMedium(t, s, given, content)
	u, err := url.Parse(given)
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(u.Path, "/")[2]
	for _, other := range []string{
		strings.Replace(given, key, strings.Repeat("A", len(key)), 1), strings.Replace(given, "boot-", "toob-", 1),
		relay + "/media/", relay + "/media/" + key + "/", relay + "/media/" + key + "/../../identity.json",
	} {
		if status, _ := fetch(t, other); status != http.StatusNotFound {
			t.Errorf("%s is answered with %d", other, status)
		}
	}
	followAltered(t, r.server(1), content, relay)

	s.SetStepFaults(nil)
	r.rest(node, "available")
	if status, _ := fetch(t, given); status != http.StatusNotFound {
		t.Errorf("after its eject the medium is answered with %d", status)
	}
}

// checkMedium reads the medium with xorriso; it gives the relay's address.
func checkMedium(t *testing.T, s *lab.Server, given string, content []byte) string {
	t.Helper()
	u, err := url.Parse(given)
	if err != nil {
		t.Fatal(err)
	}
	relay := u.Scheme + "://" + u.Host
	medium := isotest.Read(t, content)
	if medium.Label != "VMEDIA_BOOT_ISO" || medium.Files["vmlinuz"] != "kernel of the lab\n" || medium.Files["initrd"] != "ramdisk of the lab\n" {
		t.Errorf("the medium %q holds kernel %q, ramdisk %q", medium.Label, medium.Files["vmlinuz"], medium.Files["initrd"])
	}
	for _, loader := range []string{"boot/grub/grub.cfg", "isolinux/isolinux.cfg"} {
		if !strings.Contains(medium.Files[loader], " "+s.Machine.KernelLine()) {
			t.Errorf("%s boots with another line than the machine was", loader)
		}
		for _, word := range []string{"ipa-api-url=" + relay, "ipa-agent-token="} {
			if !strings.Contains(medium.Files[loader], " "+word) {
				t.Errorf("%s has no %s", loader, word)
			}
		}
	}
	return relay
}

// followAltered boots another machine with the medium, whose kernel line was
// made to lead elsewhere.
func followAltered(t *testing.T, s *lab.Server, content []byte, relay string) {
	t.Helper()
	called := make(chan string, 100)
	elsewhere := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case called <- r.URL.Path:
		default:
		}
		http.NotFound(w, r)
	}))
	// The address must be as long as the one that it takes the place of.
	ports, err := plane.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	other := "http://" + net.JoinHostPort("127.0.0.1", fmt.Sprint(ports[0]))
	if len(other) != len(relay) {
		t.Fatalf("%s is not as long as %s", other, relay)
	}
	_ = elsewhere.Listener.Close()
	if elsewhere.Listener, err = net.Listen("tcp", strings.TrimPrefix(other, "http://")); err != nil {
		t.Fatal(err)
	}
	elsewhere.Start()
	defer elsewhere.Close()
	altered := bytes.ReplaceAll(content, []byte("ipa-api-url="+relay), []byte("ipa-api-url="+other))
	if bytes.Equal(altered, content) {
		t.Fatal("the medium does not name the relay")
	}
	path := filepath.Join(t.TempDir(), "altered.iso")
	if err := os.WriteFile(path, altered, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Machine.Insert(machine.Media{URL: "http://127.0.0.1/altered.iso", Path: path})
	s.Machine.SetBoot(machine.Boot{Enabled: machine.Once, Target: machine.DeviceCd, Mode: machine.UEFI})
	if err := s.Press("on"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-called:
	case <-time.After(patience):
		t.Error("the machine does not follow an altered kernel line")
	}
	if err := s.Press("off"); err != nil {
		t.Fatal(err)
	}
}
