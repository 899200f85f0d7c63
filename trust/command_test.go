package trust

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ferrule/metal"
)

func (d *deployment) verifier(change func(*Bundle)) *Verifier {
	d.t.Helper()
	bundle := d.ca.Bundle()
	if change != nil {
		change(&bundle)
	}
	v, err := NewVerifier(bundle, "a-1", d.clock.now)
	check(d.t, err)
	return v
}

func TestSignedCommandIsAccepted(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	got, err := d.verifier(nil).Verify(d.envelope(nil))
	check(t, err)
	want := d.command(nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("command changed on the way (-want +got):\n%s", diff)
	}
}

func TestEveryOperationRunsInItsKindAlone(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	v := d.verifier(nil)
	for _, kind := range metal.Kinds() {
		for _, of := range metal.Kinds() {
			for _, op := range of.Operations {
				_, err := v.Verify(d.envelope(func(c *metal.Command) { c.Kind, c.Request.Operation = kind.Kind, op }))
				if kind.Covers(op) {
					check(t, err)
				} else {
					wantRefusal(t, err, RefusedKind, string(kind.Kind)+" with "+string(op))
				}
			}
		}
	}
}

func TestCommandsThatAreRefused(t *testing.T) {
	t.Parallel()
	d, other := newDeployment(t), newDeployment(t)
	agent := d.agent(AgentName{ID: "a-1"})
	byAgent, err := agent.SignResult(metal.CommandResult{CommandID: "c-1"})
	check(t, err)
	parts := strings.Split(d.envelope(nil), ".")
	swapped := parts[0] + "." + strings.Split(d.envelope(func(c *metal.Command) { c.NodeUUID = "n-2" }), ".")[1] + "." + parts[2]
	plain := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	for name, c := range map[string]struct {
		envelope string
		want     RefusalCode
	}{
		"empty":               {"", RefusedSignature},
		"unsigned JSON":       {`{"id":"c-1"}`, RefusedSignature},
		"alg none":            {plain, RefusedSignature},
		"another body":        {swapped, RefusedSignature},
		"another root":        {other.envelope(nil), RefusedCertificate},
		"an agent's message":  {byAgent, RefusedSignature},
		"another agent":       {d.envelope(func(c *metal.Command) { c.AgentID = "a-2" }), RefusedAgent},
		"no agent":            {d.envelope(func(c *metal.Command) { c.AgentID = "" }), RefusedAgent},
		"expired":             {d.envelope(func(c *metal.Command) { c.ExpiresAt = c.IssuedAt }), RefusedExpired},
		"no expiry":           {d.envelope(func(c *metal.Command) { c.ExpiresAt = time.Time{} }), RefusedExpired},
		"from the future":     {d.envelope(func(c *metal.Command) { c.IssuedAt = c.IssuedAt.Add(26 * time.Hour) }), RefusedExpired},
		"unknown kind":        {d.envelope(func(c *metal.Command) { c.Kind = "bmc.everything" }), RefusedKind},
		"unknown operation":   {d.envelope(func(c *metal.Command) { c.Request.Operation = "power.melt" }), RefusedKind},
		"no authority":        {d.envelope(func(c *metal.Command) { c.Authority = metal.Authority{} }), RefusedAuthority},
		"unknown authority":   {d.envelope(func(c *metal.Command) { c.Authority.Type = "boss" }), RefusedAuthority},
		"unverifiable batch":  {d.envelope(func(c *metal.Command) { c.Authority.Type = metal.AuthorityBatch }), RefusedAuthority},
		"no id":               {d.envelope(func(c *metal.Command) { c.ID = "" }), RefusedMalformed},
		"too large to parse":  {strings.Repeat("A", maxMessage+1), RefusedMalformed},
		"signed, but no JSON": {signedAs(d, typeCommand, "no JSON"), RefusedMalformed},
	} {
		_, err := d.verifier(nil).Verify(c.envelope)
		wantRefusal(t, err, c.want, name)
	}
}

func signedAs(d *deployment, typ messageType, body string) string {
	d.t.Helper()
	key, cert, err := d.signer.current()
	check(d.t, err)
	envelope, err := sign(typ, key, cert, []byte(body))
	check(d.t, err)
	return envelope
}

func TestRefusalNamesTheCommand(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	_, err := d.verifier(nil).Verify(d.envelope(func(c *metal.Command) { c.AgentID = "a-2" }))
	var r *Refusal
	if !errors.As(err, &r) || r.CommandID != "c-1" {
		t.Errorf("refusal is %#v, want it to name c-1", err)
	}
}

func TestTLSRootCertifiesNoCommands(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	agent := d.agent(AgentName{ID: "a-1"})
	envelope, err := sign(typeCommand, agent.key, agent.cert, []byte(`{"id":"c-1"}`))
	check(t, err)
	_, err = d.verifier(nil).Verify(envelope)
	wantRefusal(t, err, RefusedCertificate, "a command signed by an agent's key")
}

func TestSignersCertificateMustBeInItsTime(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	key, cert, err := d.signer.current()
	check(t, err)
	d.clock.move(signerLife + time.Minute)
	late, err := sign(typeCommand, key, cert, []byte(metal.ToJSON(d.command(nil))))
	check(t, err)
	_, err = d.verifier(nil).Verify(late)
	wantRefusal(t, err, RefusedCertificate, "a command of a signer whose time is over")
	_, err = d.verifier(nil).Verify(d.envelope(nil))
	check(t, err) // the signer has renewed itself
}

func TestApproversHoldDestructiveCommandsOnly(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	v := d.verifier(func(b *Bundle) { b.Approvals = &Approvals{Keys: []string{"a key"}, Quorum: 1} })
	_, err := v.Verify(d.envelope(nil))
	wantRefusal(t, err, RefusedAuthority, "a destructive command without a quorum")
	_, err = v.Verify(d.envelope(func(c *metal.Command) { c.Kind, c.Request.Operation = metal.KindQuery, metal.PowerGet }))
	check(t, err)
}

func TestAlteredEnvelopeNeverVerifies(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	v, good, want := d.verifier(nil), d.envelope(nil), d.command(nil)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(good)-1).Draw(t, "at")
		b := rapid.SampledFrom([]byte("ABCXYZabcxyz0189-_.=")).Draw(t, "byte")
		bad := good[:at] + string(b) + good[at+1:]
		// Bits of base64 that carry nothing may differ; what is said may not.
		if got, err := v.Verify(bad); err == nil && !cmp.Equal(got, want) {
			t.Fatalf("accepted with byte %d altered", at)
		}
	})
}

func FuzzVerify(f *testing.F) {
	d := newDeployment(f)
	v, good, want := d.verifier(nil), d.envelope(nil), d.command(nil)
	f.Add(good)
	f.Add("..")
	f.Add("e30.e30.e30")
	f.Fuzz(func(t *testing.T, envelope string) {
		got, err := v.Verify(envelope)
		if err == nil && !cmp.Equal(got, want) {
			t.Error("accepted what was never signed")
		}
		if err != nil && RefusalOf(err) == "" {
			t.Errorf("error is %v, want a refusal", err)
		}
	})
}
