package reach

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/metal"
	"ferrule/siteagent/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func guard(t *testing.T, o Options) *Guard {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func networks(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func TestAddressesThatAreNotReached(t *testing.T) {
	g := guard(t, Options{})
	g.Drives(t.Context(), "https://192.0.2.20")
	g.Drives(t.Context(), "[2001:db8::20]")
	for text, reached := range map[string]bool{
		"10.0.0.7": true, "192.168.1.1": true, "8.8.8.8": true, "2001:db8::7": true, "fd00::7": true, "100.64.0.1": true, "64:ff9b::8.8.8.8": true,
		"127.0.0.1": false, "127.255.255.254": false, "0.0.0.0": false, "0.1.2.3": false, "::": false, "::1": false,
		"169.254.169.254": false, "169.254.1.1": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false,
		"100.100.100.200": false, "168.63.129.16": false, "192.0.0.192": false, "fd20:ce::254": false,
		"224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::127.0.0.1": false, "64:ff9b::a9fe:a9fe": false,
		"2002:7f00:1::": false, "2002:a9fe:a9fe::1": false, "::127.0.0.1": false, "::ffff:0:127.0.0.1": false,
		"192.0.2.20": false, "::ffff:192.0.2.20": false, "64:ff9b::192.0.2.20": false, "2001:db8::20": false,
	} {
		err := g.Check(netip.AddrPortFrom(netip.MustParseAddr(text), 80))
		if (err == nil) != reached {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && (refusal.CodeOf(err, "") != metal.CodeForbiddenTarget || !strings.Contains(err.Error(), "open_networks")) {
			t.Errorf("%s: the error does not say what to do: %v", text, err)
		}
	}
}

func TestANamedNetworkIsOpened(t *testing.T) {
	g := guard(t, Options{Open: networks("127.0.0.0/8", "192.0.2.0/24")})
	g.Drives(t.Context(), "https://192.0.2.20:8443")
	for text, reached := range map[string]bool{
		"127.0.0.1:80": true, "192.0.2.20:80": true, "[::ffff:127.0.0.1]:80": true, "[64:ff9b::127.0.0.1]:80": true,
		"[::1]:80": false, "169.254.169.254:80": false,
		"192.0.2.20:8443": false, // a BMC's own port stays closed
	} {
		if err := g.Check(netip.MustParseAddrPort(text)); (err == nil) != reached {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTheAgentDoesNotFetchFromItself(t *testing.T) {
	own := &net.TCPAddr{IP: net.IPv4zero, Port: 6387}
	g := guard(t, Options{Own: own, Open: networks("127.0.0.0/8")})
	if err := g.Check(netip.MustParseAddrPort("127.0.0.1:6387")); err == nil {
		t.Error("the agent would relay its own fetch as a ramdisk's call")
	}
	if err := g.Check(netip.MustParseAddrPort("127.0.0.1:6388")); err != nil {
		t.Error(err)
	}
	if err := g.Check(netip.MustParseAddrPort("192.0.2.1:6387")); err != nil {
		t.Error(err)
	}
}

func TestAddressesOfBMCsOutliveARestartAndAMonth(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	o := Options{Dir: dir, Now: func() time.Time { return now }, Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
		if host != "bmc.example" {
			return nil, errors.New("no such host")
		}
		return []netip.Addr{netip.MustParseAddr("192.0.2.30")}, nil
	}}
	g := guard(t, o)
	for _, address := range []string{"https://192.0.2.20/redfish/v1/Systems/1", "redfish://bmc.example:8443", "nowhere.example", "", "https://", "\x00"} {
		g.Drives(t.Context(), address)
	}
	file := filepath.Join(dir, bmcsFile)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(content, "2030-01-01 192.0."...), 0o600); err != nil { // a write that broke off
		t.Fatal(err)
	}
	closed := func(want bool) {
		t.Helper()
		again := guard(t, o)
		for _, address := range []string{"192.0.2.20:80", "192.0.2.30:80"} {
			if err := again.Check(netip.MustParseAddrPort(address)); (err != nil) != want {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
	now = now.Add(29 * 24 * time.Hour)
	closed(true)
	now = now.Add(2 * 24 * time.Hour)
	closed(false)
}

func TestCallbacksComeFromWhoCalls(t *testing.T) {
	from := netip.MustParseAddr("::ffff:10.0.0.7")
	for _, c := range []struct {
		callback        string
		open, callbacks string
		taken           bool
	}{
		{"https://10.0.0.7:9999", "", "", true},
		{"https://[::ffff:10.0.0.7]:9999", "", "", true},
		{"https://10.0.0.8:9999", "", "", false},
		{"http://127.0.0.1:22", "", "", false},
		{"http://169.254.169.254/", "", "", false},
		{"https://ramdisk.example:9999", "", "", false},
		{"ftp://10.0.0.7", "", "", false},
		{"https://10.0.0.7%zz", "", "", false},
		{"https:10.0.0.7", "", "", false},
		{"https://10.0.0.8:9999", "", "10.0.0.0/24", true},
		{"https://10.0.1.8:9999", "", "10.0.0.0/24", false},
		{"https://10.0.0.7:9999", "", "10.9.0.0/24", false},
		{"https://10.0.0.20:9999", "", "10.0.0.0/24", false}, // a BMC
		{"https://127.0.0.9:9999", "", "127.0.0.0/8", false},
		{"https://127.0.0.9:9999", "127.0.0.0/8", "", true},
		{"https://ramdisk.example:9999", "", "10.0.0.0/24", true}, // judged when it is called
	} {
		o := Options{}
		if c.open != "" {
			o.Open = networks(c.open)
		}
		if c.callbacks != "" {
			o.Callbacks = networks(c.callbacks)
		}
		g := guard(t, o)
		g.Drives(t.Context(), "10.0.0.20")
		if err := g.Callback(c.callback, from); (err == nil) != c.taken {
			t.Errorf("%+v: %v", c, err)
		}
	}
	loop := guard(t, Options{})
	if err := loop.Callback("http://127.0.0.1:9999", netip.MustParseAddr("127.0.0.1")); err == nil {
		t.Error("a caller on the agent's own machine is called back at loopback")
	}
}

// A server at a name or behind a redirect is judged by the address to which the
// connection goes.
func TestNamesAndRedirectsAreJudgedByWhereTheyLead(t *testing.T) {
	var hits int
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits++
		_, _ = io.WriteString(w, "inner")
	}))
	defer inner.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	outer := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL, http.StatusFound)
	})}}
	outer.Start()
	defer outer.Close()

	strict := guard(t, Options{Open: networks("127.0.0.2/32")})
	client := &http.Client{Transport: strict.Transport()}
	defer client.CloseIdleConnections()
	for _, target := range []string{outer.URL, inner.URL, "http://localhost:" + port, "http://127.1:" + port, "http://[::ffff:7f00:1]:" + port} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s was reached", target)
		} else if refusal.CodeOf(err, "") != metal.CodeForbiddenTarget && !strings.Contains(target, "127.1") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if conn, err := strict.DialRamdisk(t.Context(), "tcp", "localhost:"+port); err == nil {
		_ = conn.Close()
		t.Error("a ramdisk's name led to loopback")
	}
	if hits != 0 {
		t.Errorf("the server behind was asked %d times", hits)
	}

	open := guard(t, Options{Open: networks("127.0.0.0/8")})
	through := &http.Client{Transport: open.Transport()}
	defer through.CloseIdleConnections()
	resp, err := through.Get(outer.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "inner" {
		t.Errorf("in an open network: %q, %v", text, err)
	}
}

// A proxy may be on loopback; what it is asked for may not.
func TestTheTargetOfAProxyIsJudgedToo(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.String()) }))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := guard(t, Options{Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
		switch host {
		case "metadata.example":
			return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("169.254.169.254")}, nil
		case "images.example":
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		}
		return nil, errors.New("no such host")
	}})
	client := &http.Client{Transport: g.transport(func(*http.Request) (*url.URL, error) { return at, nil })}
	defer client.CloseIdleConnections()
	for target, reached := range map[string]bool{
		"http://images.example/i": true, "http://only-the-proxy-knows.example/i": true,
		"http://metadata.example/i": false, "http://169.254.169.254/i": false, "http://127.0.0.1/i": false,
	} {
		asked = nil
		resp, err := client.Get(target)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != reached || (len(asked) == 1) != reached {
			t.Errorf("%s: %v, the proxy was asked for %q", target, err, asked)
		}
	}
}

func FuzzCallback(f *testing.F) {
	f.Add("https://10.0.0.7:9999")
	f.Add("http://[::ffff:127.0.0.1%25lo]:1")
	g, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	from := netip.MustParseAddr("10.0.0.7")
	f.Fuzz(func(t *testing.T, callback string) {
		if g.Callback(callback, from) != nil {
			return
		}
		u, err := url.Parse(callback)
		if err != nil {
			t.Fatalf("%q was taken: %v", callback, err)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err != nil || plain(a) != from {
			t.Errorf("%q was taken", callback)
		}
	})
}
