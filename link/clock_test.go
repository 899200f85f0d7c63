package link_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"ferrule/link/client"
)

const day = 24 * time.Hour

func behind(d time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(-d) }
}

func TestAnAgentThatWasAwayForTooLongIsToldHowToJoinAgain(t *testing.T) {
	t.Parallel()
	p := newPlaneAt(t, behind(100*day))
	dir := t.TempDir()
	old, err := client.Enroll(t.Context(), p.code("lisbon").Encode(), dir, hello())
	check(t, err)
	c, err := client.New(old, client.Options{Logger: quiet()})
	check(t, err)
	defer c.Close()
	err = c.Run(limit(t), hello(), func(context.Context, client.Delivery) error { return nil })
	if !errors.As(err, new(*client.Ended)) {
		t.Fatalf("running it gave %v", err)
	}
	for _, want := range []string{
		"ferrule join-code --site lisbon", p.address, "ferrule-agent join CODE --data " + dir, "on this host",
		"control plane's clock", "this host's clock says", old.AgentID(),
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	again, err := client.Enroll(t.Context(), p.code("lisbon").Encode(), dir, hello())
	if err != nil || again.AgentID() == old.AgentID() {
		t.Errorf("joining again in the same folder: %v, %v", again, err)
	}
}

// Either side's clock may be wrong by a day: the control plane judges requests
// for secrets, so they are dated by its clock.
func TestSecretsComeWhileTheClocksDiffer(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{day, -day} {
		p := newPlaneAt(t, behind(off))
		c := p.join("", client.Options{Logger: quiet()})
		const ref = "secret://tenant/nodes/n/driver_info/redfish_password"
		value := rand.Text()
		p.update(func() { p.secrets[ref] = []byte(value) })
		command := p.command(c.Identity().AgentID(), ref)
		if got, err := c.FetchSecret(limit(t), command.ID, ref); err != nil || string(got) != value {
			t.Errorf("the control plane's clock is behind by %s: %v", off, err)
		}
	}
}
