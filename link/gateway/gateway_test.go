package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"ferrule/link"
	"ferrule/trust"
)

func description(t *testing.T) *openapi3.T {
	t.Helper()
	text, err := os.ReadFile("../../openapi/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// bare is a gateway that must refuse before it asks any seam.
func bare(t *testing.T) *Gateway {
	t.Helper()
	sealer, err := trust.NewSealer(make([]byte, trust.DeploymentKeySize))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := trust.OpenCA(t.Context(), keys{}, sealer, nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{CA: ca, Logger: slog.New(slog.DiscardHandler)})
}

// keys are an authority's keys in memory.
type keys map[string][2][]byte

func (k keys) TrustKey(_ context.Context, name string) (sealed, public []byte, err error) {
	return k[name][0], k[name][1], nil
}

func (k keys) PutTrustKey(_ context.Context, name string, sealed, public []byte) error {
	k[name] = [2][]byte{sealed, public}
	return nil
}

func TestDescribedRoutesAreServedToAgentsOnly(t *testing.T) {
	t.Parallel()
	g := bare(t)
	n := 0
	for path, item := range description(t).Paths.Map() {
		for method, operation := range item.Operations() {
			n++
			w := httptest.NewRecorder()
			target := strings.ReplaceAll(path, "{node}", "n-1")
			g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader("{}")))
			want, code := http.StatusForbidden, trust.RefusedCertificate
			if operation.Security != nil && len(*operation.Security) == 0 {
				want, code = http.StatusBadRequest, trust.RefusedMalformed
			}
			var problem link.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Code != want || problem.Code != code {
				t.Errorf("%s %s without a certificate: %d %s, want %d %s", method, path, w.Code, w.Body, want, code)
			}
		}
	}
	if n != 11 {
		t.Errorf("%d operations are described, want 11", n)
	}
}

func TestBadBodiesAreRefused(t *testing.T) {
	t.Parallel()
	g := bare(t)
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"empty":         {"", http.StatusBadRequest},
		"broken":        {`{"secret":`, http.StatusBadRequest},
		"another type":  {`{"secret":1}`, http.StatusBadRequest},
		"a list":        {`[]`, http.StatusBadRequest},
		"NUL":           {"{\"secret\":\"\x00\"}", http.StatusBadRequest},
		"invalid UTF-8": {"{\"secret\":\"\xff\"}", http.StatusBadRequest},
		"too large":     {strings.Repeat(" ", link.MaxBody+1), http.StatusRequestEntityTooLarge},
	} {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, link.PathEnroll, strings.NewReader(c.body)))
		if w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.want)
		}
	}
}

func TestCertificateWithoutAgentsNameIsRefused(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, link.PathSession, strings.NewReader("{}"))
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
	bare(t).ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d, want 403", w.Code)
	}
}

func FuzzRelayed(f *testing.F) {
	f.Add("POST", "/v1/heartbeat/n-1")
	f.Add("GET", "/v1/lookup/")
	f.Add("POST", "/v1/heartbeat/%2e%2e")
	f.Fuzz(func(t *testing.T, method, path string) {
		if relayed(method, path) && strings.ContainsAny(path, "%?#\\") {
			t.Errorf("%s %q is let through", method, path)
		}
	})
}
