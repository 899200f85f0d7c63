package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"ferrule/durable"
	"ferrule/trust"
)

// The files of an identity in the agent's data folder, each 0600.
const (
	identityFile = "identity.json"
	joiningFile  = "joining.key" // the key of an enrolment that is under way
)

// IdentityPath is the file of the identity in an agent's data folder.
func IdentityPath(dir string) string { return filepath.Join(dir, identityFile) }

// Identity is who an agent is: its control plane, its key and certificate, and
// what it trusts. It lives in one file, which is replaced whole.
type Identity struct {
	dir        string
	record     identityRecord
	credential *trust.AgentCredential
}

type identityRecord struct {
	AgentID     string       `json:"agentId"`
	Site        string       `json:"site"`
	Address     string       `json:"address"` // host:port of the link
	Key         string       `json:"key"`
	Certificate string       `json:"certificate"`
	Bundle      trust.Bundle `json:"bundle"`
}

// Load reads the identity in the data folder dir. fs.ErrNotExist is in the
// error's chain where the agent has not joined.
func Load(dir string) (*Identity, error) {
	text, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err != nil {
		return nil, fmt.Errorf("read the agent's identity: %w", err)
	}
	var record identityRecord
	if err := json.Unmarshal(text, &record); err != nil {
		return nil, damaged(dir, err)
	}
	id, err := newIdentity(dir, record)
	if err != nil {
		return nil, damaged(dir, err)
	}
	return id, nil
}

// ErrDamaged is an identity's file that cannot be used.
var ErrDamaged = errors.New("the agent's identity is damaged")

func damaged(dir string, cause error) error {
	return fmt.Errorf("%w: %s (%w); put a copy of the file back, or join again: "+
		"make a code with \"ferrule join-code\" at the control plane, and spend it here with \"ferrule-agent join CODE --data %s\"",
		ErrDamaged, IdentityPath(dir), cause, dir)
}

// CheckLife is an *Ended where the certificate has ended by the clock now.
func (id *Identity) CheckLife(now time.Time) error {
	if end := id.credential.Certificate().NotAfter; now.After(end) {
		return &Ended{identity: id, end: end, now: now}
	}
	return nil
}

// Ended says that an agent was away for longer than its certificate is good,
// so that only a new join code lets it in again.
type Ended struct {
	identity *Identity
	end, now time.Time
}

// Error says what to run, and where.
func (e *Ended) Error() string {
	id := e.identity
	site := ""
	if id.Site() != "" {
		site = " --site " + id.Site()
	}
	return fmt.Sprintf("the certificate of agent %s ended at %s by the control plane's clock, and this host's clock says %s. "+
		"If this clock is right, the agent has to join again: run \"ferrule join-code%s\" at the control plane (%s), "+
		"then \"ferrule-agent join CODE --data %s\" on this host and start the agent; \"ferrule agents remove %[1]s\" at the control plane removes its old entry",
		id.AgentID(), e.end.UTC().Format(time.RFC3339), e.now.UTC().Format(time.RFC3339), site, id.Address(), id.dir)
}

// mayReplace is nil where a new identity may take the place of what is in dir.
func mayReplace(dir string, now time.Time) error {
	id, err := Load(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrDamaged):
		return nil
	case err != nil:
		return err
	case id.CheckLife(now) != nil:
		return nil
	}
	return fmt.Errorf("the folder %s already holds the identity of agent %s (%w)", dir, id.AgentID(), fs.ErrExist)
}

func newIdentity(dir string, record identityRecord) (*Identity, error) {
	credential, err := trust.LoadAgentCredential([]byte(record.Key), []byte(record.Certificate))
	if err != nil {
		return nil, err
	}
	if name := credential.Name(); name.ID != record.AgentID || name.Site != record.Site {
		return nil, fmt.Errorf("agent's certificate names agent %q of site %q, not %q of %q",
			name.ID, name.Site, record.AgentID, record.Site)
	}
	return &Identity{dir: dir, record: record, credential: credential}, nil
}

// AgentID is the id that the control plane gave.
func (id *Identity) AgentID() string { return id.record.AgentID }

// Site is the agent's site, a conductor group; "" is the default one.
func (id *Identity) Site() string { return id.record.Site }

// Address is host:port of the control plane's link.
func (id *Identity) Address() string { return id.record.Address }

// LogValue shows whose identity it is and no key.
func (id *Identity) LogValue() slog.Value {
	return slog.GroupValue(slog.String("agent", id.AgentID()), slog.String("site", id.Site()))
}

// String shows whose identity it is and no key.
func (id *Identity) String() string { return "agent " + id.AgentID() }

func (id *Identity) save() error {
	text, err := json.Marshal(id.record)
	if err != nil {
		return err
	}
	if err := durable.Write(filepath.Join(id.dir, identityFile), text); err != nil {
		return fmt.Errorf("save the agent's identity: %w", err)
	}
	return nil
}

// joiningKey is the key of an enrolment begun earlier in dir, or a new one: if
// the answer was lost, the same key asks again and is known.
func joiningKey(dir string) (keyPEM, requestPEM []byte, err error) {
	path := filepath.Join(dir, joiningFile)
	keyPEM, err = os.ReadFile(path)
	if err == nil {
		if requestPEM, err = trust.NewAgentRequest(keyPEM); err == nil {
			return keyPEM, requestPEM, nil
		}
		// A key that cannot be read has joined nothing: a new one is as good.
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if keyPEM, err = trust.NewAgentKey(); err != nil {
		return nil, nil, err
	}
	if requestPEM, err = trust.NewAgentRequest(keyPEM); err != nil {
		return nil, nil, err
	}
	return keyPEM, requestPEM, durable.Write(path, keyPEM)
}
