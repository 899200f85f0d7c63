package siteagent

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"ferrule/drivers"
	"ferrule/metal"
)

// silentBMCs take connections and never answer. Each call of asked says that one
// more was asked something.
func silentBMCs(t *testing.T, n int, asked chan<- string) []string {
	t.Helper()
	var addresses []string
	var done sync.WaitGroup
	t.Cleanup(done.Wait) // after the listeners are closed
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, "https://"+l.Addr().String())
		done.Go(func() {
			var held []net.Conn
			for {
				conn, err := l.Accept()
				if err != nil {
					break
				}
				held = append(held, conn)
				asked <- l.Addr().String()
			}
			for _, conn := range held {
				_ = conn.Close()
			}
		})
		t.Cleanup(func() { _ = l.Close() })
	}
	return addresses
}

func query(address string) metal.Command {
	cmd := command()
	cmd.Kind, cmd.Request.Operation, cmd.Request.Address = metal.KindQuery, metal.PowerGet, address
	return cmd
}

func TestSilentBMCsHoldUpNoneThatAnswer(t *testing.T) {
	const places, dead = 8, 40
	b := newBench(t, nil)
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	b.parallel, b.patience = places, 10*time.Millisecond
	b.start(time.Minute)
	asked := make(chan string, 10*dead)
	for _, address := range silentBMCs(t, dead, asked) {
		cmd := query(address)
		cmd.Request.CredentialsRef = bmcRef(cmd.NodeUUID)
		_, text := account("root")
		b.secret(cmd.Request.CredentialsRef, text)
		b.deliver(cmd)
	}
	for range places {
		wait(t, asked) // silent BMCs hold every place there is
	}
	b.order(metal.KindQuery, metal.PowerGet, nil)
	if ended := len(b.early); ended >= dead-places {
		t.Errorf("the BMC that answers was asked after %d silent ones had been given up", ended)
	}
}

func TestBMCsThatWereSilentTwiceWaitApart(t *testing.T) {
	const places, dead = 4, 20
	r := idleRig(t)
	r.parallel, r.patience = places, time.Hour // nobody gives a place up
	hang, began := make(chan struct{}), make(chan struct{}, dead)
	var mu sync.Mutex
	tries := map[string]int{}
	r.drivers.execute = func(_ context.Context, req metal.Request, _ drivers.Credentials) metal.CommandResult {
		if req.Address == "https://healthy" {
			return powerOn()
		}
		mu.Lock()
		tries[req.Address]++
		third := tries[req.Address] > 2
		mu.Unlock()
		if third {
			began <- struct{}{}
			<-hang
		}
		return failure(metal.CodeUnreachable, "no answer")
	}
	r.start(time.Minute)
	t.Cleanup(func() { close(hang) })
	var all []string
	for range dead {
		all = append(all, command().Request.Address)
	}
	for range 2 {
		for _, address := range all {
			r.do(query(address))
		}
	}
	for _, address := range all {
		r.deliver(query(address))
	}
	for range places {
		wait(t, began)
	}
	for range 3 { // one BMC after the other, while all that are silent hang
		if result := r.do(query("https://healthy")); !result.OK {
			t.Error(result)
		}
	}
	if len(began) > 0 {
		t.Error("more silent BMCs are asked than there are places")
	}
}

func TestAnAnswerEndsTheSilence(t *testing.T) {
	s := newSilences()
	for _, step := range []struct {
		code   metal.ErrorCode
		silent bool
	}{
		{metal.CodeUnreachable, false},
		{metal.CodeUnreachable, true},
		{metal.CodeCredentialsUnavailable, true},
		{metal.CodeAuthFailed, false},
		{metal.CodeUnreachable, false},
		{"", false},
		{metal.CodeUnreachable, false},
		{metal.CodeInvalidPayload, false},
		{metal.CodeUnreachable, true},
	} {
		s.note("bmc", step.code)
		if s.silent("bmc") != step.silent {
			t.Errorf("after %q: silent %v", step.code, !step.silent)
		}
	}
	if s.silent("another") {
		t.Error("one BMC's silence counts for another")
	}
}

func TestNodesWithoutABMCsAddressShareNoLane(t *testing.T) {
	a, b := command(), command()
	a.Request.Address, b.Request.Address = "", ""
	if lanes := []string{laneOf(a).key, laneOf(b).key}; slices.Equal(lanes[:1], lanes[1:]) {
		t.Error(lanes)
	}
}

func TestSpellingsOfABMCsAddressShareALane(t *testing.T) {
	for _, spellings := range [][]string{
		{"h", "H", "h.", "https://h/redfish/v1/Systems/1", "redfish://h:443", "h:443"},
		{"::1", "[::1]", "https://[0:0::1]:443/"},
		{"192.0.2.1:8443", "https://[::ffff:192.0.2.1]:8443"},
	} {
		for _, address := range spellings {
			one, other := command(), command()
			one.Request.Address, other.Request.Address = spellings[0], address
			if a, b := laneOf(one), laneOf(other); a != b {
				t.Errorf("%q has the lane %v, %q has %v", spellings[0], a, address, b)
			}
		}
	}
}
