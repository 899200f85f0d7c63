package v1

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"ferrule/api/auth"
	"ferrule/openapi"
)

// headerRequestID is the request id's header; Ironic sends it twice. Headers are
// written as net/http keeps them, so that no request pays for the conversion.
const (
	headerRequestID      = "X-Openstack-Request-Id"
	headerRequestIDShort = "Openstack-Request-Id"
)

// arrival is what Front finds out about a request.
type arrival struct {
	version   openapi.Version
	body      []byte
	who       *auth.Identity
	suffixCut bool // the path lost a ".json"
}

const keyArrival = "ferrule.arrival"

// unannounced is a request that Front has not seen.
var unannounced = &arrival{version: openapi.MinVersion, who: nobody}

func arrivalOf(c echo.Context) *arrival {
	if a, ok := c.Get(keyArrival).(*arrival); ok {
		return a
	}
	return unannounced
}

// Front runs before routing: request ids, preflight requests, authentication,
// body limits, the version and the path, in the order in which Ironic's
// middleware does.
func (s *Service) Front(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if ownPath(r.URL.Path) {
			if !isProbe(r.URL.Path) {
				if err := s.checkPage(r); err != nil {
					return err
				}
			}
			return next(c)
		}
		h := c.Response().Header()
		h.Set("Server", "ironic_api")
		if r.Method == http.MethodOptions {
			return c.NoContent(http.StatusOK)
		}
		id := "req-" + newUUID()
		h.Set(headerRequestID, id)
		h.Set(headerRequestIDShort, id)
		a := &arrival{version: openapi.MinVersion, who: nobody}
		c.Set(keyArrival, a)
		err := s.checkPage(r)
		if err != nil {
			return err
		}
		if !publicPath.MatchString(r.URL.Path) {
			if a.who, err = s.auth.Authenticate(r); err != nil {
				return err
			}
		}
		body := s.bodies.begin(c.Response())
		defer body.end()
		if a.body, err = readBody(r, body, s.bodyLimit(r.URL.Path), s.config.API.MaxJSONBodyDepth); err != nil {
			return err
		}
		if a.version, err = setVersion(c); err != nil {
			return err
		}
		a.suffixCut = setPath(r)
		return next(c)
	}
}

// nobody is who sends a request to a public route.
var nobody = &auth.Identity{}

// publicPath is what Ironic serves without authentication; a node's name there
// is lower case.
var publicPath = regexp.MustCompile(`^/(v1(/lookup|/heartbeat/[a-z0-9\-]+|/continue_inspection)?)?(\.json|\.xml)?/?$`)

// ownPaths are the single ones of Ferrule's own paths.
var ownPaths = func() map[string]bool {
	paths := map[string]bool{}
	for i := range openapi.Operations {
		if op := &openapi.Operations[i]; op.Own {
			paths[op.Path] = true
		}
	}
	return paths
}()

// ownPath reports whether the path is Ferrule's own, outside of Ironic's API.
func ownPath(path string) bool {
	return ownPaths[path] || strings.HasPrefix(path, "/ferrule/") || strings.HasPrefix(path, "/ui/")
}

// isProbe reports whether the path only tells a load balancer how the process is.
func isProbe(path string) bool { return path == "/healthz" || path == "/readyz" }

// bodyLimit is the size that a request to path may have.
func (s *Service) bodyLimit(path string) int64 {
	path = strings.TrimSuffix(path, "/")
	kib := s.config.API.MaxJSONBodySizeKiB
	switch {
	case strings.HasSuffix(path, "states/provision"):
		kib = s.config.API.MaxProvisionBodySizeKiB
	case strings.HasSuffix(path, "continue_inspection"):
		kib = s.config.API.MaxInspectionBodySizeKiB
	}
	return int64(kib) << 10
}

func setVersion(c echo.Context) (openapi.Version, error) {
	h := c.Response().Header()
	h.Set(headerMinimum, openapi.MinVersion.String())
	h.Set(headerMaximum, openapi.MaxVersion.String())
	v, err := negotiate(c.Request().Header)
	if err != nil {
		f := asFault(err)
		if strings.Trim(c.Request().URL.Path, "/") == "" {
			f.Routed = false // the root document's own controller says it
			if !f.Ranged {
				h.Del(headerMinimum)
				h.Del(headerMaximum)
			}
		}
		return openapi.MinVersion, f
	}
	h.Set(headerVersion, v.String())
	return v, nil
}

// setPath brings the path to the one form that routes know: with /v1, without a
// trailing slash, decoded, and, for old versions, without ".json", of which it
// tells.
func setPath(r *http.Request) (suffixCut bool) {
	path := strings.TrimSuffix(decodedPath(r.URL), "/")
	if strings.HasSuffix(path, ".json") && stripsSuffix(r.Header) {
		path, suffixCut = strings.TrimSuffix(path, ".json"), true
	}
	switch {
	case path == "":
		path = "/"
		if r.Method != http.MethodHead {
			r.Method = http.MethodGet // the root document answers any method
		}
	case path != "/v1" && !strings.HasPrefix(path, "/v1/"):
		path = "/v1" + path
	}
	r.URL.Path, r.URL.RawPath = path, ""
	return suffixCut
}

// decodedPath is the path decoded segment by segment: a slash that was escaped
// stays escaped, and so in its segment.
func decodedPath(u *url.URL) string {
	if u.RawPath == "" || !strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") {
		return u.Path
	}
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = strings.ReplaceAll(plain, "/", "%2F")
		}
	}
	return strings.Join(segments, "/")
}

// stripsSuffix reports whether ".json" at the end of a path means nothing: only
// a number below 1.91 in Ironic's own header asks for that.
func stripsSuffix(h http.Header) bool {
	word := strings.TrimSpace(h.Get(headerVersion))
	if word == "" {
		return false
	}
	own := http.Header{}
	own.Set(headerVersion, word)
	v, err := negotiate(own)
	return err == nil && !strings.EqualFold(word, "latest") && v < 91
}

// publicURL is the base of links: what a trusted proxy says, the configured one,
// else what the client used.
func (s *Service) publicURL(r *http.Request) string {
	if s.config.OsloMiddleware.EnableProxyHeadersParsing {
		return proxiedURL(r)
	}
	if s.config.API.PublicEndpoint != "" {
		return strings.TrimSuffix(s.config.API.PublicEndpoint, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// proxiedURL is where the client reached the proxy in front of this server
// (oslo.middleware: http_proxy_to_wsgi).
func proxiedURL(r *http.Request) string {
	first := func(name, fallback string) string {
		value, _, _ := strings.Cut(r.Header.Get(name), ",")
		if value = strings.TrimSpace(value); value != "" {
			return value
		}
		return fallback
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return first("X-Forwarded-Proto", scheme) + "://" + first("X-Forwarded-Host", r.Host) +
		strings.TrimSuffix(first("X-Forwarded-Prefix", ""), "/")
}
