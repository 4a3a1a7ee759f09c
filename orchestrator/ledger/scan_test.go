package ledger_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	"agent/images/imagestest"
	"agent/orchestrator/ledger"
	"agent/orchestrator/ledger/decode"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/symbols"
)

// startBox starts a box with these files in /work.
func startBox(t testing.TB, files map[string]string) *sandbox.Box {
	t.Helper()
	l := imagestest.Open(t)
	box, err := l.Engine.Start(t.Context(), sandbox.Spec{
		Image: l.Toolchain.ID, Run: "ledger-test", Purpose: t.Name(), Lease: time.Now().Add(10 * time.Minute),
		Limits: sandbox.Limits{Work: 512 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	var cs workspace.Changeset
	for _, p := range slices.Sorted(maps.Keys(files)) {
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: p, Mode: 0o644, After: []byte(files[p])})
	}
	if err := box.Apply(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	return box
}

// scan scans the files in a box, by path.
func scan(t testing.TB, files map[string]string) map[string]ledger.File {
	t.Helper()
	found := map[string]ledger.File{}
	for _, f := range scanIn(t, startBox(t, files), slices.Sorted(maps.Keys(files))) {
		found[f.Path] = f
	}
	return found
}

// scanIn scans the files at paths in the box.
func scanIn(t testing.TB, box *sandbox.Box, paths []string) []ledger.File {
	t.Helper()
	var all []ledger.File
	err := symbols.Scan(t.Context(), box, "/work", paths, func(paths []string, answer []byte) error {
		files, err := decode.Files(bytes.NewReader(answer), paths)
		all = append(all, files...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
