package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ferrule/durable"
)

// Place says where the parts of a deployment lie that belong together.
type Place struct {
	Key      string // file of the deployment key
	Record   string // file that says which deployment's database belongs here
	Identity string // file of the embedded agent's identity; it need not exist
	Database string // how messages name the database
}

// record is the content of Place.Record.
type record struct {
	CA string `json:"ca"` // fingerprint
}

// OpenDeployment reads the deployment key and the authority, and makes both at
// the first start. Where one part of a deployment is there and another is gone
// or foreign it refuses, makes nothing, and says what to do: a new authority
// beside old agents, or a new key beside old secrets, would end them for good.
func OpenDeployment(ctx context.Context, keys KeyStore, place Place, now func() time.Time) (*Sealer, *CA, error) {
	sealed, _, err := keys.TrustKey(ctx, caKeyName)
	if err != nil {
		return nil, nil, fmt.Errorf("open key %q of the authority: %w", caKeyName, err)
	}
	sealer, err := place.sealer(len(sealed) > 0)
	if err != nil {
		return nil, nil, err
	}
	ca, err := OpenCA(ctx, keys, sealer, now)
	if errors.Is(err, errOtherKey) {
		return nil, nil, fmt.Errorf("the deployment key in %s is not the one that %s was sealed with: give the key of this database (a copy of its deployment.key, or [trust] deployment_key_file), or the database of this key",
			place.Key, place.Database)
	}
	if err != nil {
		return nil, nil, err
	}
	return sealer, ca, place.checkRecord(ca)
}

// sealer opens the deployment key, or makes it where all is new.
func (p Place) sealer(used bool) (*Sealer, error) {
	if !used {
		if err := p.CheckNew(); err != nil {
			return nil, err
		}
		return OpenSealer(p.Key)
	}
	sealer, err := LoadSealer(p.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the deployment key %s is missing, and nothing else opens the secrets in %s: put a copy of it back; no new one was made",
			p.Key, p.Database)
	}
	return sealer, err
}

// CheckNew is nil where no deployment was here before, so that an empty
// database is a first start and not a loss.
func (p Place) CheckNew() error {
	for _, witness := range []string{p.Record, p.Identity} {
		_, err := os.Stat(witness)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for an earlier deployment: %w", err)
		}
		return fmt.Errorf("%s is missing or empty, but %s shows that a deployment was here: put the database back from a backup; to start anew without its nodes, secrets and agents, move %s and %s away first",
			p.Database, witness, p.Record, p.Identity)
	}
	return nil
}

// checkRecord compares the database's authority with the one that was here
// before, and writes it down. A record that cannot be read is written anew: the
// key has just opened the database.
func (p Place) checkRecord(ca *CA) error {
	text, err := os.ReadFile(p.Record)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read which deployment this is: %w", err)
	}
	var known record
	if json.Unmarshal(text, &known) != nil {
		known = record{}
	}
	switch known.CA {
	case ca.Fingerprint():
		return nil
	case "":
	default:
		return fmt.Errorf("%s is another deployment's: its CA has the fingerprint %.16s…, and %s names %.16s…. Give the right database; to take this one over, move that file away first",
			p.Database, ca.Fingerprint(), p.Record, known.CA)
	}
	if text, err = json.Marshal(record{CA: ca.Fingerprint()}); err != nil {
		return err
	}
	if err := durable.Write(p.Record, text); err != nil {
		return fmt.Errorf("write down which deployment this is: %w", err)
	}
	return nil
}
