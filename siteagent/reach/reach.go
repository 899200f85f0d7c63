// Package reach is the one place that decides which addresses an agent connects
// to at the word of somebody else: image servers, which whoever may edit a node
// names, and ramdisks, which whatever runs on a machine names. Names are judged
// by what they resolve to, when the connection is made. It must not import
// anything of the control plane.
package reach

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"ferrule/metal"
	"ferrule/siteagent/refusal"
)

// Options make a Guard. The zero value is the strictest.
type Options struct {
	// Open are networks, as of a lab, whose addresses may be reached although
	// they are loopback, link-local, metadata or BMC addresses.
	Open []netip.Prefix
	// Callbacks are the networks in which call-back addresses of ramdisks may
	// lie; none: only the address from which the ramdisk called.
	Callbacks []netip.Prefix
	// Own is where the agent itself listens; nil: nowhere.
	Own net.Addr
	// Dir keeps the addresses of BMCs over restarts; "": they are not kept.
	Dir string
	// Resolve finds a name's addresses; nil: as the system does.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Log     *slog.Logger // nil: slog.Default()
	Now     func() time.Time
}

// Guard decides. It is safe for concurrent use.
type Guard struct {
	options Options
	own     netip.AddrPort
	bmcs    *bmcs
}

// New makes a Guard. Close lets go of its file.
func New(o Options) (*Guard, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	g := &Guard{options: o}
	if at, ok := o.Own.(*net.TCPAddr); ok {
		g.own = at.AddrPort()
	}
	var err error
	g.bmcs, err = openBMCs(o.Dir, o.Now)
	return g, err
}

// Close ends the Guard.
func (g *Guard) Close() error { return g.bmcs.close() }

// closedNetworks are never reached unless they are opened.
var closedNetworks = []struct {
	network netip.Prefix
	what    string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("0.0.0.0/8"), "no address of a server"},
	{netip.MustParsePrefix("::/128"), "no address of a server"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "no address of a server"},
	// Clouds serve their machines' metadata here, and at link-local addresses.
	{netip.MustParsePrefix("fd00:ec2::254/128"), "a cloud's metadata address"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud's metadata address"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud's metadata address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata address"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud's metadata address"},
}

// embedding are the forms in which IPv6 addresses stand for IPv4 ones, and the
// byte at which the IPv4 address begins.
var embedding = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // SIIT
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},  // NAT64 of the local network, with /96
}

// plain is an address in the form in which addresses are compared.
func plain(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

func in(networks []netip.Prefix, a netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// Check refuses an address that the agent must not connect to.
func (g *Guard) Check(at netip.AddrPort) error {
	a := plain(at.Addr())
	if g.isOwn(a, at.Port()) {
		return forbidden(a, "this agent's own address", "")
	}
	driven, samePort := g.bmcs.has(a, at.Port())
	if samePort {
		return forbidden(a, "the address and port of a BMC that this agent drives", "")
	}
	if in(g.options.Open, a) {
		return nil
	}
	if driven {
		return forbidden(a, "the address of a BMC that this agent drives", openHint)
	}
	for _, c := range closedNetworks {
		if c.network.Contains(a) {
			return forbidden(a, c.what, openHint)
		}
	}
	for _, e := range embedding {
		if e.network.Contains(a) {
			bytes := a.As16()
			inner, _ := netip.AddrFromSlice(bytes[e.at : e.at+4])
			return g.Check(netip.AddrPortFrom(inner, at.Port()))
		}
	}
	return nil
}

const openHint = "; to allow it, as in a lab, name its network in [siteagent] open_networks (--open-networks of ferrule-agent)"

func forbidden(a netip.Addr, what, hint string) error {
	return refusal.New(metal.CodeForbiddenTarget, "%s is %s, where this agent does not connect to%s", a, what, hint)
}

// isOwn reports whether the agent listens there.
func (g *Guard) isOwn(a netip.Addr, port uint16) bool {
	if !g.own.IsValid() || port != g.own.Port() {
		return false
	}
	if a.IsLoopback() || a.IsUnspecified() || a == plain(g.own.Addr()) {
		return true
	}
	mine, err := net.InterfaceAddrs()
	if err != nil {
		return true // it cannot be told, so it is not allowed
	}
	for _, m := range mine {
		if n, ok := m.(*net.IPNet); ok && n.IP.Equal(a.AsSlice()) {
			return true
		}
	}
	return false
}

// Callback refuses the call-back address that a ramdisk gave, calling from an
// address of its own.
func (g *Guard) Callback(callback string, from netip.Addr) error {
	u, err := url.Parse(callback)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return refusal.New(metal.CodeInvalidAddress, "The ramdisk's callback_url is no http or https URL with a host.")
	}
	a, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		if len(g.options.Callbacks)+len(g.options.Open) > 0 {
			return nil // what it resolves to is judged when it is called
		}
		return refusal.New(metal.CodeForbiddenTarget, "the ramdisk's callback_url has a name, not an address%s", callbackHint)
	}
	a = plain(a)
	if err := g.Check(netip.AddrPortFrom(a, portOf(u))); err != nil {
		return err
	}
	switch {
	case in(g.options.Callbacks, a), in(g.options.Open, a), len(g.options.Callbacks) == 0 && a == plain(from):
		return nil
	case len(g.options.Callbacks) > 0:
		return outsideCallbacks(a)
	}
	return refusal.New(metal.CodeForbiddenTarget, "the ramdisk's callback_url has the address %s, and the ramdisk called from %s%s", a, plain(from), callbackHint)
}

const callbackHint = "; where ramdisks have such addresses, name their networks in [siteagent] callback_networks (--callback-networks of ferrule-agent)"

func outsideCallbacks(a netip.Addr) error {
	return refusal.New(metal.CodeForbiddenTarget, "%s is in none of the networks of [siteagent] callback_networks (--callback-networks of ferrule-agent)", a)
}

func portOf(u *url.URL) uint16 {
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return uint16(port)
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}

// dialTimeout is how long a connection may take to be made.
const dialTimeout = 30 * time.Second

// dialer connects to nothing that check refuses. The check sees each address
// that a name resolves to, right before the connection to it is made.
func dialer(check func(netip.AddrPort) error) *net.Dialer {
	return &net.Dialer{
		Timeout: dialTimeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return refusal.New(metal.CodeForbiddenTarget, "the address %q cannot be judged", address)
			}
			return check(at)
		},
	}
}

// DialRamdisk connects to the call-back address of a ramdisk.
func (g *Guard) DialRamdisk(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer(func(at netip.AddrPort) error {
		if err := g.Check(at); err != nil {
			return err
		}
		a := plain(at.Addr())
		if len(g.options.Callbacks) > 0 && !in(g.options.Callbacks, a) && !in(g.options.Open, a) {
			return outsideCallbacks(a)
		}
		return nil
	}).DialContext(ctx, network, address)
}
