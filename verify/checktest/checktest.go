// Package checktest provides tests of checks with a bench to work with: on a real box, or on one that replays recorded answers.
package checktest

import (
	"strings"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// NewBench starts one box of the bare toolchain image with these files in /work.
func NewBench(t *testing.T, files map[string]string, limits sandbox.Limits) check.Bench {
	t.Helper()
	return NewBenchOn(t, verifytest.Open(t).Toolchain.ID, &workspace.Manifest{}, check.Plant(files), limits)
}

// NewBenchOn is NewBench on an image, with a changeset applied to its content.
func NewBenchOn(t *testing.T, image string, base *workspace.Manifest, cs workspace.Changeset, limits sandbox.Limits) check.Bench {
	t.Helper()
	return check.Bench{Box: verifytest.Open(t).Box(t, image, cs, limits), Tools: check.Toolchain, View: check.NewView(base, cs), Timeout: time.Minute}
}

// Sweep removes what a run of tests leaves in a box, so that the next one begins as the first did.
func Sweep(t *testing.T, b check.Bench) {
	t.Helper()
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// View returns the base view of a workspace with these files.
func View(files map[string]string) check.View {
	return check.NewView(&workspace.Manifest{}, check.Plant(files))
}

// Replayed returns a bench on an empty box that replays these answers, and the box.
func Replayed(answers map[string]guest.Result) (check.Bench, *verifytest.Replay) {
	box := &verifytest.Replay{Answers: answers}
	v := check.NewView(&workspace.Manifest{}, workspace.Changeset{})
	return check.Bench{Box: box, Tools: check.Toolchain, View: v, Timeout: time.Minute, Entry: check.Entry{Args: []string{"/bin/prog"}}, Unwitnessed: true}, box
}

// Inside fails the test for a finding outside the workspace or with a message without a bound, whatever a tool has said.
func Inside(t interface {
	Errorf(format string, args ...any)
}, found []check.Finding,
) {
	for _, f := range found {
		if strings.HasPrefix(f.File, "/") || f.File == ".." || strings.HasPrefix(f.File, "../") || f.Line < 0 || f.Column < 0 || len(f.Message) > check.MaxMessage+8 {
			t.Errorf("%+v", f)
		}
	}
}
