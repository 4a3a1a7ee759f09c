package web

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestAnswersOfBiomeMustAgree(t *testing.T) {
	t.Parallel()
	const diagnostic = `{"severity":"error","message":"Can't assign x.","category":"lint/correctness/noConstAssign","location":{"path":"a.js","start":{"line":2,"column":1},"end":{"line":2,"column":2}},"advices":[]}`
	const info = `{"severity":"info","message":"Skipped file with syntax errors","category":"parse","location":{"path":"b.css"},"advices":[]}`
	unread := func(file string) string {
		return `{"severity":"error","message":"stream did not contain valid UTF-8","category":"fs/io","location":{"path":"` + file + `","start":{"line":0,"column":0}},"advices":[]}`
	}
	answer := func(errors, unshown, list string) string {
		return `{"summary":{"errors":` + errors + `,"diagnosticsNotPrinted":` + unshown + `},"diagnostics":[` + list + `],"command":"lint"}`
	}
	for name, c := range map[string]struct {
		exit int
		out  string
		want int // -1 for an error
	}{
		"one":                  {1, answer("1", "0", diagnostic), 1},
		"none":                 {0, answer("0", "0", ""), 0},
		"a file skipped":       {0, answer("0", "0", info), 0},
		"a drawing unread":     {0, answer("0", "0", unread("a.svg")), 0},
		"nothing but that":     {1, answer("0", "0", unread("a.svg")), 0},
		"one beside it":        {1, answer("1", "0", unread("a.svg")+","+diagnostic), 1},
		"a script unread":      {0, answer("0", "0", unread("a.ts")), 1},
		"unread and ended":     {2, answer("0", "0", unread("a.svg")), -1},
		"one, said sound":      {0, answer("1", "0", diagnostic), -1},
		"none, said faulty":    {1, answer("0", "0", ""), -1},
		"one of two":           {1, answer("2", "0", diagnostic), -1},
		"some are not printed": {1, answer("1", "5", diagnostic), -1},
		"no summary":           {1, `{"diagnostics":[` + diagnostic + `]}`, -1},
		"cut":                  {1, answer("1", "0", diagnostic)[:70], -1},
		"nothing":              {0, "", -1},
		"wrong options":        {1, "", -1},
		"ended by itself":      {101, answer("1", "0", diagnostic), -1},
	} {
		found, err := parseBiome(verifytest.Ended(c.exit, []byte(c.out), []byte("The reporters are experimental.\n")), "pkg")
		if (err != nil) != (c.want < 0) || err == nil && len(found) != c.want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		if len(found) == 1 && found[0].Rule != "fs/io" && (found[0].File != "pkg/a.js" || found[0].Line != 2 || found[0].Rule != "correctness/noConstAssign" ||
			found[0].Help != "https://biomejs.dev/linter/rules/no-const-assign") {
			t.Errorf("%s: %+v", name, found[0])
		}
	}
}

// biomeOld is the output of biome 2 for a configuration that was written for biome 1.
const biomeOld = `/work/biome.json:1:60 deserialize ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━

  × Found an unknown key ` + "`organizeImports`" + `.

  > 1 │ {"organizeImports":{"enabled":true}}

configuration ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━

  × Biome exited because the configuration resulted in errors. Please fix them.
`

func TestConfigurationThatBiomeRefusesIsTheWorkspaces(t *testing.T) {
	t.Parallel()
	reason, ok := biomeRefuses(verifytest.Ended(1, nil, []byte(biomeOld)))
	if !ok || !strings.Contains(reason, "Found an unknown key `organizeImports`") {
		t.Errorf("%q, %t", reason, ok)
	}
	for name, res := range map[string]struct {
		exit        int
		out, errors string
	}{"an answer": {1, "{}", biomeOld}, "another status": {2, "", biomeOld}, "another trouble": {1, "", "  × panicked\n"}} {
		if reason, ok := biomeRefuses(verifytest.Ended(res.exit, []byte(res.out), []byte(res.errors))); ok {
			t.Errorf("%s: %q", name, reason)
		}
	}
}

func TestProjectsOfBiomeAreTheTopmostConfigurations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		paths, want []string
	}{
		{[]string{"a.js"}, nil},
		{[]string{"biome.json", "a/biome.json"}, []string{"."}},
		{[]string{"a/b/biome.jsonc", "a/biome.json", "c/biome.json", "node_modules/x/biome.json"}, []string{"a", "c"}},
	} {
		files := map[string]string{}
		for _, p := range c.paths {
			files[p] = "{}"
		}
		if got := biomeRoots(check.NewView(verifytest.Scan(t, files), workspace.Changeset{})); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.paths, got, c.want)
		}
	}
}
