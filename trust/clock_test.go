package trust

import (
	"strings"
	"testing"
	"time"

	"ferrule/metal"
)

const day = 24 * time.Hour

func TestAClockSetBackByADayFailsNothingSignedBefore(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	agent := d.agent(AgentName{ID: "a-1"})
	envelope := d.envelope(nil)
	result, err := agent.SignResult(metal.CommandResult{CommandID: "c-1"})
	check(t, err)
	d.clock.move(-day)
	if _, err := d.verifier(nil).Verify(envelope); err != nil {
		t.Errorf("a command signed before: %v", err)
	}
	if _, err := d.verifier(nil).Verify(d.envelope(nil)); err != nil {
		t.Errorf("a command signed afterwards: %v", err)
	}
	if _, _, err := d.ca.OpenResult(result); err != nil {
		t.Errorf("a result signed before: %v", err)
	}
	again, err := OpenCA(t.Context(), d.keys, d.sealer, d.clock.now)
	check(t, err)
	if server, err := again.issueServer([]string{LinkServerName}); err != nil || server.Leaf.NotBefore.After(d.clock.now()) {
		t.Errorf("the server's certificate after a restart: %v", err)
	}
}

// What has expired stays refused, whichever way the clocks differ, and the
// message tells of both.
func TestExpiredNamesBothClocks(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"agent's clock ahead": day, "agent's clock two days behind": -2 * day} {
		d := newDeployment(t)
		signed := d.clock.now()
		envelope := d.envelope(nil)
		d.clock.move(ahead)
		_, err := d.verifier(nil).Verify(envelope)
		wantRefusal(t, err, RefusedExpired, name)
		for _, want := range []string{
			"by the control plane's clock", "this agent's clock says " + d.clock.now().UTC().Format(time.RFC3339), signed.UTC().Format("2006-01-02T15"),
		} {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}
