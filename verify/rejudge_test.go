package verify

import "testing"

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
