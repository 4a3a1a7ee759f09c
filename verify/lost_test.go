package verify

import (
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/smoke"
)

// lost returns the toolchain without one of its programs, whose path is now in lostDir, where nothing exists.
func lost(field string) check.Tools {
	tools := check.Toolchain
	v := reflect.ValueOf(&tools).Elem().FieldByName(field)
	v.SetString(path.Join(lostDir, field, path.Base(v.String())))
	return tools
}

const lostDir = "/lost"

// uses reports whether the proof of a check calls a program of the toolchain. It runs the proof in a box in which everything answers.
func uses(t *testing.T, def check.Check, field string) bool {
	t.Helper()
	b, box := checktest.Replayed(works())
	b.Tools = lost(field)
	prove(t.Context(), b, []check.Check{def})
	for _, cmd := range box.Ran {
		for _, text := range append(cmd.Args, string(cmd.Stdin), cmd.Env["NODE_OPTIONS"]) {
			if strings.Contains(text, path.Join(lostDir, field)) {
				return true
			}
		}
	}
	return false
}

// TestEveryToolIsMissedWhenTheImageHasLostIt goes through the toolchain and the table of checks, so additions to either are covered
// without further work.
func TestEveryToolIsMissedWhenTheImageHasLostIt(t *testing.T) {
	t.Parallel()
	// What no proof calls, and why that is fine.
	unproved := map[string]string{
		"Types":        "it saves time and decides nothing",
		"ConfigLoads":  "a linter that cannot load it ends with no report, and it is for patches alone",
		"VitestFaults": "without it the tests run again without witnesses, which the gate says",
		"Plugins":      "it runs mypy, which is proved, and only where a workspace has plugins for that; lost it is infra",
	}
	b := checktest.NewBench(t, nil, sandbox.Limits{})
	for _, f := range reflect.VisibleFields(reflect.TypeFor[check.Tools]()) {
		b.Tools = lost(f.Name)
		defs := slices.DeleteFunc(allChecks(), func(c check.Check) bool { return !uses(t, c, f.Name) })
		if (len(defs) == 0) != (unproved[f.Name] != "") {
			t.Errorf("%s is called for by the proofs of %d checks: a check that uses it must prove it", f.Name, len(defs))
		}
		reasons := prove(t.Context(), b, defs)
		for _, def := range defs {
			// Whatever the check found in a candidate.
			g, skipped := judge(def, check.Outcome{}, check.Outcome{}, reasons[def.Name], check.Diff{})
			if g.Verdict != check.Infra || skipped != "" || !strings.Contains(g.Detail, "agent images build") {
				t.Errorf("without %s %s is judged %q: %s", f.Name, def.Name, g.Verdict, g.Detail)
			}
		}
	}
	b.Tools = lost("Env")
	b.View = check.NewView(&workspace.Manifest{}, workspace.Changeset{})
	e, err := smoke.FindEntry(b.View, b.Tools, check.Smoke{Command: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	b.Entry = e
	out := smoke.Program.Run(t.Context(), b)
	if g, _ := judge(checkNamed(smoke.ProgramName), out, out, "", check.Diff{}); g.Verdict != check.Infra {
		t.Errorf("without Env a configured command is judged %s: %s", g.Verdict, g.Detail)
	}
}

// A check without a planted fault of its own proves nothing about its tools.
func TestEveryCheckProvesItself(t *testing.T) {
	t.Parallel()
	for _, def := range allChecks() {
		if def.Prove == nil {
			t.Errorf("%s has no proof", def.Name)
		}
		b, box := checktest.Replayed(nil)
		if reasons := prove(t.Context(), b, []check.Check{def}); reasons[def.Name] == "" || len(box.Ran) == 0 {
			t.Errorf("%s proves itself in an image without any tool", def.Name)
		}
	}
}
