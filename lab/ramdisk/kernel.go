package ramdisk

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
)

// Medium is the volume that the ramdisk was booted from.
type Medium interface {
	Label() string
	Files(dir string) ([]string, error)
	ReadFile(name string) ([]byte, error)
}

// parameters are the key=value words of a kernel line; bare words are left
// out, and of a repeated key the last counts.
func parameters(line string) map[string]string {
	p := map[string]string{}
	for _, word := range strings.Fields(line) {
		if key, value, ok := strings.Cut(word, "="); ok {
			p[key] = value
		}
	}
	return p
}

// bootInterface is the MAC of BOOTIF, in either of its two forms.
func bootInterface(value string) string {
	mac := strings.ToLower(strings.ReplaceAll(value, "-", ":"))
	if len(mac) == len("01:aa:bb:cc:dd:ee:ff") {
		mac = mac[3:]
	}
	return mac
}

// isTrue reads a boolean parameter.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// trust is how the ramdisk verifies the API's certificate: not at all when the
// kernel line says so, else by the CA that the boot medium brought, else by
// the system's roots.
func trust(params map[string]string, m Medium) (*tls.Config, error) {
	if isTrue(params["ipa-insecure"]) {
		return &tls.Config{InsecureSkipVerify: true}, nil //nolint:gosec // the kernel line asks for it
	}
	if m == nil || params["boot_method"] != "vmedia" || !carriesConfig(m.Label()) {
		return &tls.Config{}, nil
	}
	names, err := m.Files("etc/ironic-python-agent.d")
	if err != nil {
		return &tls.Config{}, nil // no configuration on the medium
	}
	for _, name := range names {
		content, err := m.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if ca := option(string(content), "cafile"); ca != "" {
			return trustFile(m, ca)
		}
	}
	return &tls.Config{}, nil
}

// carriesConfig says whether a volume of that label is searched for files.
func carriesConfig(label string) bool {
	return strings.EqualFold(label, "config-2") || strings.EqualFold(label, "VMEDIA_BOOT_ISO")
}

func trustFile(m Medium, name string) (*tls.Config, error) {
	pem, err := m.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s on the boot medium holds no certificate", name)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// option is the value of a key in an INI file, whatever its section.
func option(content, key string) string {
	value := ""
	for line := range strings.Lines(content) {
		k, v, ok := strings.Cut(line, "=")
		if ok && strings.TrimSpace(k) == key {
			value = strings.TrimSpace(v)
		}
	}
	return value
}
