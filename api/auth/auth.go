// Package auth tells who sends a request: nobody in particular (noauth), a user
// of an htpasswd file (http_basic), or the owner of a Keystone token (keystone).
// It knows nothing of routes and of what anyone may do; which routes are public
// is the caller's business.
package auth

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"ferrule/api/policy"
	"ferrule/config"
)

// Identity is who sends a request. It is shared between requests and not to be
// changed.
type Identity struct {
	User         string // name; "" where nobody was asked
	UserID       string
	UserDomainID string

	ProjectID, ProjectName, ProjectDomainID string
	DomainID                                string // of a token for a domain
	SystemScope                             string // "all" of a token for the system
	Roles                                   []string
	IsAdminProject                          bool

	Service Service
}

// Service is who passes a user's request on, by a token of its own.
type Service struct {
	UserID, UserDomainID       string
	ProjectID, ProjectDomainID string
	Roles                      []string
}

// Credentials are what rules know of the identity.
func (i *Identity) Credentials() *policy.Credentials {
	return &policy.Credentials{
		UserID: i.UserID, UserDomainID: i.UserDomainID,
		ProjectID: i.ProjectID, ProjectName: i.ProjectName, ProjectDomainID: i.ProjectDomainID,
		DomainID: i.DomainID, SystemScope: i.SystemScope, Roles: i.Roles, IsAdminProject: i.IsAdminProject,
		ServiceUserID: i.Service.UserID, ServiceUserDomainID: i.Service.UserDomainID,
		ServiceProjectID: i.Service.ProjectID, ServiceProjectDomainID: i.Service.ProjectDomainID, ServiceRoles: i.Service.Roles,
	}
}

// Authenticator recognises the sender of a request.
type Authenticator interface {
	// Authenticate returns a *Refusal where the request must not go on.
	Authenticate(r *http.Request) (*Identity, error)
}

// Refusal is the answer to a request that may not go on; it is sent as it is.
type Refusal struct {
	Status    int
	Title     string // "" for none
	Message   string
	Challenge string // WWW-Authenticate, "" for none
}

func (r *Refusal) Error() string { return r.Message }

// Body is the refusal as clients of Ironic know it, without the wrapping of
// other errors.
func (r *Refusal) Body() []byte {
	type inner struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
		Title   string `json:"title,omitempty"`
	}
	out, err := json.Marshal(map[string]inner{"error": {r.Message, r.Status, r.Title}})
	if err != nil {
		return []byte("{}")
	}
	return out
}

// Options are how senders are recognised.
type Options struct {
	Strategy string                   // noauth, http_basic or keystone
	UserFile string                   // the htpasswd file of http_basic
	Keystone config.KeystoneAuthtoken // of keystone
	Logger   *slog.Logger             // nil: slog.Default()
	Now      func() time.Time         // nil: time.Now
}

// New is the authenticator of a strategy.
func New(o Options) (Authenticator, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch o.Strategy {
	case "noauth", "none", "":
		return noAuth{}, nil
	case "http_basic":
		return newBasic(o.UserFile)
	case "keystone":
		return newKeystone(o)
	}
	return nil, fmt.Errorf("auth_strategy %q is not supported: set it to noauth, http_basic or keystone", o.Strategy)
}

type noAuth struct{}

// Authenticate believes what the request says of its sender, as Ironic does: it
// decides nothing but to whom new things belong.
func (noAuth) Authenticate(r *http.Request) (*Identity, error) {
	return claimed(r.Header), nil
}

// claimed is who a request says it comes from (oslo.context: from_environ).
func claimed(h http.Header) *Identity {
	first := func(names ...string) string {
		for _, name := range names {
			if values := h.Values(name); len(values) > 0 {
				return values[0]
			}
		}
		return ""
	}
	who := &Identity{
		User: first("X-User-Name"), UserID: first("X-User-Id", "X-User"), UserDomainID: first("X-User-Domain-Id"),
		ProjectID:   first("X-Project-Id", "X-Tenant-Id", "X-Tenant"),
		ProjectName: first("X-Project-Name", "X-Tenant-Name"), ProjectDomainID: first("X-Project-Domain-Id"),
		DomainID: first("X-Domain-Id"), SystemScope: first("Openstack-System-Scope"),
		IsAdminProject: !strings.EqualFold(first("X-Is-Admin-Project"), "false"),
	}
	if roles := first("X-Roles", "X-Role"); roles != "" {
		for role := range strings.SplitSeq(roles, ",") {
			who.Roles = append(who.Roles, strings.TrimSpace(role))
		}
	}
	return who
}
