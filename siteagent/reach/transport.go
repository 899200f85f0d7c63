package reach

import (
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Transport fetches images: each connection, so each redirect too, is checked.
// The proxy that the environment names may be anywhere. It resolves names
// itself, so through one the target is checked by what it resolves to here.
func (g *Guard) Transport() http.RoundTripper { return g.transport(http.ProxyFromEnvironment) }

func (g *Guard) transport(proxy func(*http.Request) (*url.URL, error)) *transport {
	t := &transport{guard: g, proxy: proxy}
	t.proxied = http.DefaultTransport.(*http.Transport).Clone()
	t.proxied.ResponseHeaderTimeout = time.Minute
	t.proxied.Proxy = proxy
	t.direct = t.proxied.Clone()
	t.direct.Proxy = nil
	t.direct.DialContext = dialer(g.Check).DialContext
	return t
}

type transport struct {
	guard           *Guard
	proxy           func(*http.Request) (*url.URL, error)
	direct, proxied *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := t.proxy(r)
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return t.direct.RoundTrip(r)
	}
	if err := t.checkTarget(r); err != nil {
		return nil, err
	}
	return t.proxied.RoundTrip(r)
}

// checkTarget judges a target that a proxy is to connect to. A name that
// resolves to nothing here is the proxy's to judge.
func (t *transport) checkTarget(r *http.Request) error {
	host, port := r.URL.Hostname(), portOf(r.URL)
	if a, err := netip.ParseAddr(host); err == nil {
		return t.guard.Check(netip.AddrPortFrom(a, port))
	}
	addresses, err := t.guard.options.Resolve(r.Context(), host)
	if err != nil {
		return nil //nolint:nilerr // many sites can resolve outside names at the proxy only
	}
	for _, a := range addresses {
		if err := t.guard.Check(netip.AddrPortFrom(a, port)); err != nil {
			return err
		}
	}
	return nil
}

// CloseIdleConnections lets go of connections that nobody uses.
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
