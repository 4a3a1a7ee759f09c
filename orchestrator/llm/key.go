package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode"
)

// A Key is a credential. Printing it with any verb shows only its ID, and so does encoding it. The zero Key is that of a vendor
// that needs none.
type Key struct {
	ID string // stable and harmless: the first 8 hex digits of the secret's SHA-256, "" for the zero Key

	// secret is a pointer because fmt ignores the methods of a Key in an unexported field of another struct; there it prints an
	// address.
	secret *string
}

// NewKey returns the key with the given secret. An empty secret gives the zero Key.
func NewKey(secret string) Key {
	if secret == "" {
		return Key{}
	}
	sum := sha256.Sum256([]byte(secret))
	return Key{ID: hex.EncodeToString(sum[:4]), secret: &secret}
}

// ParseKeys reads secrets separated by commas, as in GEMINI_API_KEYS. It drops space around a secret, empty entries and
// repetitions, and keeps the order. It refuses a secret that contains space or a control character; the error gives its place in
// the list and never its text.
func ParseKeys(list string) ([]Key, error) {
	var keys []Key
	for i, secret := range strings.Split(list, ",") {
		secret = strings.TrimSpace(secret)
		if secret == "" {
			continue
		}
		if strings.ContainsFunc(secret, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
			return nil, fmt.Errorf("read keys: key %d of the list contains a space or a control character", i+1)
		}
		key := NewKey(secret)
		if !slices.ContainsFunc(keys, func(k Key) bool { return k.ID == key.ID }) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Secret returns the text to send to the vendor, "" for the zero Key. Only a Provider calls it, to send it and to mask it.
func (k Key) Secret() string {
	if k.secret == nil {
		return ""
	}
	return *k.secret
}

// String returns the ID.
func (k Key) String() string { return k.ID }

// Format prints the ID, whatever the verb and its flags.
func (k Key) Format(f fmt.State, _ rune) {
	// The caller sees a write error itself: fmt offers no other way.
	_, _ = f.Write([]byte(k.ID))
}

// MarshalText returns the ID, for JSON and every other text encoding.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.ID), nil }

// LogValue returns the ID for slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.ID) }
