package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is a control plane that keeps the last request it got.
type record struct {
	request *http.Request
	body    string
	err     error
}

func (c *record) forward(_ context.Context, r *http.Request) (*http.Response, error) {
	c.request, c.body = r, ""
	if c.err != nil {
		return nil, c.err
	}
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		c.body = string(data)
	}
	return &http.Response{
		StatusCode: http.StatusAccepted, Header: http.Header{"X-Answer": {"yes"}, "Connection": {"X-Hop"}, "X-Hop": {"1"}},
		Body: io.NopCloser(strings.NewReader("answer")),
	}, nil
}

func relayTo(c *record) *Handler { return New(c.forward, anywhere, slog.New(slog.DiscardHandler)) }

func anywhere(string, netip.Addr) error { return nil }

func TestOnlyTheCallsOfARamdiskAreRelayed(t *testing.T) {
	for call, want := range map[string]bool{
		"GET /":                                   true,
		"GET /v1":                                 true,
		"GET /v1/":                                true,
		"GET /v1/lookup?addresses=aa:bb&x=%20":    true,
		"POST /v1/heartbeat/" + uuid:              true,
		"POST /v1/heartbeat/my-node/":             true,
		"POST /v1/continue_inspection":            true,
		"POST /v1/continue_inspection?node_uuid=": true,
		"POST /":                                  false,
		"GET /v1/nodes":                           false,
		"GET /v1/nodes/" + uuid:                   false,
		"POST /v1/nodes":                          false,
		"POST /v1/lookup":                         false,
		"GET /v1/heartbeat/" + uuid:               false,
		"POST /v1/heartbeat/":                     false,
		"POST /v1/heartbeat/..":                   false,
		"POST /v1/heartbeat/a/b":                  false,
		"POST /v1/heartbeat/..%2f..%2fnodes":      false,
		"POST /v1/heartbeat/../nodes":             false,
		"GET /v1/lookup/../nodes":                 false,
		"GET //v1/lookup":                         false,
		"GET /v1//":                               false,
		"GET /v1.json":                            false,
		"GET /v1%2flookup":                        false,
		"DELETE /v1/continue_inspection":          false,
		"GET /ferrule/v1/agents":                  false,
		"GET /metrics":                            false,
	} {
		method, target, _ := strings.Cut(call, " ")
		plane := &record{}
		w := httptest.NewRecorder()
		relayTo(plane).ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader("{}")))
		if relayed := plane.request != nil; relayed != want {
			t.Errorf("%s: relayed %v", call, relayed)
		}
		if !want && w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", call, w.Code)
		}
		if want && plane.request.URL.String() != target {
			t.Errorf("%s became %s", call, plane.request.URL)
		}
	}
}

const uuid = "5c9e6c67-8d3d-4a5b-9c5b-0f2b8f6b9a11"

func TestRequestAndAnswerGoThroughUntouched(t *testing.T) {
	plane := &record{}
	r := httptest.NewRequest(http.MethodPost, "/v1/heartbeat/"+uuid, strings.NewReader(`{"callback_url":"x"}`))
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.68")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Basic x")
	r.Header.Set("X-Forwarded-For", "192.0.2.9")
	w := httptest.NewRecorder()
	relayTo(plane).ServeHTTP(w, r)
	got := plane.request
	if got.Header.Get("X-OpenStack-Ironic-API-Version") != "1.68" || plane.body != `{"callback_url":"x"}` || got.ContentLength != 20 {
		t.Errorf("%v %q %d", got.Header, plane.body, got.ContentLength)
	}
	if got.Header.Get("Authorization") != "" || got.Header.Get("X-Forwarded-For") != "" {
		t.Errorf("a header that is not the ramdisk's to send went on: %v", got.Header)
	}
	if w.Code != http.StatusAccepted || w.Body.String() != "answer" || w.Header().Get("X-Answer") != "yes" || w.Header().Get("X-Hop") != "" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}

	relayTo(plane).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/continue_inspection", strings.NewReader("{}")))
	if _, there := plane.request.Header["X-Openstack-Ironic-Api-Version"]; there {
		t.Error("a version header was added")
	}
}

func TestBodiesHaveALimit(t *testing.T) {
	for _, declared := range []bool{true, false} {
		r := httptest.NewRequest(http.MethodPost, "/v1/heartbeat/"+uuid, strings.NewReader(strings.Repeat("x", maxHeartbeat+1)))
		if !declared {
			r.ContentLength = -1
		}
		w := httptest.NewRecorder()
		relayTo(&record{}).ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("declared %v: %d", declared, w.Code)
		}
	}
	w := httptest.NewRecorder()
	inventory := strings.NewReader(strings.Repeat("x", 2*maxHeartbeat))
	relayTo(&record{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/continue_inspection", inventory))
	if w.Code != http.StatusAccepted {
		t.Errorf("inventory: %d", w.Code)
	}
}

func TestRamdiskIsToldToComeBack(t *testing.T) {
	w := httptest.NewRecorder()
	relayTo(&record{err: errors.New("no route")}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/lookup", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "faultstring") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A machine that is switched off while it calls is no fault; a control plane
// that cannot be reached is.
func TestOnlyFaultsAreWarnedOf(t *testing.T) {
	for gone, want := range map[bool]int{true: 0, false: 1} {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		failing := func(context.Context, *http.Request) (*http.Response, error) {
			if gone {
				cancel()
			}
			return nil, errors.New("cut off")
		}
		r := httptest.NewRequest(http.MethodGet, "/v1/lookup", nil).WithContext(ctx)
		New(failing, anywhere, slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(httptest.NewRecorder(), r)
		cancel()
		if got := strings.Count(log.String(), "level=WARN"); got != want {
			t.Errorf("the machine is gone: %t, warnings: %d\n%s", gone, got, log.String())
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("POST", "/v1/heartbeat/x")
	f.Add("GET", "/v1/../v1/nodes")
	f.Fuzz(func(t *testing.T, method, path string) {
		if _, ok := find(method, path); ok && strings.Contains(path, "/..") {
			t.Errorf("%s %q is relayed", method, path)
		}
	})
}
