// Package redfish drives BMCs that speak Redfish, on gofish. It owns the
// connections and sessions, one a BMC, and runs one command at a time on each.
package redfish

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// Config is the site's own policy.
type Config struct {
	PlainHTTPNetworks []netip.Prefix // BMC networks that may be reached without TLS
	Log               *slog.Logger   // nil: slog's default
	// Idle is how long a login, and with it the password, is kept after the last
	// command about its BMC; 0: two minutes. The reads of a power watch are such
	// commands, by default one a minute.
	Idle time.Duration
}

const defaultIdle = 2 * time.Minute

// Driver is the redfish driver.
type Driver struct {
	config Config
	pace   pace

	mu   sync.Mutex
	bmcs map[string]*bmc // by address.hostPort
}

// bmc is one BMC: whoever holds its slot may use its client.
type bmc struct {
	slot   chan struct{}
	idle   *time.Timer // ends the login
	client *client

	toldUnverified bool // that its certificate is not verified
}

// leave gives the slot back. The login outlives it for a while.
func (b *bmc) leave(idle time.Duration) {
	if b.client != nil {
		b.idle.Reset(idle)
	}
	<-b.slot
}

// forget ends the login of a BMC that no command is about.
func (b *bmc) forget() {
	select {
	case b.slot <- struct{}{}:
		defer func() { <-b.slot }()
	default:
		return // whoever holds it sets the timer anew
	}
	ctx, cancel := context.WithTimeout(context.Background(), logOutPatience)
	defer cancel()
	b.logOut(ctx)
}

// logOutPatience is how long a BMC has to delete a session that nobody needs.
const logOutPatience = 5 * time.Second

func (b *bmc) logOut(ctx context.Context) {
	b.idle.Stop()
	if b.client != nil {
		b.client.logOut(ctx)
		b.client = nil
	}
}

var (
	_ driver.Power              = (*Driver)(nil)
	_ driver.BootDevice         = (*Driver)(nil)
	_ driver.BootMode           = (*Driver)(nil)
	_ driver.SecureBoot         = (*Driver)(nil)
	_ driver.Sensors            = (*Driver)(nil)
	_ driver.Indicators         = (*Driver)(nil)
	_ driver.NMI                = (*Driver)(nil)
	_ driver.CredentialRotation = (*Driver)(nil)
	_ driver.VirtualMedia       = (*Driver)(nil)
	_ driver.Inspection         = (*Driver)(nil)
	_ driver.Firmware           = (*Driver)(nil)
)

// New makes the driver. Close it to log out everywhere.
func New(cfg Config) *Driver {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Idle == 0 {
		cfg.Idle = defaultIdle
	}
	return &Driver{config: cfg, pace: defaultPace(), bmcs: map[string]*bmc{}}
}

// Descriptor is the driver's row in the registry.
func (d *Driver) Descriptor() driver.Descriptor {
	return driver.Descriptor{
		Name: "redfish",
		Operations: driver.Join(
			driver.PowerOperations(d),
			driver.BootDeviceOperations(d),
			driver.BootModeOperations(d),
			driver.SecureBootOperations(d),
			driver.SensorsOperations(d),
			driver.IndicatorsOperations(d),
			driver.NMIOperations(d),
			driver.CredentialRotationOperations(d),
			driver.VirtualMediaOperations(d),
			driver.InspectionOperations(d),
			driver.FirmwareOperations(d),
		),
		Options: optionSchema(),
		Check: func(t driver.Target) error {
			a, err := d.parse(t)
			if err != nil {
				return err
			}
			_, err = parseTrust(a.verifyCA)
			return err
		},
		Close: d.Close,
	}
}

// with runs f while holding the BMC.
func (d *Driver) with(ctx context.Context, t driver.Target, f func(*client) error) error {
	a, err := d.parse(t)
	if err != nil {
		return err
	}
	b := d.bmc(a.address.hostPort())
	select {
	case b.slot <- struct{}{}:
		defer b.leave(d.config.Idle)
	case <-ctx.Done():
		return driver.Errorf(metal.CodeUnreachable, "BMC %s is busy with another command: %w", a.address, context.Cause(ctx))
	}
	b.idle.Stop()
	if b.client != nil && !b.client.access.sameLogin(a) {
		b.logOut(ctx)
	}
	if b.client == nil {
		if b.client, err = newClient(a, d); err != nil {
			return err
		}
	}
	if unverified(a) && !b.toldUnverified {
		b.client.log.Warn("the certificate of the BMC is not verified (redfish_verify_ca is false); this is said once")
	}
	b.toldUnverified = unverified(a)
	b.client.begin(ctx, a.system)
	return f(b.client)
}

// call is with for an f that has a result.
func call[R any](ctx context.Context, d *Driver, t driver.Target, f func(*client) (R, error)) (R, error) {
	var result R
	err := d.with(ctx, t, func(c *client) error {
		var err error
		result, err = f(c)
		return err
	})
	return result, err
}

func (d *Driver) bmc(hostPort string) *bmc {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, ok := d.bmcs[hostPort]
	if !ok {
		b = &bmc{slot: make(chan struct{}, 1)}
		b.idle = time.AfterFunc(d.config.Idle, b.forget)
		b.idle.Stop()
		d.bmcs[hostPort] = b
	}
	return b
}

// Close logs out of every BMC, waiting for the command that holds it. The
// driver can be used again.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	bmcs := d.bmcs
	d.bmcs = map[string]*bmc{}
	d.mu.Unlock()
	var all sync.WaitGroup
	for _, b := range bmcs {
		all.Go(func() {
			select {
			case b.slot <- struct{}{}:
				b.logOut(ctx)
				<-b.slot
			case <-ctx.Done():
			}
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("logging out of all BMCs: %w", err)
	}
	return nil
}
