package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fault in a file for a single system is reported for that system only, with its place.
func TestAFaultOfOneSystemIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.org/a\n\ngo 1.24\n",
		"a.go":        "// Package a is small.\npackage a\n\nimport \"os\"\n\nvar home = os.DevNull\n",
		"a_darwin.go": "package a\n\nvar size int = home\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := start([]string{"linux/arm64"}, dir, &out); err != nil || out.String() != "linux/arm64: 1 packages\n" {
		t.Errorf("linux: %q, %v", out.String(), err)
	}
	err := start([]string{"linux/arm64", "darwin/arm64"}, dir, &out)
	if err == nil || !strings.Contains(err.Error(), "a_darwin.go:3:16") || strings.Contains(err.Error(), "linux") {
		t.Errorf("darwin: %v", err)
	}
}

// If nothing is checked, that is a fault.
func TestNothingToLookAtIsAFault(t *testing.T) {
	t.Parallel()
	for _, systems := range [][]string{nil, {"darwin"}, {"darwin/amd65"}, {"linux/arm64"}} {
		if err := start(systems, t.TempDir(), new(strings.Builder)); err == nil {
			t.Errorf("%q: no error", systems)
		}
	}
}
