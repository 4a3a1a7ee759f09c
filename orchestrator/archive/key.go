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

// A Key signs attestations, or checks them where its private half is missing. It is a
// dsse.SignerVerifier.
// private is nil for a key of ParsePublic; Sign must not be called on that.
type Key struct {
	public  ed25519.PublicKey
	private ed25519.PrivateKey
}

// LoadKey reads the private key in the file name, and makes one where there is none.
// Of several processes that make one, one wins, and all use that.
//
// A key that others can read is refused and not put right: whoever may have read it can sign
// in the user's name, and only the user knows whether that matters. One that cannot be read as
// a key is never replaced: archives that were signed by it would lose their origin.
func LoadKey(name string) (*Key, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		// Read again, and not taken from what was made: another process may have been faster.
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
		return nil, fmt.Errorf("signing key %s: it is no PEM; move it away for a new one to be made", name)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("signing key %s: it is no ed25519 key; move it away for a new one to be made", name)
	}
	return &Key{private.Public().(ed25519.PublicKey), private}, nil
}

// makeKey makes a key that only its owner can read. Linked into place, it is never seen
// in part.
// A rename would replace the key of a process that was faster, which may have signed with
// it already; a link to a name that is taken is an error instead.
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
	// On the disk before it has its name: after a power failure the name would else stand for
	// an empty file, which LoadKey refuses for good.
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(f.Name(), name)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // somebody was faster
	}
	return err
}

// ParsePublic reads a public key in PEM, in the one form in which Public writes it.
// PEM allows text around the block, headers in it and lines of any length. An archive has
// no digest over key.pub, so that each of those would be a byte that may change unseen.
func ParsePublic(text []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the public key is no PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := key.(ed25519.PublicKey)
	if err != nil || !ok {
		return nil, errors.New("the public key is none of ed25519")
	}
	k := &Key{public: public}
	if again, err := k.PEM(); err != nil || !bytes.Equal(again, text) {
		return nil, errors.New("the public key is written in another way than it should")
	}
	return k, nil
}

// PEM is the public key as others are given it.
func (k *Key) PEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.public)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

// KeyID is the fingerprint, in the form that ssh uses: "SHA256:" and base64.
// It is in the signature as well, where it only helps to choose a key: what people compare is
// computed of the key itself.
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
