// Package drivers joins the drivers: the table of what each can do, and the
// execution of one request against one of them. The agent calls it; what the
// control plane needs to know of drivers is in hardware.
package drivers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"time"

	"ferrule/drivers/driver"
	"ferrule/drivers/fake"
	"ferrule/drivers/manual"
	"ferrule/drivers/redfish"
	"ferrule/metal"
)

// Credentials log a driver in at a BMC.
type Credentials = driver.Credentials

// ParseCredentials reads what a credentialsRef resolves to.
func ParseCredentials(secret []byte) Credentials { return driver.ParseCredentials(secret) }

// Config is the site's own policy, which no request can widen.
type Config struct {
	// PlainHTTPNetworks are the BMC networks (of a lab) that may be reached
	// without TLS; none by default.
	PlainHTTPNetworks []netip.Prefix
	// Log gets warnings; nil means slog's default.
	Log *slog.Logger
	// Idle is how long a BMC's login, and so its password, is kept after the
	// last request about it; 0: two minutes.
	Idle time.Duration
}

// Registry is the set of drivers that an agent has.
type Registry struct {
	table []driver.Descriptor
}

// New makes every driver there is.
func New(cfg Config) *Registry {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	bmcs := redfish.New(redfish.Config{PlainHTTPNetworks: cfg.PlainHTTPNetworks, Log: cfg.Log, Idle: cfg.Idle})
	return &Registry{table: []driver.Descriptor{
		bmcs.Descriptor(),
		fake.Descriptor(),
		manual.Descriptor(),
	}}
}

// Names lists the drivers in alphabetical order.
func (r *Registry) Names() []string {
	names := make([]string, len(r.table))
	for i, d := range r.table {
		names[i] = d.Name
	}
	slices.Sort(names)
	return names
}

// Operations lists what a driver can do, in alphabetical order; nil for a
// driver that is not there.
func (r *Registry) Operations(name string) []metal.Operation {
	d, ok := r.find(name)
	if !ok {
		return nil
	}
	return slices.Sorted(maps.Keys(d.Operations))
}

// Capabilities is the whole table: driver → its operations.
func (r *Registry) Capabilities() map[string][]metal.Operation {
	table := make(map[string][]metal.Operation, len(r.table))
	for _, d := range r.table {
		table[d.Name] = r.Operations(d.Name)
	}
	return table
}

// Options is a driver's option schema.
func (r *Registry) Options(name string) []driver.Option {
	d, _ := r.find(name)
	return d.Options
}

// Check looks at a request without reaching the BMC: driver, operation,
// address, options. nil when Execute would go on to act.
func (r *Registry) Check(req metal.Request) error {
	_, _, err := r.prepare(req, Credentials{})
	return err
}

// Execute carries out one request with the credentials that its ref resolved
// to. It always returns a result: a BMC that refuses is OK false with a code.
// CommandID and FinishedAt are left to the caller.
func (r *Registry) Execute(ctx context.Context, req metal.Request, creds Credentials) metal.CommandResult {
	return r.run(ctx, req, creds)
}

// Rotate carries out a management.rotateCredential request: next is what the
// argument newCredentials holds.
func (r *Registry) Rotate(ctx context.Context, req metal.Request, current, next Credentials) metal.CommandResult {
	if req.Operation != metal.CredentialRotate {
		return failed(driver.Errorf(metal.CodeInvalidArgs, "%s is no rotation", req.Operation))
	}
	return r.run(driver.WithNextCredentials(ctx, next), req, current, next)
}

// Close ends what the drivers hold: sessions are logged out.
func (r *Registry) Close(ctx context.Context) error {
	var all []error
	for _, d := range r.table {
		if d.Close != nil {
			all = append(all, d.Close(ctx))
		}
	}
	return errors.Join(all...)
}

func (r *Registry) run(ctx context.Context, req metal.Request, creds Credentials, others ...Credentials) metal.CommandResult {
	handle, target, err := r.prepare(req, creds)
	if err != nil {
		return failed(err)
	}
	value, err := handle(ctx, target, req.ArgsJSON)
	if err != nil {
		return failed(err, append(others, creds)...)
	}
	if value == nil {
		return metal.CommandResult{OK: true}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return failed(driver.Errorf(metal.CodeBMCError, "the result of %s cannot be written as JSON: %w", req.Operation, err))
	}
	return metal.CommandResult{OK: true, ResultJSON: raw}.Storable()
}

func (r *Registry) prepare(req metal.Request, creds Credentials) (driver.Handler, driver.Target, error) {
	d, ok := r.find(req.Driver)
	if !ok {
		return nil, driver.Target{}, driver.Errorf(metal.CodeUnsupportedDriver, "this agent has no driver %q; it has %q", req.Driver, r.Names())
	}
	handle, ok := d.Operations[req.Operation]
	if !ok {
		return nil, driver.Target{}, driver.Errorf(metal.CodeUnsupportedOperation, "driver %s cannot do %s", d.Name, req.Operation)
	}
	options, err := driver.ParseOptions(req.DriverOptionsJSON, d.Options)
	if err != nil {
		return nil, driver.Target{}, err
	}
	target := driver.Target{
		Address:       req.Address,
		Credentials:   creds,
		TLSSPKISHA256: req.TLSSPKISHA256,
		Options:       options,
	}
	if d.Check != nil {
		if err := d.Check(target); err != nil {
			return nil, driver.Target{}, err
		}
	}
	return handle, target, nil
}

func (r *Registry) find(name string) (driver.Descriptor, bool) {
	i := slices.IndexFunc(r.table, func(d driver.Descriptor) bool { return d.Name == name })
	if i < 0 {
		return driver.Descriptor{}, false
	}
	return r.table[i], true
}

func failed(err error, secrets ...Credentials) metal.CommandResult {
	return metal.CommandResult{ErrorCode: driver.CodeOf(err), Message: publicText(err.Error(), secrets)}
}
