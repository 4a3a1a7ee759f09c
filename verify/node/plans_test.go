package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/node/failing"
	"agent/verify/node/npmscript"
	"agent/verify/verifytest"
)

// kindLetters names the kinds for people who read a test.
var kindLetters = map[npmscript.Kind]string{
	npmscript.General: "run", npmscript.Runs: "tool", npmscript.RunsNode: "node", npmscript.Looks: "look", npmscript.Makes: "make", npmscript.Delegates: "others", npmscript.Foreign: "foreign",
}

func TestScriptsAreFollowedThroughThePackage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scripts map[string]string
		want    string
	}{
		"one after the other": {map[string]string{"test": "xo && ava; tsd"}, "look xo, tool ava, run tsd"},
		"by npm":              {map[string]string{"test": "npm run -s lint && npm run unit -- --x 'a b'", "lint": "eslint .", "unit": "mocha"}, "look eslint ., tool mocha --x 'a b'"},
		"before and after":    {map[string]string{"pretest": "tsc", "test": "mocha", "posttest": "npx npm@'>=10' audit"}, "make tsc, tool mocha, look npx npm@'>=10' audit"},
		"a script before":     {map[string]string{"pretest": "node gen.js", "test": "node test.js"}, "make node gen.js, run node test.js"},
		"in a circle":         {map[string]string{"test": "npm run a", "a": "npm test && mocha"}, "tool mocha"},
		"yarn and pnpm":       {map[string]string{"test": "yarn lint && yarn run b && pnpm c && yarn flow check", "lint": "standard", "b": "rimraf d && rollup -c", "c": "jest"}, "look standard, make rimraf d, make rollup -c, tool jest, look yarn flow check"},
		"npm-run-all":         {map[string]string{"test": "run-s build test:*", "build": "node b.js", "test:a": "mocha a", "test:b": "node --test", "test:b:c": "mocha c"}, "make node b.js, tool mocha a, node node --test"},
		"settings":            {map[string]string{"test": "cross-env A=1 npm run b", "b": "B=2 nyc --reporter lcov mocha"}, "tool B=2 nyc --reporter lcov mocha"},
		"another directory":   {map[string]string{"test": "cd web && mocha"}, "run mocha"},
		"a coverage report":   {map[string]string{"test": "c8 --reporter=text mocha && c8 report && nyc check-coverage"}, "tool c8 --reporter=text mocha, look c8 report, look nyc check-coverage"},
		"other packages":      {map[string]string{"test": "npm test --workspaces && turbo run test && pnpm -r test"}, "others npm test --workspaces, others turbo run test, others pnpm -r test"},
		"a pipe":              {map[string]string{"test": "node t.js | tap-spec && tape t.js | faucet"}, "run node t.js | tap-spec, tool tape t.js"},
		"may fail":            {map[string]string{"test": "node t.js || true"}, "run node t.js || true"},
		"beside the rest":     {map[string]string{"test": "node serve.js & mocha"}, "run node serve.js & mocha"},
		"no shell's":          {map[string]string{"test": "mocha ("}, "run mocha ("},
		"worked out":          {map[string]string{"test": "eslint $(git ls-files) && mocha $(ls) && mocha"}, "look eslint $(git ls-files), run mocha $(ls), tool mocha"},
		"types":               {map[string]string{"test": "tsc --noEmit && tsc -p ."}, "look tsc --noEmit, make tsc -p ."},
		"a browser":           {map[string]string{"test": "karma start && playwright test"}, "foreign karma start, foreign playwright test"},
		"only other scripts":  {map[string]string{"test": "npm run lint", "lint": "xo", "test:unit": "mocha", "test:watch": "mocha -w"}, "look xo, tool mocha"},
		"none of its own":     {map[string]string{"unit": "jest", "tests": "node t.js"}, "run node t.js, tool jest"},
		"tests that are made": {map[string]string{"pretest": "tsc", "test": "node --test dist/*.js && node --test"}, "make tsc, run node --test dist/*.js, node node --test"},
		"tests that are not":  {map[string]string{"test": "node --test dist/*.js && tsc"}, "node node --test dist/*.js, make tsc"},
		"concurrently":        {map[string]string{"test": "concurrently \"npm:t:*\" 'node x.js'", "t:a": "jest"}, "tool jest, run node x.js"},
	} {
		var list []string
		for name, script := range c.scripts {
			list = append(list, fmt.Sprintf("%q: %q", name, script))
		}
		manifest := fmt.Sprintf(`{"devDependencies": {"ava": "1", "mocha": "1", "jest": "1", "tape": "1"}, "scripts": {%s}}`, strings.Join(list, ", "))
		var got []string
		for _, s := range testPlans(check.NewView(verifytest.Scan(t, map[string]string{"package.json": manifest}), workspace.Changeset{}))[0].steps {
			got = append(got, kindLetters[s.Kind]+" "+s.Text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), c.want)
		}
	}
}

// A patch cannot write the command that is to prove it, but a new package brings its own command.
func TestTestCommandsComeFromTheBase(t *testing.T) {
	t.Parallel()
	manifest := func(script string) string { return fmt.Sprintf(`{"scripts": {"test": %q}}`, script) }
	base := verifytest.Scan(t, map[string]string{
		"package.json": manifest("node a.js"), "none/package.json": "{}", "gone/package.json": manifest("node g.js"), "test/fixtures/x/package.json": manifest("node f.js"), "node_modules/y/package.json": manifest("node y.js"),
	})
	cs := check.Plant(map[string]string{"none/package.json": manifest("true.js"), "new/package.json": manifest("node n.js")})
	cs.Changes = append(cs.Changes,
		workspace.Change{Op: workspace.Modify, Path: "package.json", Before: []byte(manifest("node a.js")), After: []byte(manifest("node b.js")), Mode: 0o644},
		workspace.Change{Op: workspace.Delete, Path: "gone/package.json"})
	var got []string
	for _, c := range testCommands(check.NewView(base, cs)) {
		got = append(got, c.id())
	}
	if want := []string{"package.json::test > node a.js", "new/package.json::test > node n.js"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A command is one test, however it ends. One that was broken before proves nothing.
func TestCommandsAreTestsByTheirExit(t *testing.T) {
	t.Parallel()
	ends := func(outcome string, named ...string) check.Outcome {
		command := check.TestResult{ID: "package.json::test > node a.js", Outcome: outcome, Message: "exit status 1"}
		return check.Outcome{Tests: append([]check.TestResult{command}, failing.Results(command, "not ok 1 - "+strings.Join(named, "\nnot ok 2 - "), nil)...)}
	}
	for name, c := range map[string]struct {
		base, cand check.Outcome
		want       check.Verdict
	}{
		"passes":      {ends("passed"), ends("passed"), check.Pass},
		"breaks":      {ends("passed"), ends("failed"), check.Fail},
		"was broken":  {ends("failed"), ends("failed"), ""},
		"is repaired": {ends("failed"), ends("passed"), check.Pass},
		"is new":      {check.Outcome{}, ends("failed"), check.Fail},
		// If a command was broken before, the failing tests that it names count.
		"fails as before":  {ends("failed", "x", "y"), ends("failed", "x", "y"), ""},
		"fails elsewhere":  {ends("failed", "x"), ends("failed", "y"), check.Fail},
		"fails once more":  {ends("failed", "x"), ends("failed", "x", "y"), check.Fail},
		"fails less":       {ends("failed", "x", "y"), ends("failed", "y"), ""},
		"named none":       {ends("failed"), ends("failed", "y"), check.Fail},
		"is repaired, all": {ends("failed", "x", "y"), ends("passed"), check.Pass},
	} {
		if g := judgeCommands(c.base, c.cand, check.Diff{Sources: check.NewSources(check.NewView(&workspace.Manifest{}, workspace.Changeset{}))}); g.Verdict != c.want {
			t.Errorf("%s: %q %s", name, g.Verdict, g.Detail)
		}
	}
}

func TestWhatFailedBeforeIsNamed(t *testing.T) {
	t.Parallel()
	out := check.Outcome{Tests: []check.TestResult{
		{ID: "package.json (build) rimraf lib", Outcome: "failed", Message: "m"}, {ID: "package.json::test > node a.js", Outcome: "failed", Message: "n"}, {ID: "package.json::test > node b.js", Outcome: "passed"},
	}}
	if got := FailedBefore(out, out); !slices.Equal(got, []string{"rimraf lib failed: m", "node a.js failed: n"}) {
		t.Errorf("%q", got)
	}
}

// The reader of scripts uses the same names for the runners as this package.
func TestToolsAreKnownToTheReaderOfScripts(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range packageRunners() {
		names = append(names, r.name)
	}
	if !slices.Equal(names, npmscript.Runners) {
		t.Errorf("%q, want %q", names, npmscript.Runners)
	}
	names = nil
	for _, l := range packageLinters() {
		names = append(names, l.name)
	}
	if !slices.Equal(names, npmscript.Linters) {
		t.Errorf("%q, want %q", names, npmscript.Linters)
	}
}
