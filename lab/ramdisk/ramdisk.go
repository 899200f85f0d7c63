// Package ramdisk is the agent that an emulated machine runs when it booted a
// deployment medium: a client of the control plane's ramdisk endpoints and a
// server of the agent's own HTTP API, over real sockets. It knows what stands
// on the kernel line and on the medium, and its machine; nothing else. It must
// not import anything of the control plane.
package ramdisk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"ferrule/lab/disk"
	"ferrule/lab/event"
)

// Version is what the agent calls itself in heartbeats.
const Version = "11.1.0"

// Config is all that one boot of the ramdisk is given.
type Config struct {
	KernelLine string
	Medium     Medium // nil when booted over the network
	Hardware   Hardware
	Disk       *disk.Disk
	Listen     func() (net.Listener, error) // for the agent's API
	Timing     Timing
	Log        *event.Log
	PowerOff   func() // asks the machine to go off; returns at once
	Reboot     func() // asks the machine to restart; returns at once
	// Hook is called before a command does its work, and may hold it or make
	// it fail; nil lets every command run.
	Hook func(context.Context, Call) error
}

// Call is one command as a Hook sees it.
type Call struct {
	Command string         // "clean.execute_clean_step"
	Step    string         // "erase_devices", "" for commands that run no step
	Args    map[string]any // of the step
}

// Timing is how long the agent waits. The zero value is the real agent's.
type Timing struct {
	HeartbeatDistance time.Duration // least time between two heartbeats; 0: 5 s
	HeartbeatMost     time.Duration // most time between two; 0: as the control plane's timeout says
	RetryAfterError   time.Duration // after a failed call, up to twice this; 0: 5 s
	LookupTimeout     time.Duration // how long a lookup is tried; 0: 600 s
	RequestTimeout    time.Duration // of one call; 0: 30 s
	// EarlyFor is how long "not found" and no answer at all are nothing final
	// for the inventory: an emulated machine boots faster than the control
	// plane's record of it settles, and tries faster than one starts again. 0 is
	// the real agent's way, which ends with a few attempts.
	EarlyFor time.Duration
}

func (t Timing) orDefaults() Timing {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&t.HeartbeatDistance, 5*time.Second)
	set(&t.RetryAfterError, 5*time.Second)
	set(&t.LookupTimeout, 600*time.Second)
	set(&t.RequestTimeout, 30*time.Second)
	return t
}

// agent is one run of the ramdisk.
type agent struct {
	Config
	params  map[string]string
	api     *apiClient
	started time.Time

	nodeUUID string // from inspection or lookup
	token    string
	tlsMin   string        // the least TLS version that the control plane wants
	timeout  time.Duration // the control plane's heartbeat timeout

	commands *commandList
	force    chan struct{} // asks for a heartbeat at once
	work     sync.WaitGroup
	stopAPI  func() // ends serving; set once it serves
	wrote    bool   // an image was written in this boot; guarded by commands' order
}

// errLockedDown says that the agent has no token to prove itself with and
// turned its network off.
var errLockedDown = errors.New("the token is known to the control plane but not to this ramdisk: locked down")

// Run follows the agent's start-up order until ctx ends, which is the power
// going off. Everything that it started has ended when it returns.
func Run(ctx context.Context, cfg Config) error {
	cfg.Timing = cfg.Timing.orDefaults()
	a := &agent{
		Config:   cfg,
		params:   parameters(cfg.KernelLine),
		started:  time.Now(),
		commands: newCommandList(),
		force:    make(chan struct{}, 1),
		stopAPI:  func() {},
	}
	tlsConfig, err := trust(a.params, cfg.Medium)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	a.api = newAPIClient(a.urls("ipa-api-url"), tlsConfig, cfg.Timing.RequestTimeout, a.params["ipa-global-request-id"])
	defer a.api.close()
	if token := a.params["ipa-agent-token"]; len(token) >= 32 {
		a.token = token
	}
	a.inspect(ctx)
	if len(a.api.urls) > 0 {
		err = a.attend(ctx)
	}
	if ctx.Err() == nil {
		// Nothing more to do, but the machine stays on.
		<-ctx.Done()
	}
	a.work.Wait()
	return err
}

// urls splits a parameter that may name several.
func (a *agent) urls(key string) []string {
	var urls []string
	for u := range strings.SplitSeq(a.params[key], ",") {
		if u = strings.TrimRight(strings.TrimSpace(u), "/"); u != "" {
			urls = append(urls, u)
		}
	}
	return urls
}

// attend looks the node up, serves the agent's API and sends heartbeats.
func (a *agent) attend(ctx context.Context) error {
	if err := a.lookup(ctx); err != nil {
		a.failed("lookup", err)
		return err
	}
	a.Log.Add(event.LookedUp, "node", a.nodeUUID)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	a.stopAPI = stop
	server, err := a.serve(serving)
	if err != nil {
		return err
	}
	a.heartbeats(serving, server)
	return server.wait()
}

func (a *agent) failed(call string, err error) {
	a.Log.Add(event.CallFailed, "call", call, "error", err.Error())
}
