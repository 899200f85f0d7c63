// Package auth tells who sends a request: nobody in particular (noauth), or a
// user of an htpasswd file (http_basic). It knows nothing of routes; which of
// them are public is the caller's business.
package auth

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Identity is who sends a request.
type Identity struct {
	User string // "" where nobody was asked
}

// Authenticator recognises the sender of a request.
type Authenticator interface {
	// Authenticate returns a *Refusal where the request must not go on.
	Authenticate(r *http.Request) (Identity, error)
}

// Refusal is the answer to a request that may not go on; it is sent as it is.
type Refusal struct {
	Status    int
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
	}
	out, err := json.Marshal(map[string]inner{"error": {r.Message, r.Status}})
	if err != nil {
		return []byte("{}")
	}
	return out
}

// New is the authenticator of a strategy (noauth, http_basic); userFile is the
// htpasswd file of http_basic.
func New(strategy, userFile string) (Authenticator, error) {
	switch strategy {
	case "noauth", "none", "":
		return noAuth{}, nil
	case "http_basic":
		return newBasic(userFile)
	}
	return nil, fmt.Errorf("auth_strategy %q is not supported: set it to noauth or http_basic", strategy)
}

type noAuth struct{}

func (noAuth) Authenticate(*http.Request) (Identity, error) { return Identity{}, nil }
