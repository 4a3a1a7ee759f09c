package verify

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
	if program, aids, old := withoutAids(base, cs); len(aids) != 0 || !old || len(program.Changes) != 1 {
		t.Errorf("a test: %+v, aids %q, old %v", program, aids, old)
	}
	cs.Changes = append([]workspace.Change{change("package.json", manifest, `{"devDependencies": {"mocha": "11"}, "scripts": {"test": "mocha test/**/*.js"}}`)}, cs.Changes...)
	cs.Changes = append(cs.Changes, change("test/support/env.js", "1\n", "2\n"))
	slices.SortFunc(cs.Changes, func(a, b workspace.Change) int { return int(a.Path[0]) - int(b.Path[0]) })
	if program, aids, _ := withoutAids(base, cs); !slices.Contains(aids, "test/support/env.js") || len(aids) != 2 || len(program.Changes) != 1 {
		t.Errorf("an aid: %+v, aids %q", program, aids)
	}
}
