package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/singleflight"
)

const (
	headerToken        = "X-Auth-Token"
	headerStorageToken = "X-Storage-Token" // an older name
	headerServiceToken = "X-Service-Token"
)

const (
	// maxAsking bounds the questions to Keystone at a time.
	maxAsking = 16
	// maxTokenSize is far above any token that Keystone makes.
	maxTokenSize = 16 << 10
	// strangerTime is how long a token that Keystone does not know is not asked
	// about again.
	strangerTime = 10 * time.Second
)

// keystone validates tokens as Keystone's own middleware for services does
// (keystonemiddleware: auth_token).
type keystone struct {
	login         *login
	challenge     string
	keep          time.Duration // for which a good token is not asked about again
	serviceRoles  []string
	rolesRequired bool
	log           *slog.Logger
	now           func() time.Time

	cache   *tokenCache
	asking  singleflight.Group // one question per token at a time
	opening singleflight.Group // one login at a time
	slots   chan struct{}
	client  atomic.Pointer[gophercloud.ServiceClient] // nil until the first login
}

func newKeystone(o Options) (*keystone, error) {
	l, err := newLogin(o.Keystone)
	if err != nil {
		return nil, err
	}
	uri := o.Keystone.WWWAuthenticateURI
	if uri == "" {
		uri = l.serverURL
	}
	return &keystone{
		login: l, challenge: fmt.Sprintf("Keystone uri=%q", uri), keep: o.Keystone.TokenCacheTime,
		serviceRoles: o.Keystone.ServiceTokenRoles, rolesRequired: o.Keystone.ServiceTokenRolesRequired,
		log: o.Logger, now: o.Now, cache: newTokenCache(), slots: make(chan struct{}, maxAsking),
	}, nil
}

// Authenticate asks Keystone whose token the request carries. A service's token
// beside it lets a token pass that has expired meanwhile.
func (k *keystone) Authenticate(r *http.Request) (*Identity, error) {
	service, late, err := k.service(r)
	if err != nil {
		return nil, err
	}
	value := r.Header.Get(headerToken)
	if value == "" {
		value = r.Header.Get(headerStorageToken)
	}
	t, err := k.validate(r.Context(), value, late)
	if err != nil {
		return nil, err
	}
	if t.restricted() {
		return nil, k.unauthorized() // to calls of services that it names by type, which Ironic does not know of itself
	}
	who := t.identity()
	who.Service = service
	return &who, nil
}

// service is who passes the request on. late: an expired token may pass.
func (k *keystone) service(r *http.Request) (s Service, late bool, err error) {
	value := r.Header.Get(headerServiceToken)
	if value == "" {
		return s, false, nil
	}
	t, err := k.validate(r.Context(), value, false)
	if err != nil {
		return s, false, err
	}
	late = slices.ContainsFunc(t.roles(), func(role string) bool { return slices.Contains(k.serviceRoles, role) })
	if k.rolesRequired && !late {
		return s, false, k.unauthorized()
	}
	return t.service(), late, nil
}

// validate is the contents of a token that is good now.
func (k *keystone) validate(ctx context.Context, value string, late bool) (*token, error) {
	value = strings.TrimSpace(value)
	if value == "" || len(value) > maxTokenSize {
		return nil, k.unauthorized()
	}
	d := k.cache.digest(value, late)
	t, known := k.cache.get(d, k.now())
	if !known {
		// Shared by all who bring this token: one that goes away stops nobody.
		shared := context.WithoutCancel(ctx)
		answer, err, _ := k.asking.Do(string(d[:]), func() (any, error) {
			ctx, cancel := context.WithTimeout(shared, 2*askLimit)
			defer cancel()
			return k.ask(ctx, d, value, late)
		})
		if err != nil {
			k.log.WarnContext(ctx, "token not validated", "error", err)
			return nil, &Refusal{
				Status: http.StatusServiceUnavailable, Title: http.StatusText(http.StatusServiceUnavailable),
				Message: "The Keystone service is temporarily unavailable, so nobody can be recognised. Try again later.",
			}
		}
		t, _ = answer.(*token)
	}
	if t == nil || !late && !k.now().Before(t.Expires) {
		return nil, k.unauthorized()
	}
	return t, nil
}

func (k *keystone) unauthorized() *Refusal {
	return &Refusal{
		Status: http.StatusUnauthorized, Title: http.StatusText(http.StatusUnauthorized),
		Message: "The request you have made requires authentication.", Challenge: k.challenge,
	}
}

// ask asks Keystone, and remembers what it says; nil is a token that it does
// not know.
func (k *keystone) ask(ctx context.Context, d digest, value string, late bool) (*token, error) {
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other questions to Keystone: %w", ctx.Err())
	}
	client, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	t, err := fetch(ctx, client, value, late)
	if err != nil {
		return nil, err
	}
	now := k.now()
	switch {
	case k.keep <= 0:
	case t == nil:
		k.cache.put(d, nil, now.Add(min(k.keep, strangerTime)), now)
	default:
		k.cache.put(d, t, now.Add(k.keep), now)
	}
	return t, nil
}

// open is the client, logged in. A login that failed is tried again with the
// next request: Keystone may come later than Ferrule.
func (k *keystone) open(ctx context.Context) (*gophercloud.ServiceClient, error) {
	if client := k.client.Load(); client != nil {
		return client, nil
	}
	_, err, _ := k.opening.Do("", func() (any, error) {
		client, err := k.login.open(ctx)
		if err == nil {
			k.client.Store(client)
		}
		return nil, err
	})
	return k.client.Load(), err
}

// fetch asks what a token is; nil where Keystone does not know it.
func fetch(ctx context.Context, client *gophercloud.ServiceClient, value string, late bool) (*token, error) {
	url := client.ServiceURL("auth", "tokens") + "?nocatalog=1"
	if late {
		url += "&allow_expired=1"
	}
	var body struct {
		Token *token `json:"token"`
	}
	response, err := client.Get(ctx, url, &body, &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"X-Subject-Token": value}, OkCodes: []int{http.StatusOK, http.StatusNonAuthoritativeInfo},
	})
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask Keystone about a token: %w", withoutBody(err))
	}
	if body.Token == nil {
		return nil, errors.New("ask Keystone about a token: it answered " + response.Status + " without one")
	}
	return body.Token, nil
}
