package link_test

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ferrule/link"
	"ferrule/link/client"
)

// asSent is a request as a ramdisk's server would have received it.
func asSent(t *testing.T, method, target string, body io.Reader, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, body)
	r.Host = "10.0.0.9:6387"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func TestRelayPassesRequestsOnUntouched(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	var got *http.Request
	var body []byte
	p.api = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		got = r
		w.Header().Set("X-OpenStack-Ironic-API-Version", "1.68")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("as it is"))
	})
	c := p.join("lisbon", client.Options{})
	response, err := c.Relay(limit(t), asSent(t, "POST", "/v1/heartbeat/n-1?a=b%20c&a=d", strings.NewReader(`{"x":1}`),
		"X-OpenStack-Ironic-API-Version", "1.68", "Content-Type", "application/json", "Connection", "keep-alive, X-Gone", "X-Gone", "1"))
	check(t, err)
	answer, err := io.ReadAll(response.Body)
	check(t, err)
	check(t, response.Body.Close())
	if response.StatusCode != 202 || string(answer) != "as it is" || response.Header.Get("X-OpenStack-Ironic-API-Version") != "1.68" {
		t.Errorf("answer is %d %q %v", response.StatusCode, answer, response.Header)
	}
	if got.Method != "POST" || got.RequestURI != "/v1/heartbeat/n-1?a=b%20c&a=d" || got.Host != "10.0.0.9:6387" || string(body) != `{"x":1}` {
		t.Errorf("the API saw %s %s of %s with %q", got.Method, got.RequestURI, got.Host, body)
	}
	if h := got.Header; h.Get("X-OpenStack-Ironic-API-Version") != "1.68" || h.Get("X-Gone") != "" || h.Get(link.HeaderRelayHost) != "" {
		t.Errorf("the API saw headers %v", h)
	}

	if site, relayed := link.RelayingSite(got.Context()); !relayed || site != "lisbon" {
		t.Errorf("the API is told that it came through site %q: %v", site, relayed)
	}

	response, err = c.Relay(limit(t), asSent(t, "POST", "/v1/continue_inspection?node_uuid=n-1&inspection_proof=p", strings.NewReader(`{}`)))
	check(t, err)
	check(t, response.Body.Close())
	if got.RequestURI != "/v1/continue_inspection?node_uuid=n-1" || link.InspectionProof(got.Context()) != "p" {
		t.Errorf("inspection data came as %s with the proof %q", got.RequestURI, link.InspectionProof(got.Context()))
	}

	response, err = c.Relay(limit(t), asSent(t, "GET", "/", nil))
	check(t, err)
	check(t, response.Body.Close())
	delete(got.Header, "Content-Length")
	if len(got.Header) != 0 || got.RequestURI != "/" {
		t.Errorf("a bare request to / came as %s with headers %v", got.RequestURI, got.Header)
	}
}

func TestRelayReachesNothingElse(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.api = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the API was reached") })
	c := p.join("", client.Options{})
	for _, r := range []string{
		"GET /v1/nodes", "POST /v1/nodes", "DELETE /v1/lookup", "GET /v1/heartbeat/n", "POST /v1/heartbeat/",
		"POST /v1/heartbeat/n/x", "POST /v1/heartbeat/..", "POST /v1/heartbeat/n%2f..%2fx", "GET //v1/lookup",
		"GET /v1/lookup/../nodes", "GET /v1/%2e%2e/ferrule", "GET /ferrule/v1/agents", "GET /v1/lookup.json",
	} {
		method, target, _ := strings.Cut(r, " ")
		request := asSent(t, method, "/", nil)
		check(t, request.URL.UnmarshalBinary([]byte("http://relay"+target)))
		response, err := c.Relay(limit(t), request)
		check(t, err)
		check(t, response.Body.Close())
		if response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", r, response.StatusCode)
		}
	}
}

func TestRelayTakesLargeInventoriesAndNoLarger(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	large := bytes.Repeat([]byte("x"), link.MaxRelayBody)
	p.api = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || sha256.Sum256(body) != sha256.Sum256(large) {
			t.Errorf("%d bytes came, error %v", len(body), err)
		}
	})
	c := p.join("", client.Options{})
	response, err := c.Relay(limit(t), asSent(t, "POST", "/v1/continue_inspection", bytes.NewReader(large)))
	check(t, err)
	check(t, response.Body.Close())
	if response.StatusCode != http.StatusOK {
		t.Errorf("status %d, want 200", response.StatusCode)
	}
	response, err = c.Relay(limit(t), asSent(t, "POST", "/v1/continue_inspection", bytes.NewReader(append(large, 'x'))))
	if err == nil {
		check(t, response.Body.Close())
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d, want 413", response.StatusCode)
		}
	}
}
