package v1

import (
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"ferrule/config"
	"ferrule/link"
)

// pages keeps requests away that a browser sends for somebody's web page. A page
// can have a browser on the server's machine or in its network call the API:
// across origins, which Origin and Sec-Fetch-Site show, or from a name of its own
// that it lets resolve to the server's address (DNS rebinding), which Host shows.
type pages struct {
	strategy string          // [DEFAULT] auth_strategy
	names    map[string]bool // by which clients reach the API
	trusted  map[string]bool // hosts of web pages that may use it
	local    bool            // the API listens on loopback only, and for no proxy
	proxied  bool            // X-Forwarded-Host is believed
}

func newPages(c *config.Config) *pages {
	named := slices.Clone(c.API.AllowedHosts)
	if u, err := url.Parse(c.API.PublicEndpoint); err == nil {
		named = append(named, u.Host)
	}
	own := []string{c.API.HostIP}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		own = append(own, name, short)
	}
	return &pages{
		strategy: c.Default.AuthStrategy, trusted: setOf(named), names: setOf(append(own, named...)),
		proxied: c.OsloMiddleware.EnableProxyHeadersParsing,
		local:   isLoopback(c.API.HostIP) && !c.OsloMiddleware.EnableProxyHeadersParsing,
	}
}

func setOf(hosts []string) map[string]bool {
	set := map[string]bool{}
	for _, host := range hosts {
		set[hostOf(host)] = true
	}
	delete(set, "")
	return set
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

// hostOf is the name or address in host[:port], as names are compared.
func hostOf(host string) string {
	u := url.URL{Host: host}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String() // an IPv6 address without brackets has no port
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// ownNames are suffixes of names that nobody can own in the public DNS, so that
// no page comes from there: those of a cluster, and of private networks.
var ownNames = []string{".svc", ".cluster.local", ".internal", ".home.arpa"}

// knows reports whether no page of somebody else's can have the host.
func (p *pages) knows(host string) bool {
	name := hostOf(host)
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || p.names[name] {
		return true // a browser always names a host, and finds localhost on its own machine
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true // a page at an address comes from that address
	}
	if p.local {
		return false // in the machine's own network names can be made up
	}
	return !strings.Contains(name, ".") || slices.ContainsFunc(ownNames, func(s string) bool { return strings.HasSuffix(name, s) })
}

// hostsOf are the names by which the client, as far as it is known, reached us.
func (p *pages) hostsOf(r *http.Request) []string {
	hosts := []string{r.Host}
	if p.proxied {
		for _, line := range r.Header.Values("X-Forwarded-Host") {
			for host := range strings.SplitSeq(line, ",") {
				hosts = append(hosts, strings.TrimSpace(host))
			}
		}
	}
	return hosts
}

// check refuses what a page of somebody else's may have sent. public says that
// nobody is asked who they are on this path.
func (p *pages) check(r *http.Request, public bool) *fault {
	if _, relayed := link.RelayingSite(r.Context()); relayed {
		return nil // the relay passes on neither Origin nor the API's own name
	}
	hosts := p.hostsOf(r)
	if p.strategy == "noauth" {
		for _, host := range hosts {
			if !p.knows(host) {
				return faultf(http.StatusForbidden, "The API does not answer at the name %q: while it asks nobody who they are, a web page could reach it "+
					"by a name of its own. If this is the server's name, add it to [api] allowed_hosts, or call the server by its IP address.", clipped(host))
			}
		}
	}
	if p.strategy == "keystone" && !public {
		return nil // a browser holds nothing that would let it in
	}
	if from, foreign := p.foreignPage(r, hosts); foreign {
		return faultf(http.StatusForbidden, "The API does not answer requests that a browser sends for a web page of another origin (%s). "+
			"If this page may use the API, add its host to [api] allowed_hosts.", clipped(from))
	}
	return nil
}

// foreignPage tells from which other origin a browser says that a request comes.
// Following a link to the API is no such request.
func (p *pages) foreignPage(r *http.Request, hosts []string) (from string, foreign bool) {
	origins := r.Header.Values("Origin")
	for _, origin := range origins {
		if !p.ownOrigin(origin, hosts) {
			return origin, true
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if len(origins) > 0 || site == "" || site == "same-origin" || site == "none" {
		return "", false
	}
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	follows := reading && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return site, !follows
}

// ownOrigin reports whether an origin is the API's own, or one that was allowed.
func (p *pages) ownOrigin(origin string, hosts []string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // "null" is any page that hides where it comes from
	}
	return p.trusted[hostOf(u.Host)] ||
		slices.ContainsFunc(hosts, func(host string) bool { return withPort(u.Scheme, u.Host) == withPort(u.Scheme, host) })
}

// withPort is host:port in one form; the scheme says which port stands for none.
func withPort(scheme, host string) string {
	u := url.URL{Host: host}
	port := u.Port()
	switch {
	case port == "" && scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return hostOf(host) + " " + port
}

// clipped is a client's text, short enough for an error.
func clipped(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// checkPage is check, and the log tells of what was refused.
func (s *Service) checkPage(r *http.Request) error {
	f := s.pages.check(r, publicPath.MatchString(r.URL.Path))
	if f == nil {
		return nil
	}
	if s.refused.tell("page "+clipped(r.Host)+" "+clipped(r.Header.Get("Origin")), s.now()) {
		s.log.LogAttrs(r.Context(), slog.LevelWarn, "a request was refused that a web page may have sent",
			slog.String("method", r.Method), slog.String("host", clipped(r.Host)), slog.String("origin", clipped(r.Header.Get("Origin"))),
			slog.String("from", r.RemoteAddr), slog.String("reason", f.Text))
	}
	return f
}
