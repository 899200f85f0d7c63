package ferrule_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
	"golang.org/x/crypto/bcrypt"

	"ferrule/api/auth"
	"ferrule/api/ferrule"
	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

const known = "3f1c1f0e-5d8e-4f0e-9a53-0d2a3f9f3c11"

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// register is a store and a plane in one.
type register struct {
	agents  []store.Agent
	sites   []store.Site
	roster  []metal.Conductor
	asked   []string
	life    time.Duration
	removed []string
}

func (r *register) Agents(context.Context) ([]store.Agent, error) { return r.agents, nil }
func (r *register) Sites(context.Context) ([]store.Site, error)   { return r.sites, nil }
func (r *register) Conductors(context.Context) ([]metal.Conductor, error) {
	return r.roster, nil
}

func (r *register) NewJoinCode(_ context.Context, site string, life time.Duration) (string, time.Time, error) {
	r.asked, r.life = append(r.asked, site), life
	return "a-code", now.Add(time.Hour), nil
}

func (r *register) RemoveAgent(_ context.Context, id string) error {
	if id != known {
		return metal.Errorf(metal.NotFound, "Agent %s could not be found.", id)
	}
	r.removed = append(r.removed, id)
	return nil
}

func serve(t *testing.T, r *register, strategy, users string) *echo.Echo {
	t.Helper()
	who, err := auth.New(auth.Options{Strategy: strategy, UserFile: users})
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	ferrule.New(ferrule.Options{
		Store: r, Agents: r, Auth: who, AgentTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return now },
	}).Register(e)
	return e
}

func ask(t *testing.T, e *echo.Echo, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return w
}

func description(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapi.FerruleYAML)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestWhatIsDescribedIsServedAndNothingElse(t *testing.T) {
	t.Parallel()
	described := map[string]bool{}
	for path, item := range description(t).Paths.Map() {
		for method := range item.Operations() {
			described[method+" "+strings.NewReplacer("{", ":", "}", "").Replace(path)] = true
		}
	}
	for _, route := range serve(t, &register{}, "noauth", "").Routes() {
		key := route.Method + " " + route.Path
		if route.Path != "/ferrule/*" && !described[key] {
			t.Errorf("%s is served and not described", key)
		}
		delete(described, key)
	}
	for key := range described {
		t.Errorf("%s is described and not served", key)
	}
}

// matches checks an answer against its description.
func matches(t *testing.T, path, method string, w *httptest.ResponseRecorder) {
	t.Helper()
	responses := description(t).Paths.Value(path).GetOperation(method).Responses
	response := responses.Status(w.Code)
	if response == nil {
		response = responses.Default()
	}
	var body any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
	}
	if err := response.Value.Content["application/json"].Schema.Value.VisitJSON(body); err != nil {
		t.Errorf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
	}
}

func TestAJoinCodeIsForTheSiteAsked(t *testing.T) {
	t.Parallel()
	r := &register{}
	w := ask(t, serve(t, r, "noauth", ""), http.MethodPost, "/ferrule/v1/join-codes", `{"site":"Lisbon","lifetimeSeconds":90}`)
	matches(t, "/ferrule/v1/join-codes", http.MethodPost, w)
	if w.Code != http.StatusCreated || !strings.Contains(w.Body.String(), `"a-code"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(r.asked) != 1 || r.asked[0] != "lisbon" || r.life != 90*time.Second {
		t.Errorf("asked for %v, %s", r.asked, r.life)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Error("a code may be cached")
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	r := &register{}
	e := serve(t, r, "noauth", "")
	for name, c := range map[string]struct {
		method, path, body string
		want               int
	}{
		"no body":          {"POST", "/ferrule/v1/join-codes", "", 400},
		"bad JSON":         {"POST", "/ferrule/v1/join-codes", `{"site":`, 400},
		"a list":           {"POST", "/ferrule/v1/join-codes", `[]`, 400},
		"two objects":      {"POST", "/ferrule/v1/join-codes", `{}{}`, 400},
		"a wrong type":     {"POST", "/ferrule/v1/join-codes", `{"site":7}`, 400},
		"an unknown field": {"POST", "/ferrule/v1/join-codes", `{"sight":"x"}`, 400},
		"a bad name":       {"POST", "/ferrule/v1/join-codes", `{"site":"a b"}`, 400},
		"a long name":      {"POST", "/ferrule/v1/join-codes", `{"site":"` + strings.Repeat("a", 256) + `"}`, 400},
		"NUL":              {"POST", "/ferrule/v1/join-codes", "{\"site\":\"\x00\"}", 400},
		"escaped NUL":      {"POST", "/ferrule/v1/join-codes", `{"site":"\u0000"}`, 400},
		"invalid UTF-8":    {"POST", "/ferrule/v1/join-codes", "{\"site\":\"\xff\"}", 400},
		"a negative life":  {"POST", "/ferrule/v1/join-codes", `{"lifetimeSeconds":-1}`, 400},
		"an endless life":  {"POST", "/ferrule/v1/join-codes", `{"lifetimeSeconds":99999999999}`, 400},
		"a huge number":    {"POST", "/ferrule/v1/join-codes", `{"lifetimeSeconds":1e300}`, 400},
		"2 MiB":            {"POST", "/ferrule/v1/join-codes", `{"site":"` + strings.Repeat("a", 2<<20) + `"}`, 413},
		"no such agent":    {"DELETE", "/ferrule/v1/agents/3f1c1f0e-5d8e-4f0e-9a53-0d2a3f9f3c12", "", 404},
		"no id":            {"DELETE", "/ferrule/v1/agents/x%00y", "", 404},
		"another method":   {"PUT", "/ferrule/v1/agents", "", 404},
		"no such path":     {"GET", "/ferrule/v1/nothing", "", 404},
	} {
		w := ask(t, e, c.method, c.path, c.body)
		var problem struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || problem.Error == "" || w.Code != c.want {
			t.Errorf("%s: %d %s, want %d with an error's text", name, w.Code, w.Body, c.want)
		}
	}
	if len(r.asked) != 0 || len(r.removed) != 0 {
		t.Errorf("something was done: %v, %v", r.asked, r.removed)
	}
}

func TestListsTellWhoIsOnLine(t *testing.T) {
	t.Parallel()
	fresh, stale := now.Add(-10*time.Second), now.Add(-2*time.Minute)
	r := &register{
		sites: []store.Site{{Name: "", Labels: "{}"}, {Name: "lisbon", Labels: "{}"}},
		agents: []store.Agent{
			{ID: known, Site: "lisbon", SessionID: "s", LastSeenAt: &fresh, Labels: "{}", HardwareTypes: []string{"redfish"}},
			{ID: "3f1c1f0e-5d8e-4f0e-9a53-0d2a3f9f3c12", Site: "lisbon", SessionID: "s", LastSeenAt: &stale, Labels: "{}"},
			{ID: "3f1c1f0e-5d8e-4f0e-9a53-0d2a3f9f3c13", Site: "lisbon", Labels: "{}"},
			{ID: "3f1c1f0e-5d8e-4f0e-9a53-0d2a3f9f3c14", Site: "lisbon", Labels: "{}", RevokedAt: &fresh},
			{ID: "3f1c1f0e-5d8e-4f0e-9a53-0d2a3f9f3c15", Site: "lisbon", SessionID: "s", LastSeenAt: &stale, Labels: "{}"},
		},
		roster: []metal.Conductor{{AgentID: "3f1c1f0e-5d8e-4f0e-9a53-0d2a3f9f3c15", UpdatedAt: fresh}},
	}
	e := serve(t, r, "noauth", "")
	w := ask(t, e, http.MethodGet, "/ferrule/v1/agents", "")
	matches(t, "/ferrule/v1/agents", http.MethodGet, w)
	var agents ferrule.AgentList
	if err := json.Unmarshal(w.Body.Bytes(), &agents); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, false, true} {
		if agents.Agents[i].Online != want {
			t.Errorf("agent %d is on line: %v", i, !want)
		}
	}
	w = ask(t, e, http.MethodGet, "/ferrule/v1/sites", "")
	matches(t, "/ferrule/v1/sites", http.MethodGet, w)
	var sites ferrule.SiteList
	if err := json.Unmarshal(w.Body.Bytes(), &sites); err != nil {
		t.Fatal(err)
	}
	if s := sites.Sites; len(s) != 2 || s[0].Agents != 0 || s[1].Agents != 4 || s[1].AgentsOnline != 2 {
		t.Errorf("sites %+v", s)
	}
}

func TestAnAgentIsRemoved(t *testing.T) {
	t.Parallel()
	r := &register{}
	w := ask(t, serve(t, r, "noauth", ""), http.MethodDelete, "/ferrule/v1/agents/"+known, "")
	if w.Code != http.StatusNoContent || len(r.removed) != 1 {
		t.Errorf("%d %s, removed %v", w.Code, w.Body, r.removed)
	}
}

func TestEveryCallAsksWhoItIs(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte(rand.Text()), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := t.TempDir() + "/users"
	if err := os.WriteFile(users, fmt.Appendf(nil, "somebody:%s\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &register{}
	e := serve(t, r, "http_basic", users)
	for path, item := range description(t).Paths.Map() {
		for method, operation := range item.Operations() {
			public := operation.Security != nil && len(*operation.Security) == 0
			w := ask(t, e, method, strings.ReplaceAll(path, "{id}", known), "{}")
			if refused := w.Code == http.StatusUnauthorized; refused == public {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
			if !public && w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: no challenge", method, path)
			}
		}
	}
	if len(r.asked) != 0 || len(r.removed) != 0 {
		t.Error("something was done for nobody")
	}
}
