package relay

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// Only the address that was judged reaches the API, in whichever way a request
// gives several to a server that takes arguments from query, form or body.
func TestTheCallbackThatGoesOnIsTheOneThatWasJudged(t *testing.T) {
	const good, evil = "https://192.0.2.7:9999", "http://127.0.0.1:22"
	for name, call := range map[string]struct {
		query, contentType, body string
		status                   int
	}{
		"a good one":                 {"", "application/json", `{"callback_url": "` + good + `"}`, 202},
		"a bad one":                  {"", "application/json", `{"callback_url": "` + evil + `"}`, 400},
		"a bad one of no known type": {"", "", `{"callback_url": "` + evil + `"}`, 400},
		"the bad one last":           {"", "application/json", `{"callback_url": "` + good + `", "callback_url": "` + evil + `"}`, 400},
		"the bad one first":          {"", "application/json", `{"callback_url": "` + evil + `", "callback_url": "` + good + `"}`, 202},
		"escaped":                    {"", "application/json", `{"callback\u005furl": "` + evil + `"}`, 400},
		"in the query":               {"?callback_url=" + url.QueryEscape(evil), "application/json", `{"agent_token": "x"}`, 202},
		"in query and body":          {"?callback_url=" + url.QueryEscape(evil), "application/json", `{"callback_url": "` + good + `"}`, 202},
		"in a form":                  {"", "application/x-www-form-urlencoded", "callback_url=" + url.QueryEscape(evil), 400},
		"in what is form and JSON":   {"", "application/x-www-form-urlencoded", `{"x": "&callback_url=` + url.QueryEscape(evil) + `&", "callback_url": "` + good + `"}`, 202},
		"in a list":                  {"", "application/json", `[{"callback_url": "` + evil + `"}]`, 400},
		"behind a document":          {"", "application/json", `{} {"callback_url": "` + evil + `"}`, 400},
		"no document":                {"", "application/json", `null`, 400},
	} {
		plane := &record{}
		h := New(plane.forward, func(callback string, from netip.Addr) error {
			if from != netip.MustParseAddr("192.0.2.7") {
				t.Errorf("%s: the caller is taken for %s", name, from)
			}
			if callback != good {
				return errors.New("not there")
			}
			return nil
		}, slog.New(slog.DiscardHandler))
		r := httptest.NewRequest(http.MethodPost, "/v1/heartbeat/"+uuid+call.query, strings.NewReader(call.body))
		r.RemoteAddr = "192.0.2.7:40000"
		if call.contentType != "" {
			r.Header.Set("Content-Type", call.contentType)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != call.status {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, call.status, w.Body)
		}
		if call.status != 202 {
			if plane.request != nil {
				t.Errorf("%s: it went on with %q", name, plane.body)
			}
			continue
		}
		if plane.request == nil {
			continue
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(plane.body), &got); err != nil || plane.request.URL.RawQuery != "" || plane.request.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %q with query %q went on, %v", name, plane.body, plane.request.URL.RawQuery, err)
		}
		if callback, given := got["callback_url"]; given && callback != good {
			t.Errorf("%s: the API is told %v", name, callback)
		}
	}
}

func FuzzHeartbeat(f *testing.F) {
	f.Add(`{"callback_url": "http://192.0.2.7", "agent_token": "x"}`, "a=b")
	f.Add(`{"callback_url": "a", "callback_url": "b"}`, "callback_url=c")
	f.Fuzz(func(t *testing.T, body, query string) {
		plane := &record{}
		var judged []string
		h := New(plane.forward, func(callback string, _ netip.Addr) error { judged = append(judged, callback); return nil }, slog.New(slog.DiscardHandler))
		r := httptest.NewRequest(http.MethodPost, "/v1/heartbeat/"+uuid, strings.NewReader(body))
		r.URL.RawQuery = query
		h.ServeHTTP(httptest.NewRecorder(), r)
		if plane.request == nil {
			return
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(plane.body), &got); err != nil {
			t.Fatalf("%q went on as %q: %v", body, plane.body, err)
		}
		if callback, ok := got["callback_url"].(string); ok && callback != "" && (len(judged) != 1 || judged[0] != callback) {
			t.Errorf("%q went on with %q, judged were %q", body, callback, judged)
		}
	})
}
