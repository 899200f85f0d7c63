// Package machine is an emulated server without its BMC: power, firmware with
// a boot order, a boot medium, a disk, and whatever system was booted. The BMC
// package drives it through Reset, SetBoot, Insert and Eject.
package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ferrule/lab/disk"
	"ferrule/lab/event"
	"ferrule/lab/ramdisk"
)

// Power is the state that the BMC shows.
type Power string

// The power states.
const (
	On  Power = "On"
	Off Power = "Off"
)

// System is what runs on the machine.
type System string

// The systems.
const (
	NoSystem System = ""
	Ramdisk  System = "ramdisk"
	Instance System = "instance" // the disk's own
)

// ResetType is a Redfish reset type.
type ResetType string

// The reset types that the machine understands.
const (
	ResetOn               ResetType = "On"
	ResetForceOn          ResetType = "ForceOn"
	ResetForceOff         ResetType = "ForceOff"
	ResetGracefulShutdown ResetType = "GracefulShutdown"
	ResetGracefulRestart  ResetType = "GracefulRestart"
	ResetForceRestart     ResetType = "ForceRestart"
	ResetPowerCycle       ResetType = "PowerCycle"
	ResetPushPowerButton  ResetType = "PushPowerButton"
	ResetNmi              ResetType = "Nmi"
)

// ResetTypes is every reset type.
func ResetTypes() []ResetType {
	return []ResetType{
		ResetOn, ResetForceOn, ResetForceOff, ResetGracefulShutdown, ResetGracefulRestart,
		ResetForceRestart, ResetPowerCycle, ResetPushPowerButton, ResetNmi,
	}
}

// Config is what a machine is made of.
type Config struct {
	Name     string
	Dir      string // for the disk and the media
	Hardware ramdisk.Hardware
	DiskSize int64
	// NeedConfigDrive keeps a disk without a config drive from booting.
	NeedConfigDrive bool
	// ActionDelay is the time from a reset to its effect; 0 acts before the
	// reset is answered.
	ActionDelay time.Duration
	// BootTime is the time from power on to the first sign of a system.
	BootTime time.Duration
	Timing   ramdisk.Timing
	Hook     func(context.Context, ramdisk.Call) error
	Log      *event.Log
}

// Machine is one server. Close it when it is no longer needed.
type Machine struct {
	cfg  Config
	disk *disk.Disk
	log  *event.Log

	// acting lets one power change happen at a time.
	acting sync.Mutex

	mu     sync.Mutex
	power  Power
	boot   Boot
	media  Media
	system System
	result BootResult
	run    *run // what runs now, nil when off
	posts  int  // power-ons so far
	port   int  // of the ramdisk's API, kept over boots
	closed bool

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// run is one time between power on and power off.
type run struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New makes a machine that is off, with a blank disk.
func New(cfg Config) (*Machine, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the machine %s: %w", cfg.Name, err)
	}
	d, err := disk.Create(filepath.Join(cfg.Dir, "disk.img"), cfg.DiskSize)
	if err != nil {
		return nil, fmt.Errorf("making the machine %s: %w", cfg.Name, err)
	}
	cfg.Hardware.DiskBytes = d.Size()
	m := &Machine{cfg: cfg, disk: d, log: cfg.Log, power: Off, boot: initialBoot(cfg.Hardware.UEFI)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m, nil
}

// Close takes the power away and waits until nothing runs.
func (m *Machine) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.work.Wait()
	m.acting.Lock()
	defer m.acting.Unlock()
	m.halt()
	m.Eject()
}

// Hardware is what the machine is made of.
func (m *Machine) Hardware() ramdisk.Hardware {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.cfg.Hardware
	h.UEFI = m.boot.Mode == UEFI
	return h
}

// Disk is the machine's disk.
func (m *Machine) Disk() *disk.Disk { return m.disk }

// Power is the present power state.
func (m *Machine) Power() Power {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.power
}

// Posts is how often the machine was started, and so went through its POST.
func (m *Machine) Posts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.posts
}

// ErrUnknownReset is a reset type that the machine does not know.
var ErrUnknownReset = errors.New("unknown reset type")

// Reset carries a reset type out after the action delay. With no delay it has
// happened when Reset returns.
func (m *Machine) Reset(t ResetType) error {
	act, err := m.action(t)
	if err != nil {
		return err
	}
	if m.cfg.ActionDelay == 0 {
		act()
		return nil
	}
	m.later(m.cfg.ActionDelay, act)
	return nil
}

func (m *Machine) action(t ResetType) (func(), error) {
	switch t {
	case ResetOn, ResetForceOn:
		return m.turnOn, nil
	case ResetForceOff:
		return m.turnOff, nil
	case ResetForceRestart, ResetPowerCycle:
		return func() { m.turnOff(); m.turnOn() }, nil
	case ResetGracefulShutdown:
		return func() { m.shutDown(m.turnOff) }, nil
	case ResetGracefulRestart:
		return func() { m.shutDown(func() { m.turnOff(); m.turnOn() }) }, nil
	case ResetPushPowerButton:
		return m.pushButton, nil
	case ResetNmi:
		return func() {}, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownReset, t)
}

// later does act after d, unless the machine is closed first.
func (m *Machine) later(d time.Duration, act func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.work.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			act()
		case <-m.ctx.Done():
		}
	})
}

// shutDown asks the system that runs; without one nobody listens.
func (m *Machine) shutDown(act func()) {
	m.mu.Lock()
	system := m.system
	m.mu.Unlock()
	if system != NoSystem {
		act()
	}
}

// pushButton is a short press: on when off, else a request to the system.
func (m *Machine) pushButton() {
	if m.Power() == Off {
		m.turnOn()
		return
	}
	m.shutDown(m.turnOff)
}

func (m *Machine) turnOff() {
	m.acting.Lock()
	defer m.acting.Unlock()
	m.halt()
}

// halt ends what runs and waits for its end before the state changes.
func (m *Machine) halt() {
	m.mu.Lock()
	r := m.run
	m.run = nil
	m.mu.Unlock()
	if r != nil {
		r.cancel()
		<-r.done
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.system = NoSystem
	if m.power != Off {
		m.power = Off
		m.log.Add(event.PowerChanged, "power", string(Off))
	}
}

func (m *Machine) turnOn() {
	m.acting.Lock()
	defer m.acting.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.power == On || m.closed {
		return
	}
	m.power = On
	m.posts++
	m.log.Add(event.PowerChanged, "power", string(On))
	ctx, cancel := context.WithCancel(m.ctx)
	r := &run{cancel: cancel, done: make(chan struct{})}
	m.run = r
	go func() {
		defer close(r.done)
		defer cancel()
		m.start(ctx)
	}()
}

// listen gives the ramdisk's API the port that it had before, where it is
// still free.
func (m *Machine) listen() (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	address := m.cfg.Hardware.Address
	l, err := net.Listen("tcp", net.JoinHostPort(address, fmt.Sprint(m.port)))
	if err != nil {
		l, err = net.Listen("tcp", net.JoinHostPort(address, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("listening on the machine's address: %w", err)
	}
	m.port = l.Addr().(*net.TCPAddr).Port
	return l, nil
}

// askPowerOff is the ramdisk's own request: it cannot wait for its own end.
func (m *Machine) askPowerOff() { m.later(0, m.turnOff) }

func (m *Machine) askReboot() { m.later(0, func() { m.turnOff(); m.turnOn() }) }

// Reinstate makes the machine what it was at first: off, without media, no
// boot override, a blank disk.
func (m *Machine) Reinstate() error {
	m.turnOff()
	m.Eject()
	m.SetBoot(initialBoot(m.cfg.Hardware.UEFI))
	m.set(NoSystem, BootResult{})
	return m.disk.Erase()
}
