package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
)

// A run with prompts of the workspace that the user did not allow asks no model, and says what to do. Nothing is
// allowed if there is no place for consents.
func TestPromptsOfAWorkspaceNeedAConsent(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), filepath.Join(t.TempDir(), "agent", "config.toml")
	if err := os.MkdirAll(filepath.Join(dir, promptsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, promptsDir, "IF.md"), []byte("Do {{.Goal}} gently."), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := LoadPrompts(dir, home)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{home, ""} {
		var refused *fault.Error
		if err := checkAllowed(p, at); !errors.As(err, &refused) || refused.Exit != run.ExitApproval || !strings.Contains(refused.Error(), "IF") || !strings.Contains(refused.Next, "agent prompts allow") {
			t.Errorf("with the configuration %q: %v", at, err)
		}
	}
	left, err := Unallowed(p, home)
	if err == nil {
		err = Allow(home, left)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := checkAllowed(p, home); err != nil {
		t.Errorf("what was allowed is refused: %v", err)
	}
	if err := Allow("", left); err == nil {
		t.Error("a consent without a place to keep it is no error")
	}
	// Only the texts of a workspace need a consent.
	none, err := LoadPrompts(t.TempDir(), home)
	if err != nil || checkAllowed(none, home) != nil {
		t.Errorf("built-in prompts: %v", err)
	}
}
