package v1

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"ferrule/config"
)

// With keystone a browser holds nothing that lets it in, but for what is public.
func TestUnderKeystonePagesAreKeptFromPublicPathsOnly(t *testing.T) {
	c := &config.Config{}
	c.Default.AuthStrategy = "keystone"
	p := newPages(c)
	r := httptest.NewRequest(http.MethodPost, "/v1/continue_inspection", nil)
	r.Header.Set("Origin", "https://dashboard.example")
	if p.check(r, true) == nil {
		t.Error("a page sends inspection data")
	}
	if f := p.check(r, false); f != nil {
		t.Errorf("a dashboard with a token is refused: %v", f)
	}
}

func FuzzPages(f *testing.F) {
	f.Add("127.0.0.1:6385", "http://127.0.0.1:6385")
	f.Add("evil.example", "null")
	f.Add("[::1", "http://[::1")
	c := &config.Config{}
	c.Default.AuthStrategy, c.API.HostIP = "noauth", "127.0.0.1"
	p := newPages(c)
	f.Fuzz(func(t *testing.T, host, origin string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/nodes", nil)
		r.Host = host + ".example"
		r.Header.Set("Origin", origin)
		if p.check(r, false) == nil {
			t.Errorf("host %q with origin %q is let in", r.Host, origin)
		}
	})
}
