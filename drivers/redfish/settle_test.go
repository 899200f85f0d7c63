package redfish

import (
	"testing"
	"time"

	"ferrule/drivers/driver"
	"ferrule/lab"
	"ferrule/metal"
)

// TestAnActionThatShowsLateIsNotSentAgain has an agent die right after its
// action was sent: its successor is told that there may be one.
func TestAnActionThatShowsLateIsNotSentAgain(t *testing.T) {
	l, err := lab.New(lab.Config{
		Dir: t.TempDir(), BMCBase: "127.0.72.1", MachineBase: "127.1.72.1", DiskSize: 64 << 20, ActionDelay: 500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	s := l.Servers()[0]
	username, password := s.Credentials()
	target := driver.Target{
		Address: s.BMC.Address(), TLSSPKISHA256: s.BMC.SPKI(), Options: driver.Options{},
		Credentials: driver.Credentials{Username: username, Password: password},
	}
	d := newDriver(t)
	first := make(chan error, 1)
	go func() {
		_, err := d.SetPower(t.Context(), target, metal.SetPowerArgs{Target: metal.PowerOn})
		first <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(s.BMC.Observed().Actions) == 0 {
		<-tick.C
	}
	second := want[metal.PowerResult](t)(newDriver(t).SetPower(t.Context(), target, metal.SetPowerArgs{Target: metal.PowerOn, SettleSeconds: 30}))
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if actions := s.BMC.Observed().Actions; len(actions) != 1 || second.Changed {
		t.Errorf("the BMC was asked %v; the second result is %+v", actions, second)
	}
	// Where none was sent, it is sent once the time is over.
	third := want[metal.PowerResult](t)(d.SetPower(t.Context(), target, metal.SetPowerArgs{Target: metal.PowerOff, SettleSeconds: 1}))
	if actions := s.BMC.Observed().Actions; len(actions) != 2 || !third.Changed || third.State != metal.PowerOff {
		t.Errorf("the BMC was asked %v; the third result is %+v", actions, third)
	}
}
