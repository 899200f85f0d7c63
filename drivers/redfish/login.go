package redfish

import (
	"context"
	"errors"
	"net/http"

	"github.com/stmcginnis/gofish/redfish"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// wellKnownSessions is where sessions are where the root does not say.
const wellKnownSessions = root + "/SessionService/Sessions"

// logIn settles how the client logs in: with a session where the BMC has them,
// with each request otherwise.
func (c *client) logIn() error {
	if c.loggedIn {
		return nil
	}
	if c.access.credentials.Username == "" || c.access.auth == authBasic {
		c.useBasic()
		return nil
	}
	path, named := wellKnownSessions, false
	rootDoc, err := c.openRoot()
	if err != nil {
		return err
	}
	if link := rootDoc.child("Links").link("Sessions"); link != "" && checkPath(link) == nil {
		path, named = link, true
	}
	creds := c.access.credentials
	auth, err := redfish.CreateSession(c.api, path, creds.Username, creds.Password)
	switch {
	case err == nil && auth.Token != "":
		c.transport.token, c.loggedIn = auth.Token, true
		if c.session, err = c.localPath(auth.Session); err != nil {
			c.session = ""
		}
		return nil
	case err == nil:
		err = driver.Errorf(metal.CodeBMCError, "BMC %s: POST %s opened a session but gave no X-Auth-Token", c.access.address, path)
	default:
		err = c.explain(http.MethodPost, path, err)
	}
	return c.withoutSession(err, named)
}

// openRoot reads the service root, which everybody may read. An error is one
// of the way to the BMC; an odd answer is an empty root.
func (c *client) openRoot() (fields, error) {
	if c.root != nil {
		return c.root, nil
	}
	_, body, err := c.sendOnce(http.MethodGet, root+"/", nil, nil)
	var r *refusal
	switch {
	case errors.As(err, &r):
		return nil, nil // closed to strangers; the well-known paths serve
	case err != nil:
		return nil, err
	}
	c.root, _ = decode(body)
	return c.root, nil
}

// withoutSession decides what a refused session means: rejected credentials
// and a way to the BMC that fails are final, no service or no free slot is not.
// Where the root names no sessions (named is false) a 401 may only say that
// strangers are not told that there is nothing.
func (c *client) withoutSession(err error, named bool) error {
	var r *refusal
	refused := errors.As(err, &r)
	switch {
	case refused && r.sessionLimit():
		// For this command only: the next one tries for a session again.
		c.log.Warn("all sessions of the BMC are taken; using basic authentication for this operation", "error", err)
		c.transport.basic, c.basicOnce, c.loggedIn = true, true, true
		return nil
	case c.access.auth == authSession:
		return err
	case refused && named && (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden):
		return err
	case refused, driver.CodeOf(err) == metal.CodeBMCError:
		c.log.Debug("the BMC opens no session; using basic authentication", "error", err)
		c.useBasic()
		return nil
	}
	return err
}

func (c *client) useBasic() {
	c.transport.basic = c.access.credentials.Username != ""
	c.loggedIn = true
}

func (c *client) forgetSession() {
	c.transport.token, c.session, c.loggedIn = "", "", false
}

// logOut ends the session. A BMC that does not answer keeps it until it
// expires, which is nobody's failure here.
func (c *client) logOut(ctx context.Context) {
	defer c.transport.base.CloseIdleConnections()
	if c.session == "" {
		return
	}
	c.transport.command = ctx
	if err := redfish.DeleteSession(c.api, c.session); err != nil {
		c.log.Debug("the session could not be deleted", "error", err)
	}
	c.forgetSession()
}
