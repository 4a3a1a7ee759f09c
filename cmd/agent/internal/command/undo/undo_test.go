package undo

import (
	"testing"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

func TestUndoAsksBeforeItWrites(t *testing.T) {
	t.Parallel()
	of := run.Record{ID: "1k3mzq8a0v2c", Workspace: "/home/me/shop", Intent: "patch good.xml"}
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a.py", Before: []byte("new\n"), After: []byte("old\n"), Mode: 0o644}}}
	for typed, exit := range map[string]int{"y": run.ExitDone, "\rn": run.ExitApproval, "\x04": run.ExitApproval} {
		p := cmdlinetest.NewPerson(t, nil)
		p.Types(t, "y\n") // typed ahead, which answers nothing
		got := make(chan error, 1)
		go func() { got <- (command{p.Line}).confirm(t.Context(), false, of, cs) }()
		p.Sees(t, "[y]es, [n]o", 1)
		p.Types(t, typed)
		err := <-got
		if err != nil {
			if _, code := fault.Classify(t.Context(), err); code != exit {
				t.Errorf("%q: exit %d, %v; want %d", typed, code, err, exit)
			}
		} else if exit != run.ExitDone {
			t.Errorf("%q was taken for a yes", typed)
		}
	}
	alone := cmdlinetest.Unattended("y\n")
	if err := (command{alone}).confirm(t.Context(), false, of, cs); err == nil {
		t.Error("without a terminal it needs --yes")
	}
	if err := (command{alone}).confirm(t.Context(), true, of, cs); err != nil {
		t.Errorf("--yes: %v", err)
	}
}
