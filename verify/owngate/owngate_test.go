package owngate

import (
	"context"
	"testing"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
)

func TestGateRunsForFilesOfItsLanguages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		languages []string
		when      string
		change    workspace.Change
		runs      bool
	}{
		{"no language", nil, "", workspace.Change{Path: "a.py"}, true},
		{"its language", []string{"go", "python"}, "", workspace.Change{Path: "x/a.PY"}, true},
		{"its extension", []string{".Proto"}, "touched", workspace.Change{Path: "a.proto"}, true},
		{"another language", []string{"go"}, "", workspace.Change{Path: "a.py"}, false},
		{"no extension", []string{"go"}, "", workspace.Change{Path: "go"}, false},
		{"deleted", []string{"go"}, "", workspace.Change{Op: workspace.Delete, Path: "a.go"}, true},
		{"renamed away", []string{"go"}, "", workspace.Change{Op: workspace.Rename, From: "a.go", Path: "a.txt"}, true},
		{"by its name", []string{"dockerfile"}, "", workspace.Change{Path: "web/Dockerfile"}, true},
		{"by its name, with an extension too", []string{"ruby"}, "", workspace.Change{Path: "Gemfile"}, true},
		{"always", []string{"go"}, WhenAlways, workspace.Change{Path: "a.py"}, true},
	} {
		g := Gate{Languages: c.languages, When: c.when}
		reason := g.idle(workspace.Changeset{Changes: []workspace.Change{c.change}})
		if (reason == "") != c.runs {
			t.Errorf("%s: %q", c.name, reason)
		}
	}
}

func TestEveryEndOfAGatesCommandIsToldApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		res     guest.Result
		verdict check.Verdict
		exit    int
	}{
		"well":          {guest.Result{}, "", 0},
		"fails":         {guest.Result{Exit: 4}, "", 4},
		"not there":     {guest.Result{Exit: 127}, "", 127},
		"by a signal":   {guest.Result{Exit: -1, Signal: "SIGABRT"}, "", -1},
		"late":          {guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}, check.Timeout, 0},
		"late, exit 0":  {guest.Result{TimedOut: true}, check.Timeout, 0},
		"out of memory": {guest.Result{OOM: true}, check.OOM, 0},
		"with its box":  {guest.Result{Killed: true, Exit: -1, Signal: "SIGKILL"}, check.Infra, 0},
	} {
		b, box := checktest.Replayed(map[string]guest.Result{"own": c.res})
		out := Gate{Name: "a", Command: []string{"own"}, Timeout: 9 * time.Second}.run(context.Background(), b)
		if out.Verdict != c.verdict || (out.Ending != nil) != (c.verdict == "") || out.Ending != nil && out.Ending.Exit != c.exit {
			t.Errorf("%s: %+v", name, out)
		}
		if box.Ran[0].Timeout != 9*time.Second {
			t.Errorf("%s: runs for %s", name, box.Ran[0].Timeout)
		}
	}
}
