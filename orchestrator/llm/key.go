package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

// NewKey returns the key of a secret. An empty secret gives the empty key, for
// a vendor that needs none.
func NewKey(secret string) Key {
	if secret == "" {
		return Key{}
	}
	sum := sha256.Sum256([]byte(secret))
	return Key{ID: hex.EncodeToString(sum[:])[:8], secret: secret}
}

// Secret returns the credential itself, for the one header that carries it.
func (k Key) Secret() string { return k.secret }

// String shows the ID alone.
func (k Key) String() string { return "key " + k.ID }

// GoString shows the ID alone.
func (k Key) GoString() string { return k.String() }

// Format shows the ID alone, whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, k.String()) }

// MarshalText gives the ID alone, to JSON as well.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.ID), nil }

// LogValue gives the ID alone to a log.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.ID) }
