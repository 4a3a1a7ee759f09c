package llm_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"agent/orchestrator/llm"
)

func TestAKeyShowsItsIDAlone(t *testing.T) {
	const secret = "correct-horse-battery"
	key := llm.NewKey(secret)
	if key.Secret() != secret || len(key.ID) != 8 {
		t.Fatalf("got the ID %q and %d bytes of secret", key.ID, len(key.Secret()))
	}
	var shown strings.Builder
	holder := struct {
		K llm.Key
		P *llm.Key
	}{key, &key}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&shown, verb+verb+verb+"\n", key, &key, holder)
	}
	if err := json.NewEncoder(&shown).Encode(holder); err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewTextHandler(&shown, nil)).Info("ask", "key", key, "holder", holder)
	if text := shown.String(); strings.Contains(text, "horse") || strings.Contains(text, fmt.Sprintf("%x", "horse")) || strings.Count(text, key.ID) < 20 {
		t.Errorf("a key shows as\n%s", text)
	}
}

func TestNoSecretIsNoKey(t *testing.T) {
	if key := llm.NewKey(""); key.ID != "" || key.Secret() != "" {
		t.Errorf("got %#v", key)
	}
}
