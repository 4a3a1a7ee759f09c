package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestReportOfESLintMustFitItsExit(t *testing.T) {
	t.Parallel()
	const warned = `[{"filePath": "/work/a.js", "errorCount": 0, "messages": [{"severity": 1, "message": "m"}]}]`
	for name, c := range map[string]struct {
		exit   int
		report string
		want   string
	}{
		"an error":           {1, plantedESLint, "1 found"},
		"none":               {0, warned, "0 found"},
		"no parse":           {1, strings.Replace(plantedESLint, `"no-undef"`, "null", 1), "1 found"},
		"sound, with errors": {0, plantedESLint, "exit status 0 does not match its 1 errors: Oops! Error: Cannot find module 'x'"},
		"faulty, with none":  {1, warned, "exit status 1 does not match its 0 errors"},
		"another count":      {1, strings.Replace(plantedESLint, `t": 1`, `t": 2`, 1), "counts 2 errors and lists 1"},
		"no start":           {2, "", "eslint ended with exit status 2: Oops! Error: Cannot find module 'x'"},
		"no start, a report": {2, plantedESLint, "eslint ended with exit status 2"},
		"cut":                {1, plantedESLint[:40], "eslint ended with exit status 1"},
	} {
		res := verifytest.Ended(c.exit, nil, []byte("Oops! Error: Cannot find module 'x'\n"))
		res.Files = map[string][]byte{"/r": []byte(c.report)}
		found, trouble := eslint.read(res, "/r")
		if trouble == "" {
			trouble = fmt.Sprintf("%d found", len(found))
		}
		if !strings.Contains(trouble, c.want) {
			t.Errorf("%s: %s, want %s", name, trouble, c.want)
		}
	}
}

func TestReportOfStylelintMustFitItsExit(t *testing.T) {
	t.Parallel()
	sound := strings.NewReplacer(`"errored": true`, `"errored": false`, `"error"`, `"warning"`).Replace(plantedStylelint)
	for name, c := range map[string]struct {
		exit   int
		report string
		want   string
	}{
		"an error": {2, plantedStylelint, "1 found"}, "none": {0, sound, "0 found"}, "an option": {2, `[{"source": "/work/a.css", "errored": true, "invalidOptionWarnings": [{"text": "t"}]}]`, "1 found"},
		"sound, with errors": {0, plantedStylelint, "exit status 0 does not match its 1 errors: JSONError: x"}, "faulty, with none": {2, sound, "exit status 2 does not match its 0 errors"},
		"it says none": {2, strings.Replace(plantedStylelint, "true", "false", 1), "reports errors in a file as false and lists 1"},
		"no start":     {78, plantedStylelint, "stylelint ended with exit status 78: JSONError: x"}, "cut": {2, plantedStylelint[:40], "stylelint ended with exit status 2"},
	} {
		res := verifytest.Ended(c.exit, nil, []byte("JSONError: x\n"))
		res.Files = map[string][]byte{"/r": []byte(c.report)}
		found, trouble := stylelint.read(res, "/r")
		if trouble == "" {
			trouble = fmt.Sprintf("%d found", len(found))
		}
		if !strings.Contains(trouble, c.want) {
			t.Errorf("%s: %s, want %s", name, trouble, c.want)
		}
	}
}

func TestConfigurationOfALinterIsFollowed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`import a from "./a"; const b = require('../b.cjs');`:                         "./a ../b.cjs",
		`{"extends": ["stylelint-config-standard", "./c.json"], "files": ["./d.js"]}`: "./c.json",
		"extends:\n  - ./e.yml\n  - standard\nplugins: ./f.js\nrules:\n  - ./g.js\n":  "./e.yml ./f.js",
		"module.exports = { extends: './h.js', customSyntax: './i.js' }":              "./h.js ./i.js",
		"import './only.js';": "./only.js", "rules: {}": "",
	} {
		if got := strings.Join(configNames(text), " "); got != want {
			t.Errorf("%q is made of %q, want %q", text, got, want)
		}
	}
}

func TestESLintIsStartedAsTheBaseSays(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"package.json": `{"devDependencies": {"eslint": "9"}, "scripts": {"lint": "eslint src --fix"}}`, "web/package.json": `{"scripts": {"lint": "eslint ."}}`,
		"eslint.config.js": "", "src/a.js": "",
	})
	cs := verifytest.Change(t, base, map[string]string{"package.json": `{}`, "eslint.config.js": "export default [];\n", "web/.eslintrc.json": "{}"})
	var uses []string
	for _, u := range eslint.uses(check.NewView(base, cs)) {
		uses = append(uses, fmt.Sprint(u.root, without(u.args, eslint.options)))
	}
	if want := []string{".[src]", "web[.]"}; !slices.Equal(uses, want) {
		t.Errorf("%q, want %q", uses, want)
	}
}

// If nothing in the project starts a linter, the linter is not a promise of the project: only certain faults count.
func TestALinterThatNothingStartsJudgesFaultsAlone(t *testing.T) {
	t.Parallel()
	pkg := func(rest string) string { return `{"devDependencies": {"eslint": "9"}` + rest + `}` }
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":            {map[string]string{"package.json": pkg(``)}, "[] assumed"},
		"another linter":     {map[string]string{"package.json": pkg(`, "scripts": {"check": "gts lint", "test": "mocha"}`)}, "[] assumed"},
		"a script to mend":   {map[string]string{"package.json": pkg(`, "scripts": {"fix": "eslint --fix src"}`)}, "[]"},
		"a script to check":  {map[string]string{"package.json": pkg(`, "scripts": {"check": "tsc && eslint src --ext .ts"}`)}, "[src --ext .ts]"},
		"before the tests":   {map[string]string{"package.json": pkg(`, "scripts": {"test": "eslint lib && mocha"}`)}, "[lib]"},
		"a build server":     {map[string]string{"package.json": pkg(``), ".github/workflows/ci.yml": "      - run: npx eslint .\n"}, "[]"},
		"a hook":             {map[string]string{"package.json": pkg(`, "lint-staged": {"*.js": ["eslint --fix"]}`)}, "[]"},
		"a hook of the root": {map[string]string{"package.json": `{"lint-staged": {"*.js": "eslint"}}`, "web/package.json": pkg(``)}, "web[]"},
		"a name beside it":   {map[string]string{"package.json": pkg(``), ".github/workflows/ci.yml": "      - run: npm i eslint-config-x\n"}, "[] assumed"},
	} {
		c.files["eslint.config.js"], c.files["a.js"] = "", ""
		var uses []string
		for _, u := range eslint.uses(check.NewView(verifytest.Scan(t, c.files), workspace.Changeset{})) {
			text := fmt.Sprint(strings.TrimPrefix(u.root, "."), without(u.args, eslint.options))
			if u.assumed {
				text += " assumed"
			}
			uses = append(uses, text)
		}
		if got := strings.Join(uses, ", "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A finding that no command of the project asks for is an opinion, unless it is a fault in any style.
func TestOpinionsThatNobodyAskedForDoNotCount(t *testing.T) {
	t.Parallel()
	found := []check.Finding{{File: "a.js", Rule: "prefer-arrow-callback"}, {File: "a.js", Rule: "no-undef"}, {File: "b.js", Rule: "parse"}, {File: "b.js", Rule: "@typescript-eslint/no-explicit-any"}}
	for name, c := range map[string]struct {
		linter packageLinter
		use    packageUse
		want   string
		noted  bool
	}{
		"asked for":         {eslint, packageUse{}, "prefer-arrow-callback no-undef parse @typescript-eslint/no-explicit-any", false},
		"not asked for":     {eslint, packageUse{assumed: true}, "no-undef parse", true},
		"without such ones": {stylelint, packageUse{assumed: true}, "prefer-arrow-callback no-undef parse @typescript-eslint/no-explicit-any", false},
	} {
		counted, note := c.linter.counted(c.use, found)
		var rules []string
		for _, f := range counted {
			rules = append(rules, f.Rule)
		}
		if got := strings.Join(rules, " "); got != c.want || (note != "") != c.noted {
			t.Errorf("%s: %q, noted %q, want %q", name, got, note, c.want)
		}
	}
}
