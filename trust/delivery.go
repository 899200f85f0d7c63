package trust

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"ferrule/hardware"
	"ferrule/metal"
)

// deliveryLife is how long an answer to a secret request may be opened, and
// how old a request may be.
const deliveryLife = 5 * time.Minute

// secretRequest is what an agent signs to be given a secret.
type secretRequest struct {
	RequestID string          `json:"requestId"`
	AgentID   string          `json:"agentId"`
	CommandID string          `json:"commandId"`
	Ref       string          `json:"ref"`
	Key       json.RawMessage `json:"key"` // JWK of a key made for this request
	IssuedAt  time.Time       `json:"issuedAt"`
}

// secretAnswer is what the JWE holds.
type secretAnswer struct {
	RequestID string    `json:"requestId"`
	Ref       string    `json:"ref"`
	Value     []byte    `json:"value"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// SecretExchange is the agent's side of one delivery.
type SecretExchange struct {
	Envelope  string // the signed request, to be sent
	requestID string
	ref       string
	key       *ecdsa.PrivateKey
	now       func() time.Time
}

// RequestSecret asks for the secret behind ref on behalf of a command. A nil
// now is the clock.
func (a *AgentCredential) RequestSecret(commandID, ref string, now func() time.Time) (*SecretExchange, error) {
	if now == nil {
		now = time.Now
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := jose.JSONWebKey{Key: &key.PublicKey}.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("write one-time key: %w", err)
	}
	x := &SecretExchange{requestID: rand.Text(), ref: ref, key: key, now: now}
	body, err := json.Marshal(secretRequest{
		RequestID: x.requestID, AgentID: a.name.ID, CommandID: commandID, Ref: ref, Key: public, IssuedAt: now().UTC(),
	})
	if err != nil {
		return nil, fmt.Errorf("write secret request: %w", err)
	}
	x.Envelope, err = sign(typeSecretRequest, a.key, a.cert, body)
	return x, err
}

// Open is the secret in the control plane's answer.
func (x *SecretExchange) Open(answer string) (Secret, error) {
	object, err := jose.ParseEncryptedCompact(answer,
		[]jose.KeyAlgorithm{jose.ECDH_ES_A256KW}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return Secret{}, refuse(RefusedMalformed, err, "answer to the secret request cannot be read")
	}
	body, err := object.Decrypt(x.key)
	if err != nil {
		return Secret{}, refuse(RefusedSignature, err, "answer to the secret request is not for its key")
	}
	var inner secretAnswer
	if err := json.Unmarshal(body, &inner); err != nil {
		return Secret{}, refuse(RefusedMalformed, nil, "answer to the secret request is not as expected")
	}
	if inner.RequestID != x.requestID || inner.Ref != x.ref {
		return Secret{}, refuse(RefusedUnbound, nil, "answer is for another secret request")
	}
	if !x.now().Before(inner.ExpiresAt) {
		return Secret{}, refuse(RefusedExpired, nil, "%s", clocks("answer to the secret request expired", inner.ExpiresAt, "this agent's clock", x.now()))
	}
	return NewSecret(inner.Value), nil
}

// Secrets gives the plaintext behind a ref, or metal.NotFound. One that was
// sealed for another BMC gives ErrNotOpened; see hardware.Binding.
type Secrets interface {
	Secret(ctx context.Context, ref, sealedFor string) ([]byte, error)
}

// Releases is what the release of secrets needs to know and to remember.
type Releases interface {
	// KeyInForce reports whether the agent has not been removed and the key is
	// one of those in force for it.
	KeyInForce(ctx context.Context, agentID, keyHash string) (bool, error)
	// Command is the record of a command, or metal.NotFound.
	Command(ctx context.Context, id string) (metal.CommandRecord, error)
	// UseRequestID marks the id used, to be remembered until then, and reports
	// whether it was new.
	UseRequestID(ctx context.Context, agentID, requestID string, until time.Time) (bool, error)
}

// Releaser decides on secret requests.
type Releaser struct {
	ca       *CA
	secrets  Secrets
	releases Releases
}

// NewReleaser makes the releaser of the deployment's secrets.
func (c *CA) NewReleaser(secrets Secrets, releases Releases) *Releaser {
	return &Releaser{ca: c, secrets: secrets, releases: releases}
}

// Release answers the signed request that came in the session of an agent: the
// JWE, or a Refusal. The request must be signed by the current certificate of
// that same agent, issued by this deployment's CA; the ref must stand in a typed
// field of a live command addressed to it, and be of that command's node; and
// the request must be new.
func (r *Releaser) Release(ctx context.Context, sessionAgent, envelope string) (string, error) {
	body, signer, err := r.ca.openAgentMessage(typeSecretRequest, envelope)
	if err != nil {
		return "", err
	}
	var request secretRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return "", refuse(RefusedMalformed, err, "secret request is not as expected: %v", err)
	}
	key, err := oneTimeKey(request)
	if err != nil {
		return "", err
	}
	if err := r.checkSender(ctx, sessionAgent, signer, request); err != nil {
		return "", err
	}
	command, err := r.commandOf(ctx, request)
	if err != nil {
		return "", err
	}
	fresh, err := r.releases.UseRequestID(ctx, request.AgentID, request.RequestID, request.IssuedAt.Add(2*deliveryLife))
	if err != nil {
		return "", fmt.Errorf("remember secret request: %w", err)
	}
	if !fresh {
		return "", refuse(RefusedReplay, nil, "secret request was made before")
	}
	// A BMC's password opens for the BMC that the signed body names, no other.
	sealedFor := ""
	if metal.DriverInfoSecrets(command.NodeUUID).Holds(request.Ref) {
		sealedFor = hardware.Binding(&command.Request)
	}
	value, err := r.secrets.Secret(ctx, request.Ref, sealedFor)
	if metal.ReasonOf(err) == metal.NotFound {
		return "", refuse(RefusedNoSecret, err, "there is no secret at %s", request.Ref)
	}
	if errors.Is(err, ErrNotOpened) {
		return "", refuse(RefusedNoSecret, err, "the secret at %s is not sealed for this command: the address or the pin of the BMC was changed since, or the database was. Give the value again", request.Ref)
	}
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", request.Ref, err)
	}
	return encryptAnswer(key, secretAnswer{
		RequestID: request.RequestID, Ref: request.Ref, Value: value, ExpiresAt: r.ca.now().Add(deliveryLife).UTC(),
	})
}

func oneTimeKey(request secretRequest) (*ecdsa.PublicKey, error) {
	var jwk jose.JSONWebKey
	if err := json.Unmarshal(request.Key, &jwk); err != nil {
		return nil, refuse(RefusedMalformed, nil, "one-time key of the secret request cannot be read")
	}
	key, ok := jwk.Key.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, refuse(RefusedMalformed, nil, "one-time key of the secret request must be a public P-256 key")
	}
	if request.RequestID == "" || len(request.RequestID) > 64 {
		return nil, refuse(RefusedMalformed, nil, "secret request has no usable id")
	}
	return key, nil
}

func (r *Releaser) checkSender(ctx context.Context, sessionAgent string, signer Signer, request secretRequest) error {
	if signer.Agent.ID != sessionAgent || request.AgentID != sessionAgent {
		return refuse(RefusedAgent, nil, "secret request is by agent %q for %q in the session of %q",
			signer.Agent.ID, request.AgentID, sessionAgent)
	}
	now := r.ca.now()
	age := now.Sub(request.IssuedAt)
	if age > deliveryLife || age < -deliveryLife {
		return refuse(RefusedExpired, nil, "secret request is dated %s by the agent's clock, and the control plane's clock says %s; set the clock that is wrong",
			request.IssuedAt.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	inForce, err := r.releases.KeyInForce(ctx, signer.Agent.ID, signer.KeyHash)
	if err != nil {
		return fmt.Errorf("look up key of agent %s: %w", signer.Agent.ID, err)
	}
	if !inForce {
		return refuse(RefusedRevoked, nil, "certificate of agent %s is no longer in force", signer.Agent.ID)
	}
	return nil
}

// commandOf is the command on whose behalf the secret is asked for, which names
// it.
func (r *Releaser) commandOf(ctx context.Context, request secretRequest) (command metal.Command, err error) {
	unbound := func(cause error) error {
		return refuse(RefusedUnbound, cause, "no live command of agent %s names %s", request.AgentID, request.Ref)
	}
	record, err := r.releases.Command(ctx, request.CommandID)
	if metal.ReasonOf(err) == metal.NotFound {
		return command, unbound(err)
	}
	if err != nil {
		return command, fmt.Errorf("look up command %s: %w", request.CommandID, err)
	}
	if record.AgentID != request.AgentID || record.Status == metal.CommandDone {
		return command, unbound(nil)
	}
	message, err := parseSigned(record.Envelope)
	if err != nil {
		return command, unbound(err)
	}
	// The body says what is bound, not the row: who can write rows cannot sign.
	command, err = openCommand(message, r.ca.signers, r.ca.now())
	if err != nil {
		return command, unbound(err)
	}
	if command.ID != record.ID || command.AgentID != request.AgentID || !slices.Contains(command.Request.SecretRefs(), request.Ref) {
		return command, unbound(nil)
	}
	// A signature over another node's secret does not make it the node's: who
	// edits rows may have made the conductor sign it.
	if err := command.Request.CheckSecrets(command.NodeUUID); err != nil {
		return command, unbound(err)
	}
	// A command begun in time may need its secret a little later.
	if r.ca.now().After(command.ExpiresAt.Add(deliveryLife)) {
		return command, unbound(nil)
	}
	return command, nil
}

func encryptAnswer(key *ecdsa.PublicKey, answer secretAnswer) (string, error) {
	body, err := json.Marshal(answer)
	if err != nil {
		return "", fmt.Errorf("write answer to secret request: %w", err)
	}
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.ECDH_ES_A256KW, Key: key}, nil)
	if err != nil {
		return "", fmt.Errorf("encrypt answer to secret request: %w", err)
	}
	object, err := encrypter.Encrypt(body)
	if err != nil {
		return "", fmt.Errorf("encrypt answer to secret request: %w", err)
	}
	return object.CompactSerialize()
}
