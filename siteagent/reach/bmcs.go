package reach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"ferrule/durable"
	"ferrule/hardware"
)

// bmcs are the addresses at which the agent has driven BMCs of late. They are
// kept in a file, because after a restart others may ask before the first
// command to a BMC comes.
type bmcs struct {
	now  func() time.Time
	file *os.File // nil: not kept

	mu       sync.Mutex
	driven   map[netip.Addr]map[uint16]string // the day of the last use, by port
	resolved map[string]time.Time             // when a host:port with a name was last looked up
}

const (
	bmcsFile      = "bmcs.txt"
	forgetBMC     = 30 * 24 * time.Hour // a BMC's address may become another machine's
	resolveAgain  = 10 * time.Minute
	resolveWithin = 2 * time.Second
	dayForm       = time.DateOnly
)

// openBMCs reads what is known, and writes it anew without what is too old.
func openBMCs(dir string, now func() time.Time) (*bmcs, error) {
	b := &bmcs{now: now, driven: map[netip.Addr]map[uint16]string{}, resolved: map[string]time.Time{}}
	if dir == "" {
		return b, nil
	}
	path := filepath.Join(dir, bmcsFile)
	if err := b.read(path); err != nil {
		return nil, err
	}
	fresh := path + ".new"
	file, err := os.OpenFile(fresh, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep the addresses of BMCs: %w", err)
	}
	b.file = file
	for a, ports := range b.driven {
		for port, day := range ports {
			if _, err := file.WriteString(line(a, port, day)); err != nil {
				return nil, errors.Join(fmt.Errorf("keep the addresses of BMCs: %w", err), b.close())
			}
		}
	}
	if err := durable.Replace(file, path); err != nil {
		return nil, errors.Join(fmt.Errorf("keep the addresses of BMCs: %w", err), b.close())
	}
	return b, nil
}

func line(a netip.Addr, port uint16, day string) string {
	return fmt.Sprintf("%s %s\n", day, netip.AddrPortFrom(a, port))
}

// read takes the lines that are whole and not too old: all of it is learned
// again from the commands that come.
func (b *bmcs) read(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the addresses of BMCs: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		day, where, _ := strings.Cut(lines.Text(), " ")
		at, err := netip.ParseAddrPort(where)
		used, dayErr := time.Parse(dayForm, day)
		if err == nil && dayErr == nil && b.now().Sub(used) < forgetBMC {
			b.put(at.Addr(), at.Port(), day)
		}
	}
	return nil
}

func (b *bmcs) put(a netip.Addr, port uint16, day string) {
	if b.driven[a] == nil {
		b.driven[a] = map[uint16]string{}
	}
	if b.driven[a][port] < day {
		b.driven[a][port] = day
	}
}

// has reports whether a BMC was driven at the address, and whether at the port.
func (b *bmcs) has(a netip.Addr, port uint16) (driven, samePort bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ports := b.driven[a]
	_, samePort = ports[port]
	return len(ports) > 0, samePort
}

// note keeps the addresses, which were used today.
func (b *bmcs) note(port uint16, addresses ...netip.Addr) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	day := b.now().UTC().Format(dayForm)
	for _, a := range addresses {
		if a = plain(a); b.driven[a][port] >= day {
			continue
		}
		b.put(a, port, day)
		if b.file == nil {
			continue
		}
		if _, err := b.file.WriteString(line(a, port, day)); err != nil {
			return fmt.Errorf("keep the address of a BMC: %w", err)
		}
	}
	return nil
}

// due reports whether a name is to be looked up now.
func (b *bmcs) due(where string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if now.Sub(b.resolved[where]) < resolveAgain {
		return false
	}
	b.resolved[where] = now
	return true
}

func (b *bmcs) close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

// Drives notes that the agent drives a BMC at the address, which is in any of the
// forms of driver_info.
func (g *Guard) Drives(ctx context.Context, address string) {
	e, why := hardware.ParseEndpoint(address)
	if why != "" {
		return // no driver takes it
	}
	number, err := strconv.ParseUint(e.Port, 10, 16)
	if err != nil {
		return
	}
	host, port := e.Host, uint16(number)
	addresses := make([]netip.Addr, 0, 1)
	if a, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, a)
	} else {
		if !g.bmcs.due(net.JoinHostPort(host, e.Port)) {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, resolveWithin)
		defer cancel()
		if addresses, err = g.options.Resolve(ctx, host); err != nil {
			return // the driver cannot reach it either
		}
	}
	if err := g.bmcs.note(port, addresses...); err != nil {
		g.options.Log.ErrorContext(ctx, "the address of a BMC is not kept for after a restart", "error", err)
	}
}
