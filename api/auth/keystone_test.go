package auth

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// identityServer is as much of a Keystone as validation needs.
type identityServer struct {
	*httptest.Server
	password string

	mu      sync.Mutex
	tokens  map[string]map[string]any // contents by token
	own     map[string]bool           // tokens of the service itself
	logins  int
	asked   int
	down    bool
	entered chan struct{} // nil, or told of each question
	proceed chan struct{} // nil, or waited for by each question
}

func newIdentityServer(t *testing.T) *identityServer {
	t.Helper()
	s := &identityServer{password: rand.Text(), tokens: map[string]map[string]any{}, own: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/auth/tokens", s.logIn)
	mux.HandleFunc("GET /v3/auth/tokens", s.tell)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *identityServer) logIn(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins++
	if s.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if !strings.Contains(body.String(), s.password) {
		http.Error(w, "who?", http.StatusUnauthorized)
		return
	}
	id := rand.Text()
	s.own[id] = true
	w.Header().Set("X-Subject-Token", id)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{"expires_at": start.Add(time.Hour), "catalog": []any{}}})
}

func (s *identityServer) tell(w http.ResponseWriter, r *http.Request) {
	if s.entered != nil {
		s.entered <- struct{}{}
		<-s.proceed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	token, known := s.tokens[r.Header.Get("X-Subject-Token")]
	expired := known && token["expires_at"] == "2025-01-01T00:00:00.000000Z"
	switch {
	case s.down:
		http.Error(w, "down: "+r.Header.Get("X-Subject-Token"), http.StatusInternalServerError)
	case !s.own[r.Header.Get("X-Auth-Token")]:
		http.Error(w, "who?", http.StatusUnauthorized)
	case !known || expired && r.FormValue("allow_expired") == "":
		http.Error(w, "no token "+r.Header.Get("X-Subject-Token"), http.StatusNotFound)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"token": token})
	}
}

// give makes a token with what is said over the usual contents.
func (s *identityServer) give(more map[string]any) (id string) {
	token := map[string]any{
		"expires_at": "2026-01-01T01:00:00.000000Z",
		"user":       map[string]any{"id": "u", "name": "una", "domain": map[string]any{"id": "default"}},
		"roles":      []any{map[string]any{"id": "1", "name": "member"}, map[string]any{"id": "2", "name": "reader"}},
	}
	for key, value := range more {
		token[key] = value
	}
	id = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[id] = token
	return id
}

func (s *identityServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// service is the authenticator of a service whose user this Keystone knows.
type service struct {
	*keystone
	log bytes.Buffer
	at  time.Time
}

func (s *identityServer) service(t *testing.T, change func(*config.KeystoneAuthtoken)) *service {
	t.Helper()
	c := config.Defaults().KeystoneAuthtoken
	c.AuthType, c.AuthURL, c.WWWAuthenticateURI = "password", s.URL+"/v3", "http://keystone.example.org"
	c.Username, c.UserDomainName, c.Password = "ironic", "Default", s.password
	c.ProjectName, c.ProjectDomainName = "service", "Default"
	if change != nil {
		change(&c)
	}
	k := &service{at: start}
	made, err := New(Options{
		Strategy: "keystone", Keystone: c, Logger: slog.New(slog.NewTextHandler(&k.log, nil)), Now: func() time.Time { return k.at },
	})
	if err != nil {
		t.Fatal(err)
	}
	k.keystone = made.(*keystone)
	t.Cleanup(k.login.client.CloseIdleConnections)
	return k
}

func (k *service) try(headers ...string) (*Identity, error) {
	r := httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return k.Authenticate(r)
}

func refused(t *testing.T, err error, status int) (refusal *Refusal) {
	t.Helper()
	if !errors.As(err, &refusal) || refusal.Status != status {
		t.Fatalf("got %v, want a refusal with %d", err, status)
	}
	return refusal
}

func TestATokenIsItsOwner(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, nil)
	project := map[string]any{"id": "p", "name": "blue", "domain": map[string]any{"id": "default"}}
	for _, c := range []struct {
		more map[string]any
		want func(*Identity) bool
	}{
		{map[string]any{"project": project}, func(i *Identity) bool {
			return i.ProjectID == "p" && i.ProjectName == "blue" && i.SystemScope == "" && i.IsAdminProject
		}},
		{map[string]any{"system": map[string]any{"all": true}}, func(i *Identity) bool { return i.SystemScope == "all" && i.ProjectID == "" }},
		{map[string]any{"domain": map[string]any{"id": "d"}, "is_admin_project": false}, func(i *Identity) bool { return i.DomainID == "d" && !i.IsAdminProject }},
	} {
		who, err := k.try("X-Auth-Token", " "+s.give(c.more)+" ", "X-Roles", "admin", "X-Project-Id", "forged")
		if err != nil {
			t.Fatal(err)
		}
		if !c.want(who) || who.User != "una" || who.UserID != "u" || strings.Join(who.Roles, ",") != "member,reader" {
			t.Errorf("%v: got %+v", c.more, who)
		}
	}
}

func TestWithoutAGoodTokenNobodyComesIn(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, nil)
	restricted := s.give(map[string]any{"application_credential": map[string]any{"access_rules": []any{map[string]any{"path": "/v1/nodes"}}}})
	for name, headers := range map[string][]string{
		"none":       nil,
		"empty":      {"X-Auth-Token", " "},
		"unknown":    {"X-Auth-Token", "made-up"},
		"expired":    {"X-Auth-Token", s.give(map[string]any{"expires_at": "2025-01-01T00:00:00.000000Z"})},
		"restricted": {"X-Auth-Token", restricted},
		"endless":    {"X-Auth-Token", strings.Repeat("x", maxTokenSize+1)},
		"basic":      {"Authorization", "Basic dTpw"},
	} {
		_, err := k.try(headers...)
		refusal := refused(t, err, http.StatusUnauthorized)
		if refusal.Challenge != `Keystone uri="http://keystone.example.org"` {
			t.Errorf("%s: challenge %s", name, refusal.Challenge)
		}
		const body = `{"error":{"message":"The request you have made requires authentication.","code":401,"title":"Unauthorized"}}`
		if string(refusal.Body()) != body {
			t.Errorf("%s: %s", name, refusal.Body())
		}
	}
}

func TestAGoodTokenIsAskedAboutOnceInItsTime(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, nil)
	id := s.give(nil)
	times := func(n int) {
		t.Helper()
		for range n {
			if _, err := k.try("X-Auth-Token", id); err != nil {
				t.Fatal(err)
			}
		}
	}
	times(3)
	if s.asked != 1 || s.logins != 1 {
		t.Errorf("asked %d times after %d logins", s.asked, s.logins)
	}
	k.at = start.Add(k.keep)
	times(1)
	if s.asked != 2 {
		t.Errorf("asked %d times though token_cache_time is over", s.asked)
	}
	// Keystone's own time for the token ends what is remembered.
	k.at = start.Add(k.keep + k.keep - time.Second)
	s.set(func() { s.tokens[id]["expires_at"] = k.at.Add(time.Second).Format(time.RFC3339) })
	k.cache = newTokenCache()
	times(1)
	k.at = k.at.Add(2 * time.Second)
	_, err := k.try("X-Auth-Token", id)
	_ = refused(t, err, http.StatusUnauthorized)
}

func TestAStrangersTokenIsNotAskedAboutAgainAtOnce(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, nil)
	for range 3 {
		_, err := k.try("X-Auth-Token", "made-up")
		_ = refused(t, err, http.StatusUnauthorized)
	}
	if s.asked != 1 {
		t.Errorf("asked %d times", s.asked)
	}
	k.at = k.at.Add(strangerTime)
	_, err := k.try("X-Auth-Token", "made-up")
	if _ = refused(t, err, http.StatusUnauthorized); s.asked != 2 {
		t.Errorf("asked %d times, later", s.asked)
	}
}

func TestNothingIsRememberedWhereThatIsConfigured(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, func(c *config.KeystoneAuthtoken) { c.TokenCacheTime = -time.Second })
	id := s.give(nil)
	for range 2 {
		if _, err := k.try("X-Auth-Token", id); err != nil {
			t.Fatal(err)
		}
	}
	s.set(func() { delete(s.tokens, id) })
	_, err := k.try("X-Auth-Token", id)
	_ = refused(t, err, http.StatusUnauthorized)
}

func TestTheServiceLogsInAgainWhenItsOwnTokenIsOver(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, nil)
	if _, err := k.try("X-Auth-Token", s.give(nil)); err != nil {
		t.Fatal(err)
	}
	s.set(func() { clear(s.own) })
	if _, err := k.try("X-Auth-Token", s.give(nil)); err != nil {
		t.Fatal(err)
	}
	if s.logins != 2 {
		t.Errorf("%d logins", s.logins)
	}
}

func TestAKeystoneThatDoesNotAnswerIsSaidSo(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, nil)
	id := s.give(nil)
	s.set(func() { s.down = true })
	_, err := k.try("X-Auth-Token", id) // no login
	_ = refused(t, err, http.StatusServiceUnavailable)
	s.set(func() { s.down = false })
	if _, err := k.try("X-Auth-Token", id); err != nil {
		t.Fatalf("Keystone came later: %v", err)
	}
	s.set(func() { s.down = true })
	if _, err := k.try("X-Auth-Token", id); err != nil {
		t.Errorf("a token that is remembered: %v", err)
	}
	other := s.give(nil)
	_, err = k.try("X-Auth-Token", other) // no answer
	_ = refused(t, err, http.StatusServiceUnavailable)
	s.Close()
	_, err = k.try("X-Auth-Token", other) // nobody there
	_ = refused(t, err, http.StatusServiceUnavailable)
	if text := k.log.String(); strings.Contains(text, other) || strings.Contains(text, s.password) {
		t.Errorf("a credential in the log:\n%s", text)
	}
}

func TestAWrongPasswordOfTheServiceLetsNobodyIn(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	wrong := rand.Text()
	k := s.service(t, func(c *config.KeystoneAuthtoken) { c.Password = wrong })
	_, err := k.try("X-Auth-Token", s.give(nil))
	_ = refused(t, err, http.StatusServiceUnavailable)
	if strings.Contains(k.log.String(), wrong) {
		t.Error("the password is in the log")
	}
}

func TestOneQuestionServesAllWhoBringTheSameToken(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, nil)
	id := s.give(nil)
	s.entered, s.proceed = make(chan struct{}, 8), make(chan struct{})
	results := make(chan error, 8)
	ask := func() {
		_, err := k.try("X-Auth-Token", id)
		results <- err
	}
	go ask()
	<-s.entered
	for range 7 {
		go ask()
	}
	close(s.proceed)
	for range 8 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if s.asked != 1 {
		t.Errorf("asked %d times", s.asked)
	}
}

func TestAServicesTokenVouchesForAnExpiredOne(t *testing.T) {
	t.Parallel()
	s := newIdentityServer(t)
	k := s.service(t, nil)
	expired := s.give(map[string]any{"expires_at": "2025-01-01T00:00:00.000000Z"})
	nova := s.give(map[string]any{
		"roles": []any{map[string]any{"name": "service"}}, "user": map[string]any{"id": "nova"}, "project": map[string]any{"id": "s"},
	})
	who, err := k.try("X-Auth-Token", expired, "X-Service-Token", nova)
	if err != nil {
		t.Fatal(err)
	}
	if who.UserID != "u" || who.Service.UserID != "nova" || who.Service.ProjectID != "s" || who.Service.Roles[0] != "service" {
		t.Errorf("got %+v", who)
	}
	good := s.give(nil)
	for name, token := range map[string]string{"unknown": "made-up", "without the role": s.give(nil)} {
		_, err := k.try("X-Auth-Token", good, "X-Service-Token", token)
		if _ = refused(t, err, http.StatusUnauthorized); t.Failed() {
			t.Error(name)
		}
	}
	lenient := s.service(t, func(c *config.KeystoneAuthtoken) { c.ServiceTokenRolesRequired = false })
	if _, err := lenient.try("X-Auth-Token", good, "X-Service-Token", s.give(nil)); err != nil {
		t.Error(err)
	}
	_, err = lenient.try("X-Auth-Token", expired, "X-Service-Token", s.give(nil))
	_ = refused(t, err, http.StatusUnauthorized)
}

func TestMemoryOfTokensIsBounded(t *testing.T) {
	t.Parallel()
	c := newTokenCache()
	for i := range maxTokens + 100 {
		c.put(digest{byte(i), byte(i >> 8), byte(i >> 16)}, nil, start.Add(time.Hour), start)
	}
	if len(c.entries) != maxTokens {
		t.Errorf("%d tokens are remembered", len(c.entries))
	}
}

func TestWhatIsMissingIsSaidAtStart(t *testing.T) {
	t.Parallel()
	full := config.KeystoneAuthtoken{
		AuthType: "v3password", AuthURL: "http://127.0.0.1:1/v3", Username: "ironic", UserDomainID: "default", Password: rand.Text(), ProjectID: "p",
	}
	for want, change := range map[string]func(*config.KeystoneAuthtoken){
		"auth_url":                      func(c *config.KeystoneAuthtoken) { c.AuthURL = "" },
		"auth_type is missing":          func(c *config.KeystoneAuthtoken) { c.AuthType = "" },
		"auth_type v3kerberos":          func(c *config.KeystoneAuthtoken) { c.AuthType = "v3kerberos" },
		"username or user_id":           func(c *config.KeystoneAuthtoken) { c.Username = "" },
		"user_domain_id":                func(c *config.KeystoneAuthtoken) { c.UserDomainID = "" },
		"cafile":                        func(c *config.KeystoneAuthtoken) { c.CAFile = "/does/not/exist" },
		"certfile":                      func(c *config.KeystoneAuthtoken) { c.CertFile = "/does/not/exist" },
		"application_credential_secret": func(c *config.KeystoneAuthtoken) { c.AuthType = "v3applicationcredential" },
	} {
		c := full
		change(&c)
		if _, err := New(Options{Strategy: "keystone", Keystone: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		} else if strings.Contains(err.Error(), full.Password) {
			t.Errorf("%s: the password is in the error", want)
		}
	}
	if _, err := New(Options{Strategy: "keystone", Keystone: full}); err != nil {
		t.Error(err)
	}
}
