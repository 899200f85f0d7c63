package v1

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"ferrule/api/auth"
	"ferrule/api/policy"
	"ferrule/config"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// Sealer turns a credential into what may be stored, and back. ref is the name
// under which it is stored and is bound to the sealed text.
type Sealer interface {
	Seal(ref string, plaintext []byte) ([]byte, error)
	Open(ref string, sealed []byte) ([]byte, error)
}

// Commands sends one command to whoever serves a node and waits for its result,
// at most a minute. What keeps it from being carried out is a *metal.Error.
type Commands interface {
	Do(ctx context.Context, n *metal.Node, req metal.Request) (metal.CommandResult, error)
}

// Options are what the API stands on.
type Options struct {
	Store     *store.Store
	Config    *config.Config
	Catalogue *hardware.Catalogue
	Sealer    Sealer
	Commands  Commands
	Auth      auth.Authenticator
	Policy    *policy.Enforcer
	Logger    *slog.Logger     // nil: slog.Default()
	Now       func() time.Time // nil: time.Now
}

// Service answers the Bare Metal API.
type Service struct {
	store     *store.Store
	config    *config.Config
	catalogue *hardware.Catalogue
	sealer    Sealer
	commands  Commands
	auth      auth.Authenticator
	policy    *policy.Enforcer
	log       *slog.Logger
	clock     func() time.Time
	refused   refusals
	pages     *pages
	underWay  underWay
	bodies    *bodies

	keptAnswers atomic.Int64 // since the start
	buffers     sync.Pool    // of *[]byte, for answers
}

// New makes the service.
func New(o Options) *Service {
	s := &Service{
		store: o.Store, config: o.Config, catalogue: o.Catalogue, sealer: o.Sealer, commands: o.Commands, auth: o.Auth,
		policy: o.Policy, log: o.Logger, clock: o.Now, pages: newPages(o.Config),
	}
	limits := o.Config.API
	s.bodies = newBodies(int64(max(limits.MaxJSONBodySizeKiB, limits.MaxProvisionBodySizeKiB, limits.MaxInspectionBodySizeKiB)) << 10)
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	return s
}

// machine is the node with the rows of its interfaces.
func (s *Service) machine(n *metal.Node) hardware.Machine { return s.catalogue.Machine(n) }

// now is the time as the database keeps it.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// call is one request on its way through a handler.
type call struct {
	echo.Context
	op      *openapi.Operation
	version openapi.Version
	base    string // scheme and host of links
	query   *query
	raw     []byte // body
	rights  *rights
	buffers *sync.Pool
}

type handler func(c *call) error

// handlers is the handler of each operation of the description, by its id.
func (s *Service) handlers() map[string]handler {
	all := map[string]handler{
		"getVersions": s.getVersions, "headVersions": s.getVersions, "getV1": s.getV1, "headV1": s.getV1,

		"listNodes": s.listNodes, "listNodesDetail": s.listNodesDetail, "createNode": s.createNode,
		"getNode": s.getNode, "updateNode": s.updateNode, "deleteNode": s.deleteNode,
		"validateNode": s.validateNode, "validateNodeByQuery": s.validateNodeByQuery,
		"setMaintenance": s.setMaintenance, "clearMaintenance": s.clearMaintenance,
		"getStates": s.getStates, "setPower": s.setPower, "setProvision": s.setProvision,
		"getBootDevice": s.getBootDevice, "setBootDevice": s.setBootDevice, "getSupportedBootDevices": s.getSupportedBootDevices,

		"listNodePorts": s.listNodePorts, "listNodePortsDetail": s.listNodePortsDetail,
		"listPorts": s.listPorts, "listPortsDetail": s.listPortsDetail, "createPort": s.createPort,
		"getPort": s.getPort, "updatePort": s.updatePort, "deletePort": s.deletePort,

		"listDrivers": s.listDrivers, "getDriver": s.getDriver, "getDriverProperties": s.getDriverProperties,
		"getLogicalDiskProperties": s.getLogicalDiskProperties,
		"listConductors":           s.listConductors, "getConductor": s.getConductor,

		"lookup": s.lookup, "heartbeat": s.heartbeat, "continueInspection": s.continueInspection,
	}
	maps.Copy(all, s.resourceHandlers())
	return all
}

// Register adds every route of the description that is not Ferrule's own.
func (s *Service) Register(e *echo.Echo) {
	all := s.handlers()
	maps.Copy(all, s.actionHandlers())
	for i := range openapi.Operations {
		op := &openapi.Operations[i]
		h, ok := all[op.ID]
		if op.Own || !ok {
			continue
		}
		e.Add(op.Method, echoPath(op.Path), s.serve(op, h))
	}
}

// echoPath writes a path of the description as echo wants it.
func echoPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// serve wraps a handler with what all operations share.
func (s *Service) serve(op *openapi.Operation, h handler) echo.HandlerFunc {
	return func(ec echo.Context) error {
		a := arrivalOf(ec)
		c := &call{Context: ec, op: op, version: a.version, base: s.publicURL(ec.Request()), raw: a.body, buffers: &s.buffers}
		if err := c.checkAccept(); err != nil {
			return err
		}
		if err := c.checkPath(); err != nil {
			return err
		}
		if !late(op.TooOld) {
			if err := c.checkVersion(); err != nil {
				return err
			}
		}
		q, err := c.parseArguments()
		if err != nil {
			return err
		}
		c.query = q
		c.rights = s.rightsOf(a.who, op)
		if op.About == openapi.AboutRequest {
			if err := c.rights.authorize(op.Policies[0], nil); err != nil {
				return err
			}
		}
		return s.once(c, h)
	}
}

// late reports whether the handler itself checks the version.
func late(g openapi.Gate) bool { return g == openapi.GateLate404 || g == openapi.GateLate406 }

// checkVersion answers a request that is older than the route.
func (c *call) checkVersion() error {
	if c.version >= c.op.Min || c.op.AlsoAt != 0 && c.version == c.op.AlsoAt {
		return nil
	}
	switch c.op.TooOld {
	case openapi.GateFault404, openapi.GateLate404:
		return notFound("The API version 1.%d or newer is required.", c.op.Min)
	case openapi.GateFault405:
		return faultf(http.StatusMethodNotAllowed, "The API version 1.%d or newer is required.", c.op.Min)
	case openapi.GateFault406, openapi.GateLate406:
		return notAcceptable()
	case openapi.GateRoute405:
		return notAllowed("DELETE, GET, PATCH, POST")
	case openapi.GateTold404, openapi.GateTold405:
		status := http.StatusNotFound
		if c.op.TooOld == openapi.GateTold405 {
			status = http.StatusMethodNotAllowed
		}
		return &fault{Status: status, Text: fmt.Sprintf("The API version 1.%d or newer is required.", c.op.Min), Routed: true}
	case openapi.GateRoute406:
		return routeFault(http.StatusNotAcceptable)
	}
	if pathExists(c.op.Path, c.version) {
		return notFound("The API version 1.%d or newer is required for %s.", c.op.Min, c.op.Method)
	}
	return routeFault(http.StatusNotFound)
}

// pathExists reports whether some method of the path is as old as v.
func pathExists(path string, v openapi.Version) bool {
	return slices.ContainsFunc(openapi.Operations, func(o openapi.Operation) bool { return o.Path == path && o.Min <= v })
}

// checkAccept refuses a client that will not read JSON.
func (c *call) checkAccept() error {
	accept := c.Request().Header.Get("Accept")
	if accept == "" {
		return nil
	}
	for _, item := range strings.Split(accept, ",") {
		media, _, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "*/*", "application/*", "application/json":
			return nil
		}
	}
	return &fault{Status: http.StatusNotAcceptable, Text: "The resource could only be generated as application/json.", Routed: true}
}

// subcollections are words that never name a node in a path, whether their
// routes are served or not (Ironic: NodesController._subcontroller_map).
var subcollections = map[string]bool{
	"ports": true, "portgroups": true, "vifs": true, "volume": true, "traits": true, "bios": true, "allocation": true,
	"history": true, "inventory": true, "children": true, "firmware": true, "vmedia": true,
}

// checkPath refuses a node that cannot be one.
func (c *call) checkPath() error {
	node := c.Param("node")
	if node == "" || !strings.HasPrefix(c.op.Path, "/v1/nodes/") {
		return nil
	}
	if subcollections[node] {
		return routeFault(http.StatusNotFound)
	}
	if isIdent(node) {
		return nil
	}
	if !utf8.ValidString(node) {
		return routeFault(http.StatusBadRequest)
	}
	f := badRequest("Expected UUID or name for node: %s", node)
	// These have controllers of their own, which look at the node themselves.
	rest := strings.TrimPrefix(c.op.Path, "/v1/nodes/{node}/")
	word, _, _ := strings.Cut(rest, "/")
	f.Routed = word != "states" && word != "management" && word != "maintenance"
	return f
}

func (c *call) parseArguments() (*query, error) {
	raw, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return nil, badRequest("The query string is malformed.")
	}
	if c.op.Keywords {
		return &query{raw: raw, version: c.version}, nil
	}
	return parseQuery(c.op, c.version, raw)
}

// json writes an answer that is JSON already. With its length told, net/http
// need not send it in chunks.
func (c *call) json(status int, body []byte) error {
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	return c.Blob(status, "application/json", body)
}

// send writes an answer that fill appends to a buffer which others have used
// and will use: those of lists are large.
func (c *call) send(status int, fill func(b []byte) []byte) error {
	buffer, ok := c.buffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer c.buffers.Put(buffer)
	*buffer = fill((*buffer)[:0])
	return c.json(status, *buffer)
}

// empty writes an answer without body.
func (c *call) empty(status int) error { return c.NoContent(status) }

// location sets the Location header to a path under /v1.
func (c *call) location(path string) {
	c.Response().Header().Set("Location", c.base+"/v1/"+path)
}

// HandleError writes err in the shape that clients of Ironic know.
func (s *Service) HandleError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	var raw *rawFault
	if errors.As(err, &raw) {
		s.write(c, raw.Status, raw.body())
		return
	}
	var refusal *auth.Refusal
	if errors.As(err, &refusal) {
		if refusal.Challenge != "" {
			c.Response().Header().Set("WWW-Authenticate", refusal.Challenge)
		}
		s.write(c, refusal.Status, refusal.Body())
		return
	}
	f := s.faultOf(err, c)
	setFaultHeaders(c.Response().Header(), f)
	if f.Status >= http.StatusInternalServerError {
		level := slog.LevelError
		if c.Request().Context().Err() != nil || metal.ReasonOf(err) == metal.Outage {
			level = slog.LevelDebug // the caller has hung up, or the store has told the log
		}
		s.log.Log(c.Request().Context(), level, "request failed", "method", c.Request().Method, "path", c.Request().URL.Path,
			"request_id", c.Response().Header().Get(headerRequestID), "error", err)
	}
	s.write(c, f.Status, f.body())
}

// setFaultHeaders takes back what a request that was not routed does not get.
func setFaultHeaders(h http.Header, f *fault) {
	h.Del(echo.HeaderAllow)
	if f.Allow != nil {
		h.Set(echo.HeaderAllow, *f.Allow)
	}
	if f.Ranged || f.Routed {
		h.Del(headerVersion)
	}
	if f.Routed && !f.Ranged {
		h.Del(headerMinimum)
		h.Del(headerMaximum)
	}
}

func (s *Service) faultOf(err error, c echo.Context) *fault {
	var he *echo.HTTPError
	if errors.As(err, &he) {
		switch he.Code {
		case http.StatusNotFound, http.StatusMethodNotAllowed:
			return unrouted(c.Request().Method, c.Request().URL.Path)
		}
		return &fault{Status: he.Code, Text: http.StatusText(he.Code), Cause: err}
	}
	return asFault(err)
}

func (s *Service) write(c echo.Context, status int, body []byte) {
	var err error
	if c.Request().Method == http.MethodHead {
		c.Response().Header().Set(echo.HeaderContentType, "application/json")
		err = c.NoContent(status)
	} else {
		err = c.Blob(status, "application/json", body)
	}
	if err != nil {
		s.log.LogAttrs(c.Request().Context(), slog.LevelDebug, "answer not written", slog.Any("error", err))
	}
}
