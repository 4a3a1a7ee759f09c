package archive

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// A Key signs attestations, or only checks them if its private half is missing. It is a dsse.SignerVerifier. private is
// nil for a key from ParsePublic; Sign must not be called on that.
type Key struct {
	public  ed25519.PublicKey
	private ed25519.PrivateKey
}

// LoadKey reads the private key from the file name, and creates one if there is none. If several processes create one,
// one of them wins and all use that.
//
// LoadKey refuses a key that others can read and does not fix it: anyone who may have read it can sign in the user's
// name, and only the user knows whether that matters. It never replaces a file that it cannot read as a key: archives
// signed with it would lose their origin.
func LoadKey(name string) (*Key, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		// Read it again instead of using the one just made: another process may have been faster.
		if err = makeKey(name); err == nil {
			text, err = os.ReadFile(name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	info, err := os.Stat(name)
	if err == nil && info.Mode()&0o077 != 0 {
		err = fmt.Errorf("others may read it: run `chmod 600 %s`", name)
	}
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", name, err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("signing key %s: not PEM; move it away to have a new one made", name)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("signing key %s: not an ed25519 key; move it away to have a new one made", name)
	}
	return &Key{private.Public().(ed25519.PublicKey), private}, nil
}

// makeKey creates a key that only its owner can read. It links the file into place, so that nobody sees a part of it. A
// rename would replace the key of a faster process, which may already have signed with it; a link fails if the name is
// taken.
func makeKey(name string) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".key-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // another link remains
	// Flush it to disk before it has its name: otherwise, after a power failure, the name could stand for an empty
	// file, which LoadKey would always refuse.
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(f.Name(), name)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// ParsePublic reads a public key in PEM, in exactly the form that PEM writes. PEM allows text around the block, headers
// in it and lines of any length. An archive has no digest over key.pub, so any of these could change unseen.
func ParsePublic(text []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the public key is not PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := key.(ed25519.PublicKey)
	if err != nil || !ok {
		return nil, errors.New("the public key is not an ed25519 key")
	}
	k := &Key{public: public}
	if again, err := k.PEM(); err != nil || !bytes.Equal(again, text) {
		return nil, errors.New("the public key is not in its canonical form")
	}
	return k, nil
}

// PEM returns the public key in the form for others.
func (k *Key) PEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.public)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

// KeyID returns the fingerprint in the form that ssh uses: "SHA256:" and base64. The signature contains it too, but
// only to help choose a key: what people compare is computed from the key itself.
func (k *Key) KeyID() (string, error) { return dsse.SHA256KeyID(k.public) }

// Public implements dsse.Verifier.
func (k *Key) Public() crypto.PublicKey { return k.public }

// Sign implements dsse.Signer.
func (k *Key) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(k.private, data), nil
}

// Verify implements dsse.Verifier.
func (k *Key) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(k.public, data, sig) {
		return errors.New("the signature is wrong")
	}
	return nil
}
