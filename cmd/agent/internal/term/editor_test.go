package term

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/term/termtest"
)

func TestAnEditorThatIsNamedIsTheOneThatIsUsed(t *testing.T) {
	t.Parallel()
	p := termtest.NewPerson(t)
	for _, env := range []map[string]string{{"EDITOR": "/nonexistent/ed -x"}, {"VISUAL": "no-such-editor", "EDITOR": "/bin/true"}} {
		if words, err := seated(p, env).Editor(); err == nil || words != nil {
			t.Errorf("%v: %q, and no error", env, words)
		}
	}
	if words, err := seated(p, map[string]string{"EDITOR": "/bin/true -x"}).Editor(); err != nil || strings.Join(words, " ") != "/bin/true -x" {
		t.Errorf("%q, %v", words, err)
	}
}

// The typed text comes back even if the editor reports an error.
func TestTheTextOfAnEditorThatFailsIsThere(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho typed >> \"$1\"\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := seated(termtest.NewPerson(t), map[string]string{"EDITOR": script}).EditTexts(t.Context(), map[string][]byte{"a.txt": []byte("old\n")})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || string(got["a.txt"]) != "old\ntyped\n" {
		t.Errorf("%q, %v", got, err)
	}
}
