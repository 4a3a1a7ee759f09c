package main

import (
	"os"
	"os/exec"
	"testing"
)

// The program is for Linux and macOS; what is in boxes is for Linux, on the processor of the engine. Here are the
// packages that ask the system directly; `make lint` compiles all of them.
func TestEverySystemCompiles(t *testing.T) {
	t.Parallel()
	for _, system := range []struct{ os, arch, what string }{
		{"darwin", "arm64", "./sandbox/workspace/..."}, {"darwin", "arm64", "./sandbox/owner"}, {"linux", "arm64", "./cmd/guest"},
	} {
		t.Run(system.os+"/"+system.arch+"/"+system.what, func(t *testing.T) {
			t.Parallel()
			// That it compiles is what is asked; a program of one package would be left in the tree.
			cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", os.DevNull, system.what)
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "GOOS="+system.os, "GOARCH="+system.arch, "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
