package trust

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ferrule/durable"
)

// DeploymentKeySize is the length of a deployment key in bytes.
const DeploymentKeySize = 32

// sealedVersion begins every sealed value: another layout takes another byte.
const sealedVersion = 1

const (
	keyIDSize      = 8
	dataKeySize    = 32
	gcmOverhead    = 12 + 16 // nonce before, tag after
	wrappedKeySize = dataKeySize + gcmOverhead
	sealedHead     = 1 + keyIDSize
	sealedMinimum  = sealedHead + wrappedKeySize + gcmOverhead
)

// Sealer seals and opens secrets at rest: AES-256-GCM under a fresh data key
// each, which is itself sealed under the deployment key. Another deployment
// key therefore only has to wrap the data keys again.
type Sealer struct {
	wrap  cipher.AEAD
	keyID [keyIDSize]byte
}

// NewSealer makes the sealer of a deployment key of DeploymentKeySize bytes.
func NewSealer(deploymentKey []byte) (*Sealer, error) {
	if len(deploymentKey) != DeploymentKeySize {
		return nil, fmt.Errorf("deployment key has %d bytes, want %d", len(deploymentKey), DeploymentKeySize)
	}
	wrap, err := newAEAD(deploymentKey)
	if err != nil {
		return nil, err
	}
	s := &Sealer{wrap: wrap}
	sum := sha256.Sum256(append([]byte("ferrule deployment key id\x00"), deploymentKey...))
	copy(s.keyID[:], sum[:])
	return s, nil
}

// OpenSealer makes the sealer of the deployment key in the file at path, which
// is made where there is none. The file must be readable by its owner alone.
func OpenSealer(path string) (*Sealer, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makeDeploymentKey(path); err != nil {
			return nil, fmt.Errorf("make deployment key: %w", err)
		}
	}
	return LoadSealer(path)
}

// LoadSealer makes the sealer of the deployment key in the file at path, which
// must be there: fs.ErrNotExist is in the error's chain where it is not.
func LoadSealer(path string) (*Sealer, error) {
	key, err := readDeploymentKey(path)
	if err != nil {
		return nil, fmt.Errorf("read deployment key: %w", err)
	}
	sealer, err := NewSealer(key)
	if err != nil {
		return nil, fmt.Errorf("the deployment key in %s is damaged (%w): put a copy of it back", path, err)
	}
	return sealer, nil
}

func readDeploymentKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o: others may read it; set it to 0600", path, perm)
	}
	return os.ReadFile(path)
}

// makeDeploymentKey writes a new key whole or not at all, and never over one
// that another process made in the meantime.
func makeDeploymentKey(path string) error {
	key := make([]byte, DeploymentKeySize)
	_, _ = rand.Read(key)
	if err := durable.Create(path, key); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// ErrNotOpened is the error for a sealed value that was altered, or sealed under
// another name or deployment key.
var ErrNotOpened = errors.New("the sealed value is not the one that was sealed here")

// Seal makes the sealed form of plaintext. The name is authenticated data of
// both encryptions: under another name the value does not open. That of a secret
// has its owner, place and version (metal.SecretName).
func (s *Sealer) Seal(name string, plaintext []byte) ([]byte, error) {
	dataKey := make([]byte, dataKeySize)
	_, _ = rand.Read(dataKey)
	data, err := newAEAD(dataKey)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, 0, sealedMinimum+len(plaintext))
	sealed = append(sealed, sealedVersion)
	sealed = append(sealed, s.keyID[:]...)
	aad := []byte(name)
	sealed = s.wrap.Seal(sealed, nil, dataKey, aad)
	return data.Seal(sealed, nil, plaintext, aad), nil
}

// errOtherKey is what was sealed under another deployment key.
var errOtherKey = fmt.Errorf("sealed under another deployment key: %w", ErrNotOpened)

// Open is the plaintext that was sealed under name.
func (s *Sealer) Open(name string, sealed []byte) ([]byte, error) {
	if len(sealed) < sealedMinimum || sealed[0] != sealedVersion {
		return nil, fmt.Errorf("open %s: not a sealed value: %w", name, ErrNotOpened)
	}
	if !bytes.Equal(sealed[1:sealedHead], s.keyID[:]) {
		return nil, fmt.Errorf("open %s: %w", name, errOtherKey)
	}
	aad := []byte(name)
	body := sealed[sealedHead:]
	dataKey, err := s.wrap.Open(nil, nil, body[:wrappedKeySize], aad)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", name, ErrNotOpened, err)
	}
	data, err := newAEAD(dataKey)
	if err != nil {
		return nil, err
	}
	plaintext, err := data.Open(nil, nil, body[wrappedKeySize:], aad)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", name, ErrNotOpened, err)
	}
	return plaintext, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
