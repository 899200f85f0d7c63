package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

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
		return nil, fmt.Errorf("read the agent's identity: %w", err)
	}
	return newIdentity(dir, record)
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
		requestPEM, err = trust.NewAgentRequest(keyPEM)
		return keyPEM, requestPEM, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
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
