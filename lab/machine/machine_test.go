package machine_test

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/lab/event"
	"ferrule/lab/machine"
	"ferrule/lab/ramdisk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newMachine(t *testing.T, change func(*machine.Config)) (*machine.Machine, *event.Log) {
	t.Helper()
	log := &event.Log{}
	cfg := machine.Config{
		Name: "m", Dir: t.TempDir(), DiskSize: 8 << 20, Log: log,
		Hardware: ramdisk.Hardware{Address: "127.0.180.251", UEFI: true},
	}
	if change != nil {
		change(&cfg)
	}
	m, err := machine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, log
}

func TestResets(t *testing.T) {
	type reset = machine.ResetType
	cases := map[string]struct {
		resets []reset
		power  machine.Power
		posts  int
	}{
		"on":                       {[]reset{machine.ResetOn}, machine.On, 1},
		"on twice":                 {[]reset{machine.ResetOn, machine.ResetForceOn}, machine.On, 1},
		"on and off":               {[]reset{machine.ResetOn, machine.ResetForceOff}, machine.Off, 1},
		"restart":                  {[]reset{machine.ResetOn, machine.ResetForceRestart}, machine.On, 2},
		"power cycle when off":     {[]reset{machine.ResetPowerCycle}, machine.On, 1},
		"button":                   {[]reset{machine.ResetPushPowerButton}, machine.On, 1},
		"button without a system":  {[]reset{machine.ResetPushPowerButton, machine.ResetPushPowerButton}, machine.On, 1},
		"restart without a system": {[]reset{machine.ResetOn, machine.ResetGracefulRestart}, machine.On, 1},
		"nmi":                      {[]reset{machine.ResetNmi}, machine.Off, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m, _ := newMachine(t, nil)
			for _, r := range c.resets {
				if err := m.Reset(r); err != nil {
					t.Fatal(err)
				}
			}
			if m.Power() != c.power || m.Posts() != c.posts {
				t.Errorf("power %s after %d power-ons, want %s after %d", m.Power(), m.Posts(), c.power, c.posts)
			}
		})
	}
	m, _ := newMachine(t, nil)
	if err := m.Reset("Explode"); !errors.Is(err, machine.ErrUnknownReset) {
		t.Errorf("unknown reset: %v", err)
	}
}

func TestPowerLostDuringPost(t *testing.T) {
	m, log := newMachine(t, func(c *machine.Config) { c.BootTime = time.Hour })
	if err := m.Reset(machine.ResetOn); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Wait(t.Context(), 0, event.Is(event.BootStarted)); err != nil {
		t.Fatal(err)
	}
	if err := m.Reset(machine.ResetForceOff); err != nil {
		t.Fatal(err)
	}
	events, _ := log.Since(0)
	for _, e := range events {
		if e.Kind == event.BootFailed || e.Kind == event.Booted {
			t.Errorf("the boot ended with %v", e)
		}
	}
}

func TestAClosedMachineStaysOff(t *testing.T) {
	m, _ := newMachine(t, func(c *machine.Config) { c.ActionDelay = time.Hour })
	if err := m.Reset(machine.ResetOn); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := m.Reset(machine.ResetOn); err != nil {
		t.Fatal(err)
	}
	if m.Power() != machine.Off {
		t.Error("a closed machine went on")
	}
}

func TestReinstate(t *testing.T) {
	m, _ := newMachine(t, nil)
	m.SetBoot(machine.Boot{Enabled: machine.Continuous, Target: machine.DevicePxe, Mode: machine.Legacy})
	if err := m.Reset(machine.ResetOn); err != nil {
		t.Fatal(err)
	}
	if err := m.Reinstate(); err != nil {
		t.Fatal(err)
	}
	s := m.Snapshot()
	if s.Power != machine.Off || s.Boot.Enabled != machine.Disabled || s.Boot.Mode != machine.UEFI || s.Image != nil {
		t.Errorf("after reinstating: %+v", s)
	}
}
