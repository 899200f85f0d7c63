package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/stmcginnis/gofish"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// client speaks to one BMC with one set of credentials. It is used by one
// command at a time.
type client struct {
	access    access
	api       *gofish.APIClient
	transport *transport
	plain     []netip.Prefix
	log       *slog.Logger

	root      fields // the service root, nil until it is read
	session   string // path of the session to delete at the end
	loggedIn  bool   // a way to log in has been settled
	basicOnce bool   // for the command that runs now only

	findings *findings            // of the System that the running command means
	known    map[string]*findings // by access.system
}

// findings are what the BMC has shown of its ways with one System, kept so
// that each is found out once.
type findings struct {
	system       string // path of the System
	resetTypes   []string
	resetKnown   bool
	bootSettings bool     // the boot override is written to the settings resource
	bootDropped  []string // boot properties that it refuses
	bootMode     bool     // it wants the boot mode with every override
	noContinuous bool     // it keeps no persistent override
	mediaSlots   string   // path of the VirtualMedia collection
	mediaExtras  []string // parameters that InsertMedia wants
	applyTime    bool     // settings want an apply time
}

func newClient(a access, d *Driver) (*client, error) {
	t, err := newTransport(a, d.pace, d.config.PlainHTTPNetworks)
	if err != nil {
		return nil, err
	}
	offline := &firstRoot{next: t}
	api, err := gofish.Connect(gofish.ClientConfig{
		Endpoint: a.address.endpoint(),
		HTTPClient: &http.Client{
			Transport:     offline,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making a Redfish client: %w", err)
	}
	return &client{
		access: a, api: api, transport: t, plain: d.config.PlainHTTPNetworks, known: map[string]*findings{},
		log: d.config.Log.With("bmc", a.address.String()),
	}, nil
}

// firstRoot answers the read of the service root that gofish makes at Connect
// with an empty one: gofish decodes it into a struct, which one odd leaf
// breaks. The driver reads the root itself, when it needs it.
type firstRoot struct {
	next *transport
	done bool
}

func (f *firstRoot) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.done {
		return f.next.RoundTrip(req)
	}
	f.done = true
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: req,
	}, nil
}

// begin makes ctx the context of the command that holds the client now, and
// system the one that it means.
func (c *client) begin(ctx context.Context, system string) {
	c.transport.command = ctx
	c.access.system = system
	if c.findings = c.known[system]; c.findings == nil {
		c.findings = &findings{}
		c.known[system] = c.findings
	}
	if c.basicOnce {
		c.basicOnce, c.loggedIn, c.transport.basic = false, false, false
	}
}

// get reads a resource.
func (c *client) get(path string) (document, error) {
	if err := checkPath(path); err != nil {
		return document{}, err
	}
	resp, body, err := c.send(http.MethodGet, path, nil, nil)
	if err != nil {
		return document{}, err
	}
	f, ok := decode(body)
	if !ok {
		return document{}, driver.Errorf(metal.CodeBMCError, "BMC %s: GET %s answered %d with no JSON object", c.access.address, path, resp.StatusCode)
	}
	return document{fields: f, path: path, etag: etagOf(resp.Header.Get("Etag"), f)}, nil
}

// post sends an action and follows it to its end.
func (c *client) post(path string, payload any) error {
	return c.write(http.MethodPost, path, payload, "")
}

// patch changes a resource that was read as doc, with its ETag where the BMC
// gave one. An ETag that is stale is read anew, twice at most.
func (c *client) patch(doc document, payload any) error {
	etag := doc.etag
	for attempt := 0; ; attempt++ {
		err := c.write(http.MethodPatch, doc.path, payload, etag)
		var r *refusal
		if attempt == 2 || !errors.As(err, &r) || (r.status != http.StatusPreconditionFailed && r.status != http.StatusPreconditionRequired) {
			return err
		}
		fresh, readErr := c.get(doc.path)
		if readErr != nil {
			return err
		}
		if etag = fresh.etag; attempt == 1 {
			etag = strings.TrimPrefix(etag, "W/")
		}
	}
}

func (c *client) write(method, path string, payload any, etag string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	headers := map[string]string{}
	if etag != "" {
		headers["If-Match"] = etag
	}
	resp, body, err := c.send(method, path, payload, headers)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusAccepted {
		return nil
	}
	if err := c.follow(method+" "+path, resp.Header.Get("Location"), body); err != nil {
		return &acceptedError{cause: err}
	}
	return nil
}

// acceptedError is a write that the BMC accepted and whose end is not known to
// be good.
type acceptedError struct{ cause error }

func (e *acceptedError) Error() string { return e.cause.Error() }
func (e *acceptedError) Unwrap() error { return e.cause }

// send logs in where it must and sends one request. A session that the BMC has
// dropped is opened anew, once.
func (c *client) send(method, path string, payload any, headers map[string]string) (*http.Response, []byte, error) {
	if err := c.logIn(); err != nil {
		return nil, nil, err
	}
	resp, body, err := c.sendOnce(method, path, payload, headers)
	var r *refusal
	if c.transport.token != "" && errors.As(err, &r) && r.status == http.StatusUnauthorized {
		c.forgetSession()
		if err := c.logIn(); err != nil {
			return nil, nil, err
		}
		resp, body, err = c.sendOnce(method, path, payload, headers)
	}
	return resp, body, err
}

func (c *client) sendOnce(method, path string, payload any, headers map[string]string) (*http.Response, []byte, error) {
	began := time.Now()
	var reader io.ReadSeeker
	if payload != nil {
		raw, err := json.Marshal(payload)
		if err != nil {
			return nil, nil, fmt.Errorf("writing %s %s: %w", method, path, err)
		}
		reader = bytes.NewReader(raw)
	}
	resp, err := c.api.RunRawRequestWithHeaders(method, path, reader, "application/json", headers)
	if err != nil {
		err = c.explain(method, path, err)
		c.log.Debug("redfish request failed", "method", method, "path", path, "duration", time.Since(began), "error", err)
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, c.explain(method, path, err)
	}
	c.log.Debug("redfish request", "method", method, "path", path, "status", resp.StatusCode, "duration", time.Since(began))
	return resp, body, nil
}

// localPath makes a Location, which may be a whole URL of the same BMC, a path
// that may be followed.
func (c *client) localPath(location string) (string, error) {
	u, err := url.Parse(location)
	if err == nil && u.Host != "" {
		if other, err := parseAddress(u.Scheme+"://"+u.Host, c.plain); err != nil || other.host != c.access.address.host {
			return "", driver.Errorf(metal.CodeInvalidAddress, "BMC %s points to another host, %.200q; it is not followed", c.access.address, location)
		}
		location = u.EscapedPath()
		if u.RawQuery != "" || u.Fragment != "" {
			location += "?"
		}
	}
	return location, checkPath(location)
}
