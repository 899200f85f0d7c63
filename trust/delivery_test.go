package trust

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ferrule/metal"
)

// vault is what a Releaser needs, in memory.
type vault struct {
	*deployment
	at       string   // of the one secret
	askedFor []string // what it was to be sealed for
	value    []byte
	records  map[string]metal.CommandRecord
	revoked  bool
	used     map[string]bool
	failure  error
	releaser *Releaser
}

const passwordRef = "secret://tenant/nodes/n-1/driver_info/redfish_password"

func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{deployment: newDeployment(t), at: passwordRef, value: []byte(rand.Text()), used: map[string]bool{}}
	v.records = map[string]metal.CommandRecord{
		"c-1": {ID: "c-1", AgentID: "a-1", Status: metal.CommandSent, Envelope: v.envelope(nil)},
	}
	v.releaser = v.ca.NewReleaser(v, v)
	return v
}

func (v *vault) Secret(_ context.Context, ref, sealedFor string) ([]byte, error) {
	v.askedFor = append(v.askedFor, sealedFor)
	if ref != v.at {
		return nil, metal.Errorf(metal.NotFound, "no secret")
	}
	return v.value, v.failure
}

func (v *vault) KeyInForce(context.Context, string, string) (bool, error) { return !v.revoked, nil }

func (v *vault) Command(_ context.Context, id string) (metal.CommandRecord, error) {
	if r, ok := v.records[id]; ok {
		return r, nil
	}
	return metal.CommandRecord{}, metal.Errorf(metal.NotFound, "no command")
}

func (v *vault) UseRequestID(_ context.Context, agent, id string, _ time.Time) (bool, error) {
	fresh := !v.used[agent+id]
	v.used[agent+id] = true
	return fresh, nil
}

func (v *vault) request(agent, command, ref string) *SecretExchange {
	v.t.Helper()
	x, err := v.agent(AgentName{ID: agent}).RequestSecret(command, ref, v.clock.now)
	check(v.t, err)
	return x
}

func TestSecretReachesItsRequesterAndNobodyElse(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	request, other := v.request("a-1", "c-1", passwordRef), v.request("a-1", "c-1", passwordRef)
	answer, err := v.releaser.Release(t.Context(), "a-1", request.Envelope)
	check(t, err)
	if strings.Contains(answer, string(v.value)) {
		t.Error("the answer shows the secret")
	}
	if _, err := other.Open(answer); err == nil {
		t.Error("another request's key opened the answer")
	}
	secret, err := request.Open(answer)
	check(t, err)
	if !bytes.Equal(secret.Reveal(), v.value) {
		t.Error("another secret came")
	}
	v.clock.move(deliveryLife)
	_, err = request.Open(answer)
	wantRefusal(t, err, RefusedExpired, "opening too late")
}

func rawJSON(v any) []byte { return []byte(metal.ToJSON(v)) }

type attempt struct {
	session string
	request *SecretExchange
}

// naming asks for ref on behalf of a command that the conductor has signed.
func (v *vault) naming(op metal.Operation, ref string, change func(r *metal.Request)) attempt {
	v.t.Helper()
	v.record(func(r *metal.CommandRecord) {
		r.Envelope = v.envelope(func(c *metal.Command) {
			c.Kind, _ = metal.CommandKind(op)
			c.Request = metal.Request{Operation: op}
			change(&c.Request)
		})
	})
	return attempt{"a-1", v.request("a-1", "c-1", ref)}
}

// Each operation gets the secrets of its node that belong into it.
func TestSecretsThatAreReleased(t *testing.T) {
	t.Parallel()
	for pointer, op := range map[string]metal.Operation{
		metal.TokenParam: metal.MediaPublish, metal.ConfigDriveParam: metal.RamdiskCall, "/params/step/args/x": metal.RamdiskCall,
		metal.NewCredentialsParam: metal.CredentialRotate,
	} {
		ref := map[string]string{
			metal.TokenParam: metal.RamdiskToken("n-1").Ref(), metal.ConfigDriveParam: metal.InstanceInfoSecrets("n-1").Below("configdrive").Ref(),
			"/params/step/args/x":     (&metal.OperationRecord{ID: "o", NodeUUID: "n-1"}).Secrets().Below("x").Ref(),
			metal.NewCredentialsParam: passwordRef,
		}[pointer]
		v := newVault(t)
		v.at = ref
		a := v.naming(op, ref, func(r *metal.Request) { r.Secrets = map[string]string{pointer: ref} })
		if _, err := v.releaser.Release(t.Context(), a.session, a.request.Envelope); err != nil {
			t.Errorf("%s of %s: %v", pointer, op, err)
		}
	}
}

// A BMC's password is opened for the BMC that the signed command names.
func TestAPasswordIsOpenedForTheSignedBMC(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	_, err := v.releaser.Release(t.Context(), "a-1", v.request("a-1", "c-1", passwordRef).Envelope)
	check(t, err)
	other := v.naming(metal.PowerSet, passwordRef, func(r *metal.Request) {
		r.CredentialsRef, r.Address, r.TLSSPKISHA256 = passwordRef, "https://evil.example", strings.Repeat("ab", 32)
	})
	_, err = v.releaser.Release(t.Context(), "a-1", other.request.Envelope)
	check(t, err)
	v.at = metal.RamdiskToken("n-1").Ref()
	token := v.naming(metal.MediaPublish, v.at, func(r *metal.Request) { r.Secrets = map[string]string{metal.TokenParam: v.at} })
	_, err = v.releaser.Release(t.Context(), "a-1", token.request.Envelope)
	check(t, err)
	want := []string{`["https","bmc.invalid:443",""]`, `["https","evil.example:443","` + strings.Repeat("ab", 32) + `"]`, ""}
	if !slices.Equal(v.askedFor, want) {
		t.Errorf("opened for %q, want %q", v.askedFor, want)
	}
}

func TestSecretRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(v *vault) attempt
		want    RefusalCode
	}{
		"another session":         {func(v *vault) attempt { return attempt{"a-2", v.request("a-1", "c-1", passwordRef)} }, RefusedAgent},
		"another agent's command": {func(v *vault) attempt { return attempt{"a-2", v.request("a-2", "c-1", passwordRef)} }, RefusedUnbound},
		"unknown command":         {func(v *vault) attempt { return attempt{"a-1", v.request("a-1", "c-9", passwordRef)} }, RefusedUnbound},
		"ref not in the command":  {func(v *vault) attempt { return attempt{"a-1", v.request("a-1", "c-1", "secret://tenant/x")} }, RefusedUnbound},
		"removed agent": {func(v *vault) attempt {
			v.revoked = true
			return attempt{"a-1", v.request("a-1", "c-1", passwordRef)}
		}, RefusedRevoked},
		"command that is done": {func(v *vault) attempt {
			v.record(func(r *metal.CommandRecord) { r.Status = metal.CommandDone })
			return attempt{"a-1", v.request("a-1", "c-1", passwordRef)}
		}, RefusedUnbound},
		"command long expired": {func(v *vault) attempt {
			v.clock.move(time.Minute + deliveryLife + time.Second)
			return attempt{"a-1", v.request("a-1", "c-1", passwordRef)}
		}, RefusedUnbound},
		"row that was altered": {func(v *vault) attempt {
			forged, err := newDeployment(v.t).signer.Sign(v.command(nil))
			check(v.t, err)
			v.record(func(r *metal.CommandRecord) { r.Envelope = forged })
			return attempt{"a-1", v.request("a-1", "c-1", passwordRef)}
		}, RefusedUnbound},
		"row of another body": {func(v *vault) attempt {
			v.record(func(r *metal.CommandRecord) { r.Envelope = v.envelope(func(c *metal.Command) { c.ID = "c-2" }) })
			return attempt{"a-1", v.request("a-1", "c-1", passwordRef)}
		}, RefusedUnbound},
		"text in the arguments": {func(v *vault) attempt {
			return v.naming(metal.PowerSet, passwordRef, func(r *metal.Request) { r.ArgsJSON = rawJSON(map[string]any{"x": []string{passwordRef}}) })
		}, RefusedUnbound},
		"text in the options": {func(v *vault) attempt {
			return v.naming(metal.PowerSet, passwordRef, func(r *metal.Request) {
				r.DriverOptionsJSON = rawJSON(map[string]any{"username": passwordRef})
			})
		}, RefusedUnbound},
		"another node's password": {func(v *vault) attempt {
			const ref = "secret://tenant/nodes/n-2/driver_info/redfish_password"
			return v.naming(metal.PowerSet, ref, func(r *metal.Request) { r.CredentialsRef = ref })
		}, RefusedUnbound},
		"password for a ramdisk": {func(v *vault) attempt {
			return v.naming(metal.RamdiskCall, passwordRef, func(r *metal.Request) { r.Secrets = map[string]string{"/params/x": passwordRef} })
		}, RefusedUnbound},
		"another node's config drive": {func(v *vault) attempt {
			const ref = "secret://tenant/nodes/n-2/instance_info/configdrive"
			return v.naming(metal.RamdiskCall, ref, func(r *metal.Request) { r.Secrets = map[string]string{metal.ConfigDriveParam: ref} })
		}, RefusedUnbound},
		"secret parameter of an operation without any": {func(v *vault) attempt {
			const ref = "secret://tenant/nodes/n-1/instance_info/configdrive"
			return v.naming(metal.PowerSet, ref, func(r *metal.Request) { r.Secrets = map[string]string{"/x": ref} })
		}, RefusedUnbound},
		"a sealed value that was swapped": {func(v *vault) attempt {
			v.failure = fmt.Errorf("open: %w", ErrNotOpened)
			return attempt{"a-1", v.request("a-1", "c-1", passwordRef)}
		}, RefusedNoSecret},
		"old request": {func(v *vault) attempt {
			x := v.request("a-1", "c-1", passwordRef)
			v.clock.move(deliveryLife + time.Second)
			return attempt{"a-1", x}
		}, RefusedExpired},
		"request from the future": {func(v *vault) attempt {
			v.clock.move(time.Hour)
			x := v.request("a-1", "c-1", passwordRef)
			v.clock.move(-time.Hour)
			return attempt{"a-1", x}
		}, RefusedExpired},
		"stranger": {func(v *vault) attempt {
			x, err := newDeployment(v.t).agent(AgentName{ID: "a-1"}).RequestSecret("c-1", passwordRef, nil)
			check(v.t, err)
			return attempt{"a-1", x}
		}, RefusedCertificate},
		"another type of message": {func(v *vault) attempt {
			envelope, err := v.agent(AgentName{ID: "a-1"}).SignResult(metal.CommandResult{CommandID: "c-1"})
			check(v.t, err)
			return attempt{"a-1", &SecretExchange{Envelope: envelope}}
		}, RefusedSignature},
		"unsigned": {func(*vault) attempt { return attempt{"a-1", &SecretExchange{Envelope: "{}"}} }, RefusedSignature},
		"claims another name": {func(v *vault) attempt {
			return attempt{"a-1", v.forged(func(m map[string]any) { m["agentId"] = "a-2" })}
		}, RefusedAgent},
		"no request id": {func(v *vault) attempt {
			return attempt{"a-1", v.forged(func(m map[string]any) { m["requestId"] = "" })}
		}, RefusedMalformed},
		"no key": {func(v *vault) attempt { return attempt{"a-1", v.forged(func(m map[string]any) { delete(m, "key") })} }, RefusedMalformed},
		"symmetric key": {func(v *vault) attempt {
			return attempt{"a-1", v.forged(func(m map[string]any) { m["key"] = map[string]string{"kty": "oct", "k": "AAAA"} })}
		}, RefusedMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			a := c.prepare(v)
			answer, err := v.releaser.Release(t.Context(), a.session, a.request.Envelope)
			wantRefusal(t, err, c.want, name)
			if answer != "" {
				t.Error("there was an answer all the same")
			}
		})
	}
}

func (v *vault) record(change func(*metal.CommandRecord)) {
	r := v.records["c-1"]
	change(&r)
	v.records["c-1"] = r
}

// forged is a request whose body was changed before the agent signed it.
func (v *vault) forged(change func(map[string]any)) *SecretExchange {
	v.t.Helper()
	agent := v.agent(AgentName{ID: "a-1"})
	x, err := agent.RequestSecret("c-1", passwordRef, v.clock.now)
	check(v.t, err)
	message, err := parseSigned(x.Envelope)
	check(v.t, err)
	var body map[string]any
	check(v.t, json.Unmarshal(message.unverified(), &body))
	change(body)
	text, err := json.Marshal(body)
	check(v.t, err)
	x.Envelope, err = sign(typeSecretRequest, agent.key, agent.cert, text)
	check(v.t, err)
	return x
}

func TestSecretRequestWorksOnce(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	x := v.request("a-1", "c-1", passwordRef)
	_, err := v.releaser.Release(t.Context(), "a-1", x.Envelope)
	check(t, err)
	_, err = v.releaser.Release(t.Context(), "a-1", x.Envelope)
	wantRefusal(t, err, RefusedReplay, "the same request again")
}

func TestFailureOfTheStoreIsNoRefusal(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.failure = errors.New("the database is away")
	_, err := v.releaser.Release(t.Context(), "a-1", v.request("a-1", "c-1", passwordRef).Envelope)
	if !errors.Is(err, v.failure) || RefusalOf(err) != "" {
		t.Errorf("got %v, want the store's failure", err)
	}
}

func FuzzRelease(f *testing.F) {
	d := newDeployment(f)
	v := &vault{deployment: d, used: map[string]bool{}}
	v.releaser = d.ca.NewReleaser(v, v)
	x := v.request("a-1", "c-1", passwordRef)
	f.Add(x.Envelope)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, envelope string) {
		if _, err := v.releaser.Release(t.Context(), "a-1", envelope); RefusalOf(err) == "" {
			t.Errorf("got %v, want a refusal", err)
		}
	})
}

func FuzzOpenAnswer(f *testing.F) {
	d := newDeployment(f)
	x, err := d.agent(AgentName{ID: "a-1"}).RequestSecret("c-1", passwordRef, nil)
	check(f, err)
	f.Add("a.b.c.d.e")
	f.Fuzz(func(t *testing.T, answer string) {
		if _, err := x.Open(answer); err == nil {
			t.Error("an answer that was never made opened")
		}
	})
}
