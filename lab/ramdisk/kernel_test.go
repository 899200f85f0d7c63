package ramdisk

import (
	"maps"
	"strings"
	"testing"
)

func TestParameters(t *testing.T) {
	got := parameters("nofb vga=normal  ipa-api-url=http://a/?b=c quiet ipa-debug=0 ipa-debug=1 empty=")
	want := map[string]string{"vga": "normal", "ipa-api-url": "http://a/?b=c", "ipa-debug": "1", "empty": ""}
	if !maps.Equal(got, want) {
		t.Errorf("parameters %v, want %v", got, want)
	}
}

func TestBootInterface(t *testing.T) {
	for given, want := range map[string]string{
		"01-AA-bb-cc-dd-ee-ff": "aa:bb:cc:dd:ee:ff", "aa:bb:cc:dd:ee:FF": "aa:bb:cc:dd:ee:ff", "": "", "x": "x",
	} {
		if got := bootInterface(given); got != want {
			t.Errorf("BOOTIF=%s: %q, want %q", given, got, want)
		}
	}
}

func TestChecksumFiles(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for name, content := range map[string]string{
		"bare":           sum + "\n",
		"GNU":            "b  other.img\n" + sum + "  disk.img\n",
		"GNU, binary":    sum + " *disk.img\n",
		"BSD":            "SHA256 (other.img) = b\nSHA256 (disk.img) = " + sum + "\n",
		"with a comment": "# sums\n" + sum + "  disk.img\n",
	} {
		if got, err := sumFor(content, "disk.img"); err != nil || got != sum {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := sumFor("b  other.img\nc  third.img\n", "disk.img"); err == nil {
		t.Error("a sum was found for a file that is not named")
	}
}

// medium is a volume of the files given.
type medium map[string]string

func (m medium) Label() string { return m["label"] }

func (m medium) Files(dir string) (names []string, err error) {
	for name := range m {
		if strings.HasPrefix(name, dir+"/") {
			names = append(names, name)
		}
	}
	return names, nil
}

func (m medium) ReadFile(name string) ([]byte, error) {
	return []byte(m[strings.TrimPrefix(name, "/")]), nil
}

func TestTrustOfTheMedium(t *testing.T) {
	conf := "[DEFAULT]\ncafile=/etc/ironic-python-agent/ironic.crt\n"
	files := func(label string) medium {
		return medium{"label": label, "etc/ironic-python-agent.d/tls.conf": conf, "etc/ironic-python-agent/ironic.crt": "no PEM"}
	}
	vmedia := map[string]string{"boot_method": "vmedia"}
	// The certificate is garbage, so reading it shows as an error.
	for _, label := range []string{"VMEDIA_BOOT_ISO", "config-2", "Config-2"} {
		if _, err := trust(vmedia, files(label)); err == nil {
			t.Errorf("the files of a volume labelled %s were not read", label)
		}
	}
	if _, err := trust(vmedia, files("DEBIAN")); err != nil {
		t.Errorf("the files of another volume were read: %v", err)
	}
	if _, err := trust(nil, files("config-2")); err != nil {
		t.Errorf("files were read without boot_method=vmedia: %v", err)
	}
	if c, err := trust(map[string]string{"ipa-insecure": "1"}, nil); err != nil || !c.InsecureSkipVerify {
		t.Errorf("ipa-insecure=1: %v", err)
	}
}

func FuzzKernelLine(f *testing.F) {
	f.Add("a=b c BOOTIF=01-aa-bb-cc-dd-ee-ff ipa-api-url=http://x,,http://y/")
	f.Fuzz(func(t *testing.T, line string) {
		a := &agent{params: parameters(line)}
		for _, u := range a.urls("ipa-api-url") {
			if u == "" || strings.HasSuffix(u, "/") {
				t.Errorf("url %q", u)
			}
		}
		if mac := bootInterface(a.params["BOOTIF"]); mac != strings.ToLower(mac) {
			t.Errorf("boot interface %q", mac)
		}
	})
}
