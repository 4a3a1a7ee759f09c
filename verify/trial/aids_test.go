package trial

import (
	"slices"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/verifytest"
)

// What a runner does not collect by its name is what tests are made of, and is judged so.
func TestWhatIsNoTestIsAnAid(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"tests/a.feature": true, "tests/a.e2e.js": true, "tests/a.cy.ts": true, "tests/a_spec.js": true, "tests/data.json": true, "conftest.py": true,
		"tests/test_a.py": false, "tests/a_test.py": false, "tests/a.spec.tsx": false, "tests/a-test.mjs": false, "tests/a_test.go": false, "src/a.py": false,
	} {
		if got := isAid(p); got != want {
			t.Errorf("%s is an aid of tests: %v", p, got)
		}
	}
}

// A file that the script has the runner collect is a test whatever its name, and what the runner
// loads besides is an aid. A patch cannot make a test of an aid by its own script.
func TestWhatTheBaseCollectsIsATest(t *testing.T) {
	t.Parallel()
	manifest := `{"devDependencies": {"mocha": "11"}, "scripts": {"test": "mocha --require test/support/env test/"}}`
	base := verifytest.Scan(t, map[string]string{"package.json": manifest, "lib.js": "1\n", "test/res.redirect.js": "1\n", "test/support/env.js": "1\n"})
	change := func(p, before, after string) workspace.Change {
		return workspace.Change{Op: workspace.Modify, Path: p, Before: []byte(before), After: []byte(after), Mode: 0o644}
	}
	cs := workspace.Changeset{Changes: []workspace.Change{
		change("lib.js", "1\n", "2\n"), change("test/res.redirect.js", "1\n", "2\n"),
	}}
	if s := SplitPatch(base, cs); len(s.Aids) != 0 || !s.Old || len(s.Program.Changes) != 1 || len(s.Tests.Changes) != 1 {
		t.Errorf("a test: %+v", s)
	}
	cs.Changes = append([]workspace.Change{change("package.json", manifest, `{"devDependencies": {"mocha": "11"}, "scripts": {"test": "mocha test/**/*.js"}}`)}, cs.Changes...)
	cs.Changes = append(cs.Changes, change("test/support/env.js", "1\n", "2\n"))
	slices.SortFunc(cs.Changes, func(a, b workspace.Change) int { return int(a.Path[0]) - int(b.Path[0]) })
	if s := SplitPatch(base, cs); !slices.Contains(s.Aids, "test/support/env.js") || len(s.Aids) != 2 || len(s.Program.Changes) != 1 {
		t.Errorf("an aid: %+v", s)
	}
}

// What is compared with or read is data; what runs, or says what runs, is not, and neither is
// what nobody knows.
func TestWhatRunsBesideTestsIsNoData(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"tests/a.json": true, "testdata/a.yaml": true, "src/__snapshots__/a.js.snap": true, "package.json": false, "tests/conftest.py": false,
		"tests/helpers.py": false, "pyproject.toml": false, "tests/a.so": false, "tests/a": false,
	} {
		if got := isData(p); got != want {
			t.Errorf("%s is data: %v", p, got)
		}
	}
}
