// Package sushy_test holds Ferrule to a BMC that was written elsewhere: the
// emulator of sushy-tools, over TLS, with passwords, and with the delays that a
// change of power has there.
package sushy_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/compat-tests/env"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// powerDelay is more than the emulator takes for one change of power, on a
// machine that does other work too.
const powerDelay = time.Minute

// bmc is a running emulator with one system, which is off.
type bmc struct {
	t        *testing.T
	host     string
	address  string // with scheme, no slash at the end
	username string
	password string
	spki     string // SHA-256 of its public key, hex
	client   *http.Client
	dir      string
	log      string
}

// The emulator's only system.
const (
	systemUUID = "10000000-0000-4000-8000-000000000001"
	systemID   = "/redfish/v1/Systems/" + systemUUID
)

// startBMC runs an emulator at this address of its own until the test ends.
func startBMC(t *testing.T, host string) *bmc {
	t.Helper()
	b := &bmc{t: t, host: host, dir: t.TempDir(), username: "operator", password: rand.Text()}
	b.log = filepath.Join(b.dir, "emulator.log")
	b.makeCertificate()
	b.makeAccounts()
	port := b.configure()
	b.address = fmt.Sprintf("https://%s:%d", host, port)
	log, err := os.Create(b.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has its own
	command := exec.Command(env.Tool(t, env.SushyTools, "sushy-emulator"), "--config", b.file("emulator.conf"))
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "TMPDIR=" + b.dir, "PYTHONWARNINGS=ignore"}
	command.Dir, command.Stdout, command.Stderr = b.dir, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := command.Process.Kill(); err != nil {
			t.Errorf("the emulator: %v", err)
		}
		_ = command.Wait() // it was killed
		if t.Failed() {
			t.Logf("the end of the emulator's log:\n%s", b.logTail())
		}
	})
	b.awaitReady()
	return b
}

func (b *bmc) file(name string) string { return filepath.Join(b.dir, name) }

func (b *bmc) write(name string, content []byte) {
	b.t.Helper()
	if err := os.WriteFile(b.file(name), content, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// makeCertificate makes a self-signed certificate, as BMCs have.
func (b *bmc) makeCertificate() {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "emulated BMC"},
		IPAddresses: []net.IP{net.ParseIP(b.host)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		b.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		b.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	b.write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	b.spki = hex.EncodeToString(sum[:])
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	b.client = &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}},
	}
}

// makeAccounts writes the file of passwords; the emulator takes bcrypt only.
func (b *bmc) makeAccounts() {
	b.t.Helper()
	const script = "import bcrypt, sys; print(bcrypt.hashpw(sys.stdin.buffer.read(), bcrypt.gensalt(4)).decode(), end='')"
	command := exec.Command(env.Venv(b.t, env.SushyTools), "-c", script)
	command.Stdin = strings.NewReader(b.password)
	hash, err := command.Output()
	if err != nil {
		b.t.Fatalf("hash a password: %v", err)
	}
	b.write("htpasswd", append([]byte(b.username+":"), hash...))
}

func (b *bmc) configure() (port int) {
	b.t.Helper()
	listener, err := net.Listen("tcp", b.host+":0")
	if err != nil {
		b.t.Fatal(err)
	}
	port = listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	conf := &bytes.Buffer{}
	fmt.Fprintf(conf, "SUSHY_EMULATOR_LISTEN_IP = %q\nSUSHY_EMULATOR_LISTEN_PORT = %d\n", b.host, port)
	fmt.Fprintf(conf, "SUSHY_EMULATOR_FAKE_DRIVER = True\nSUSHY_EMULATOR_STATE_DIR = %q\nSUSHY_EMULATOR_FEATURE_SET = 'full'\n", b.dir)
	fmt.Fprintf(conf, "SUSHY_EMULATOR_SSL_CERT = %q\nSUSHY_EMULATOR_SSL_KEY = %q\n", b.file("cert.pem"), b.file("key.pem"))
	fmt.Fprintf(conf, "SUSHY_EMULATOR_AUTH_FILE = %q\nSUSHY_EMULATOR_FAKE_SYSTEMS = [\n", b.file("htpasswd"))
	fmt.Fprintf(conf, "  {'uuid': %q, 'name': 'fake', 'power_state': 'Off', 'external_notifier': False,\n", systemUUID)
	fmt.Fprintln(conf, "   'nics': [{'mac': '52:54:00:5c:00:01', 'ip': '192.0.2.11'}]}]")
	b.write("emulator.conf", conf.Bytes())
	return port
}

func (b *bmc) awaitReady() {
	b.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	late := time.After(2 * time.Minute)
	for {
		if _, err := b.request(b.t.Context(), http.MethodGet, "/redfish/v1/Systems", nil); err == nil {
			return
		}
		select {
		case <-look.C:
		case <-late:
			b.t.Fatal("the emulator was not ready in time")
		}
	}
}

// get reads a resource past Ferrule.
func (b *bmc) get(path string) map[string]any {
	b.t.Helper()
	return b.ask(http.MethodGet, path, nil)
}

func (b *bmc) ask(method, path string, body any) map[string]any {
	b.t.Helper()
	resource, err := b.request(b.t.Context(), method, path, body)
	if err != nil {
		b.t.Fatalf("the emulator: %s %s: %v", method, path, err)
	}
	return resource
}

func (b *bmc) request(ctx context.Context, method, path string, body any) (map[string]any, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, b.address+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(b.username, b.password)
	request.Header.Set("Content-Type", "application/json")
	response, err := b.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, errors.New(response.Status)
	}
	var resource map[string]any
	if len(answer) > 0 {
		err = json.Unmarshal(answer, &resource)
	}
	return resource, err
}

// power is what the emulator says of its system's power.
func (b *bmc) power() any {
	b.t.Helper()
	return b.get(systemID)["PowerState"]
}

// medium is what the emulator says of its drive.
func (b *bmc) medium() map[string]any {
	b.t.Helper()
	return b.get(systemID + "/VirtualMedia/Cd")
}

func (b *bmc) logTail() []byte {
	text, err := os.ReadFile(b.log)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-6000):]
}
