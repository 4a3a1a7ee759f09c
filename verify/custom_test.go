package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/owngate"
	"agent/verify/policy"
)

func TestGatesThatNobodyCanMeanAreRefused(t *testing.T) {
	t.Parallel()
	run := []string{"true"}
	for want, list := range map[string][]CustomGate{
		`named ""`:                         {{Command: run}},
		`named "A b"`:                      {{Name: "A b", Command: run}},
		`two gates are named "a"`:          {{Name: "a", Command: run}, {Name: "b", Command: run}, {Name: "a", Command: run}},
		`"lint": the agent has a gate`:     {{Name: "lint", Command: run}},
		`"edit": the agent has a gate`:     {{Name: "edit", Command: run}},
		`"ruff": the agent has a gate`:     {{Name: "ruff", Command: run}},
		"it has no command":                {{Name: "a"}},
		`"b": it has no command`:           {{Name: "b", Command: []string{" ", "x"}}},
		"timeout of 1ms is not between 1s": {{Name: "a", Command: run, Timeout: time.Millisecond}},
		"timeout of 2h0m0s is not":         {{Name: "a", Command: run, Timeout: 2 * time.Hour}},
		"timeout of -1s is not":            {{Name: "a", Command: run, Timeout: -time.Second}},
		`when is "never"`:                  {{Name: "a", Command: run, When: "never"}},
		`unknown language "pyton"`:         {{Name: "a", Command: run, Languages: []string{"python", "pyton"}}},
		`unknown language "."`:             {{Name: "a", Command: run, Languages: []string{"."}}},
		"17 gates, at most 16 are allowed": slices.Repeat([]CustomGate{{Name: "a", Command: run}}, 17),
	} {
		if err := CheckGates(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	sound := []CustomGate{
		{Name: "a", Command: run},
		{Name: "b-2", Command: run, Languages: []string{"python", ".proto"}, Timeout: time.Minute, When: WhenTouched},
		{Name: "static", Command: run, When: WhenAlways},
	}
	if err := CheckGates(sound); err != nil {
		t.Error(err)
	}
}

func TestGateIsJudgedByHowItsCommandEndedBefore(t *testing.T) {
	t.Parallel()
	exit := func(n int) check.Outcome { return check.Outcome{Ending: &check.Ending{Exit: n}, Detail: "x"} }
	late := check.Outcome{Verdict: check.Timeout, Detail: "late"}
	for _, c := range []struct {
		name       string
		base, cand check.Outcome
		want       check.Verdict // "" for skipped
		fixed      int
	}{
		{"well before and after", exit(0), exit(0), check.Pass, 0},
		{"fails now", exit(0), exit(3), check.Fail, 0},
		{"killed now", exit(0), check.Outcome{Ending: &check.Ending{Signal: "SIGSEGV"}}, check.Fail, 0},
		{"its script is gone", exit(0), exit(127), check.Fail, 0},
		{"failed before", exit(1), exit(1), "", 0},
		{"failed otherwise before", exit(2), exit(1), "", 0},
		{"mended", exit(1), exit(0), check.Pass, 1},
		{"was not there", exit(127), exit(127), check.Infra, 0},
		{"was not there and fails", exit(127), exit(1), check.Infra, 0},
		{"was not there and is well", exit(127), exit(0), check.Pass, 1},
		{"late now", exit(0), late, check.Timeout, 0},
		{"late now, failed before", exit(1), late, "", 0},
		{"late both times", late, late, "", 0},
		{"late before, fails now", late, exit(1), "", 0},
		{"no memory now", exit(0), check.Outcome{Verdict: check.OOM, Detail: "large"}, check.OOM, 0},
		{"box died now", exit(0), check.Infraf("gone"), check.Infra, 0},
		{"box died before", check.Infraf("gone"), exit(0), check.Infra, 0},
	} {
		g := CustomGate{Name: "own", Command: []string{"x"}}
		def := owngate.Checks([]CustomGate{g}, workspace.Changeset{})[0]
		got, reason := judge(def, c.base, c.cand, "", check.Diff{})
		if got.Verdict != c.want || got.Fixed != c.fixed || (reason != "") != (c.want == "") {
			t.Errorf("%s: %+v %q", c.name, got, reason)
		}
		if (c.want == check.Fail) != (len(got.Findings) == 1) {
			t.Errorf("%s: findings %+v", c.name, got.Findings)
		}
	}
}

// What a change should bring about usually failed before it; that is no excuse for a strict gate.
func TestAStrictGateIsNotComparedWithHowItEndedBefore(t *testing.T) {
	t.Parallel()
	exit := func(n int) check.Outcome { return check.Outcome{Ending: &check.Ending{Exit: n}, Detail: "x"} }
	late := check.Outcome{Verdict: check.Timeout, Detail: "late"}
	for name, c := range map[string]struct {
		base, cand check.Outcome
		want       check.Verdict
	}{
		"failed before": {exit(1), exit(1), check.Fail}, "was not there": {exit(127), exit(127), check.Fail}, "mended": {exit(1), exit(0), check.Pass},
		"late both times": {late, late, check.Timeout}, "box died before": {check.Infraf("gone"), exit(0), check.Pass}, "box died now": {exit(0), check.Infraf("gone"), check.Infra},
	} {
		g := CustomGate{Name: "own", Command: []string{"x"}, Strict: true}
		def := owngate.Checks([]CustomGate{g}, workspace.Changeset{})[0]
		if got, _ := judge(def, c.base, c.cand, "", check.Diff{}); got.Verdict != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestGatesOfTheWorkspaceStandBehindTheOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"note.txt": "old\n", "check.txt": "exit 0\n"})
	s.config.Gates = []CustomGate{
		{Name: "sound", Command: []string{"sh", "-c", "test -w note.txt"}},
		{Name: "broken", Command: []string{"sh", "-c", "echo looking; grep old note.txt"}},
		{Name: "script", Command: []string{"sh", "check.txt"}},
		{Name: "mended", Command: []string{"grep", "-q", "new", "note.txt"}},
		{Name: "standing", Command: []string{"false"}},
		{Name: "absent", Command: []string{"no-such-program"}},
		{Name: "idle", Command: []string{"false"}, Languages: []string{"python"}},
	}
	r := s.verify(t, map[string]string{"note.txt": "new\n", "check.txt": "-"})
	expect(t, r, check.Fail, "broken", "script", "absent")
	var names []string
	for _, g := range r.Gates {
		names = append(names, g.Name+" "+string(g.Verdict))
	}
	if want := []string{"sound pass", "broken fail", "script fail", "mended pass", "absent infra"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for name, want := range map[string]string{"standing": "failed before the patch too: false: exit status 1", "idle": "touches no file of python"} {
		if !slices.ContainsFunc(r.Skipped, func(s Skip) bool { return s.Name == name && strings.Contains(s.Reason, want) }) {
			t.Errorf("%s: %+v", name, r.Skipped)
		}
	}
	f := checktest.Single(t, find(t, r, "broken"), "exit", "", 0)
	if f.Message != "sh: exit status 1: looking" || f.Tool != "broken" {
		t.Errorf("%+v", f)
	}
}

// What a gate starts belongs to the base too: a patch that rewrites it is held, and the hold says if the gate passes only due to that.
func TestAGateIsHeldToWhatItStartedBefore(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"note.txt": "four\n", "check.sh": "#!/bin/sh\nset -eu\nsh tools/words.sh note.txt\n", "tools/words.sh": "#!/bin/sh\nset -eu\ngrep -q four \"$1\"\n"})
	s.config.Gates = []CustomGate{{Name: "words", Command: []string{"sh", "check.sh"}}}
	for name, c := range map[string]struct {
		files map[string]string
		held  string
	}{
		"its script":          {map[string]string{"note.txt": "five\n", "check.sh": "#!/bin/sh\nset -eu\n"}, "check.sh fails"},
		"what that starts":    {map[string]string{"note.txt": "five\n", "tools/words.sh": "#!/bin/sh\nset -eu\ngrep -q five \"$1\"\n"}, "tools/words.sh fails"},
		"for what comes next": {map[string]string{"note.txt": "four and more\n", "check.sh": "#!/bin/sh\nset -eu\n"}, "check.sh"},
		"what it judges":      {map[string]string{"note.txt": "four and more\n"}, ""},
	} {
		r := s.verify(t, c.files)
		held := ""
		for _, h := range r.Holds {
			if h.Kind == policy.Tooling && h.Block && strings.Contains(h.Reason, "words") {
				held += h.Path
				if strings.Contains(h.Reason, "fails with the version") {
					held += " fails"
				}
			}
		}
		if held != c.held || r.Verdict != check.Pass {
			t.Errorf("%s: %v, held %q, want %q: %+v", name, r.Verdict, held, c.held, r.Gates)
		}
	}
}

// A strict gate that failed on the base fails if a patch leaves it failing, while the same failure of another gate is not the fault of
// the patch. A strict gate whose command does not exist does not pass.
func TestAStrictGateAsksForTheThingItself(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"note.txt": "four\n"})
	has := []string{"grep", "-q", "five", "note.txt"}
	s.config.Gates = []CustomGate{
		{Name: "loose", Command: has, When: WhenAlways},
		{Name: "accept-1", Command: has, When: WhenAlways, Strict: true},
		{Name: "accept-2", Command: []string{"no-such-command"}, When: WhenAlways, Strict: true},
	}
	for text, want := range map[string]check.Verdict{"four and more\n": check.Fail, "five\n": check.Pass} {
		r := s.verify(t, map[string]string{"note.txt": text})
		if slices.ContainsFunc(r.Gates, func(g Gate) bool { return g.Name == "loose" && g.Verdict == check.Fail }) {
			t.Errorf("%q: what failed before is the fault of the patch: %+v", text, r.Gates)
		}
		strict, absent := find(t, r, "accept-1"), find(t, r, "accept-2")
		if strict.Verdict != want || absent.Verdict == check.Pass || r.Verdict != check.Fail {
			t.Errorf("%q: %s; %+v, %+v", text, r.Verdict, strict, absent)
		}
	}
}
