package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/node"
	"agent/verify/verifytest"
)

func TestESLintIsConfiguredByTheBase(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"package.json": `{"devDependencies": {"eslint": "9"}, "scripts": {"lint": "eslint src --fix"}}`, "web/package.json": `{"scripts": {"lint": "eslint ."}}`,
		"eslint.config.js": "import own from './rules';\nexport default own;\n", "rules/index.js": "module.exports = require('../tools/names.cjs');\n",
		"tools/names.cjs": "", "src/a.js": "", ".gitignore": "",
	})
	cs := verifytest.Change(t, base, map[string]string{
		"package.json": `{}`, "eslint.config.js": "export default [];\n", "web/.eslintrc.json": "{}", "rules.js": "", "tools/names.cjs": "x", "src/a.js": "x", ".gitignore": "src",
	})
	s, _ := offline(base, nil, cs)
	var seen []string
	for _, c := range s.seenBy(checkNamed(node.ESLintName), s.final).Changes {
		seen = append(seen, c.Path)
	}
	if want := []string{"package.json", "src/a.js"}; !slices.Equal(seen, want) {
		t.Errorf("eslint sees %q of the patch, want %q", seen, want)
	}
	if all := s.seenBy(checkNamed(node.JestName), s.final); len(all.Changes) != len(cs.Changes) {
		t.Errorf("the tests see %+v", all)
	}
	if reason := checkNamed(node.ESLintName).Applies(check.NewView(verifytest.Scan(t, map[string]string{"package.json": `{"devDependencies": {"eslint": "9"}}`}), workspace.Changeset{})); reason == "" {
		t.Error("eslint runs without a configuration")
	}
	late := check.Outcome{Verdict: check.Timeout}
	if _, reason := judge(checkNamed(node.ESLintName), late, check.Outcome{Findings: []check.Finding{{Rule: "old"}}}, "", check.Diff{}); !strings.Contains(reason, "not judged") {
		t.Errorf("what nobody could see before is held against the patch: %q", reason)
	}
}

// A key of package.json configures a tool just as a file does.
func TestWhatPackageJSONSaysOfTheJudgesIsThatOfTheBase(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"package.json":     `{"devDependencies": {"eslint": "8"}, "eslintConfig": {"rules": {"eqeqeq": 2}}, "scripts": {"build": "x"}}`,
		"web/package.json": `{"jest": {"bail": true}, "scripts": {"test": "jest", "build": "x"}}`,
		"old/package.json": `{"mocha": {}, "eslintIgnore": []}`, "same/package.json": `{"jest": {"a": 1, "b": 2}}`, "broken/package.json": "{",
	})
	cs := verifytest.Change(t, base, map[string]string{
		"package.json":     `{"devDependencies": {"eslint": "8"}, "eslintConfig": {"rules": {"eqeqeq": 0}}, "scripts": {"build": "y"}}`,
		"web/package.json": `{"jest": {}, "scripts": {"test": "jest --testPathIgnorePatterns a", "test:all": "jest", "build": "y"}}`,
		"old/package.json": "-", "same/package.json": `{ "jest": {"b": 2, "a": 1}, "version": "2" }`, "broken/package.json": `{"name": "b"}`,
		"new/package.json": `{"eslintConfig": {"root": true}}`, "a.js": "",
	})
	s, _ := offline(base, nil, cs)
	var seen []string
	for _, c := range s.seenBy(checkNamed(node.ESLintName), s.final).Changes {
		seen = append(seen, c.Path)
	}
	if want := []string{"a.js", "broken/package.json", "same/package.json", "web/package.json"}; !slices.Equal(seen, want) {
		t.Errorf("eslint sees %q of the patch, want %q", seen, want)
	}
	if reason := checkNamed(node.ESLintName).Applies(check.NewView(base, cs)); reason != "" {
		t.Errorf("a configuration in package.json is none: %s", reason)
	}
}

func TestESLintMayBeTakenAway(t *testing.T) {
	t.Parallel()
	found := check.Outcome{Findings: []check.Finding{{File: "a.js", Rule: "no-undef"}}}
	for name, c := range map[string]struct {
		base, cand check.Outcome
		want       check.Verdict
		reason     string
	}{
		"it is gone":        {found, check.Outcome{Blocked: node.Absent("eslint", ".")}, "", "not judged: eslint of package.json is not installed"},
		"it says it is":     {found, check.Outcome{Blocked: "eslint ended with exit status 2: eslint of package.json is not installed: x"}, check.Fail, ""},
		"it was never here": {check.Outcome{Blocked: node.Absent("eslint", ".")}, check.Outcome{Blocked: node.Absent("eslint", ".")}, "", "not judged: even before"},
		"it breaks":         {check.Outcome{}, check.Outcome{Blocked: "eslint ended with exit status 2"}, check.Fail, ""},
		"it finds":          {check.Outcome{}, found, check.Fail, ""},
		"it found":          {found, found, check.Pass, ""},
	} {
		g, reason := judge(checkNamed(node.ESLintName), c.base, c.cand, "", check.Diff{})
		if g.Verdict != c.want || !strings.Contains(reason, c.reason) || (reason == "") != (c.reason == "") {
			t.Errorf("%s: %q, %q", name, g.Verdict, reason)
		}
	}
}

// What package.json and its scripts say is read from the base. eslint has its own box, which keeps the workspace's code out of the other
// checks' box.
func TestESLintHasABoxOfItsOwn(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"package.json": `{"devDependencies": {"eslint": "9"}}`, "eslint.config.js": "", "a.js": ""})
	s, started := offline(base, nil, verifytest.Change(t, base, map[string]string{"a.js": "x;\n"}))
	for _, j := range s.plan(func() {}) {
		j.do(t.Context())
	}
	if !slices.Contains(*started, node.ESLintName) || !slices.Contains(*started, "baseline-"+node.ESLintName) {
		t.Errorf("boxes %q", *started)
	}
	if checkNamed(node.ESLintName).Inert {
		t.Error("what eslint leaves in its box is trusted")
	}
}

// equipped is a workspace with its own tools, installed from the registry.
var equipped = map[string]string{
	"package.json": `{"devDependencies": {"mocha": "11.7.4", "eslint": "9.37.0", "stylelint": "16.25.0"}, "scripts": {"test": "NODE_OPTIONS=--no-warnings mocha spec --watch", "lint": "eslint . --fix && stylelint '**/*.css' --fix"}}`,
	".stylelintrc": "extends: ./style.yml\n", "style.yml": "rules: {color-no-invalid-hex: true, block-no-empty: true}\n", "a.css": "b {}\n",
	"eslint.config.js": "module.exports = [{ rules: require('./rules') }];\n", "rules.js": "module.exports = { eqeqeq: 'error', 'no-var': 'warn' };\n",
	"sum.js":      "'use strict';\nmodule.exports = (a, b) => a + b;\nmodule.exports.old = (a) => a == 1;\n",
	"spec/sum.js": "const assert = require('assert');\nconst sum = require('../sum');\n\ndescribe('sum', () => {\n  it('adds', () => assert.strictEqual(sum(1, 2), 3));\n  it('fails', () => assert.ok(sum(1, -1)));\n});\n",
}

func TestToolsOfTheWorkspaceJudgeIt(t *testing.T) {
	t.Parallel()
	l := verifytest.Open(t)
	installed, err := l.Builder.Install(t.Context(), l.Toolchain, dependencies.Read(map[string][]byte{"package.json": []byte(equipped["package.json"])}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Engine.RemoveImage(context.WithoutCancel(t.Context()), installed.ID); err != nil {
			t.Error(err)
		}
	})
	s := newSiteOn(t, installed, equipped).only(check.GateLint, check.GateTests)
	r := s.verify(t, map[string]string{
		"sum.js":   strings.Replace(equipped["sum.js"], "a + b", "a - b", 1) + "var warned = 1;\nmodule.exports.more = (a) => a == warned;\n",
		"rules.js": "module.exports = {};\n", "a.css": "b {}\ni { color: #xyz; }\n", "style.yml": "rules: {}\n",
	})
	expect(t, r, check.Fail, check.GateLint, check.GateTests)
	var found []string
	for _, f := range find(t, r, check.GateLint).Findings {
		found = append(found, fmt.Sprintf("%s:%d %s %s", f.File, f.Line, f.Rule, f.Tool))
	}
	if want := []string{"sum.js:5 eqeqeq eslint", "a.css:2 color-no-invalid-hex stylelint"}; !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
	tests := find(t, r, check.GateTests)
	checktest.Single(t, tests, compare.RuleTestFailed, "spec/sum.js", 5)
	if tests.Fixed != 1 || !strings.Contains(tests.Detail, "mocha 11.7.4: 1 passed, 1 failed") {
		t.Errorf("%+v", tests)
	}
	r = s.verify(t, map[string]string{"sum.js": equipped["sum.js"] + "// Sound.\n"})
	expect(t, r, check.Pass)
	if lint := find(t, r, check.GateLint); lint.Old != 2 || find(t, r, check.GateTests).Old != 1 {
		t.Errorf("%+v", r.Gates)
	}
	bare := newSite(t, equipped).only(check.GateLint, check.GateTests).verify(t, map[string]string{"sum.js": equipped["sum.js"] + "// Sound.\n"})
	if expect(t, bare, check.Pass); len(bare.Skipped) == 0 || !strings.Contains(fmt.Sprint(bare.Skipped), "mocha of package.json is not installed: commit a lock file") {
		t.Errorf("%+v", bare)
	}
}
