package runtest

import (
	"os"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace"
)

// Scan writes the files into a new workspace and returns its manifest.
func Scan(t *testing.T, files map[string]string) *workspace.Manifest {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return base
}
