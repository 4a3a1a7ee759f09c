package verify

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agent/verify/check"
	"agent/verify/smoke"
	"agent/verify/verifytest"
	"agent/verify/web"
)

func TestBoxesAreCountedBeforeTheyAreStarted(t *testing.T) {
	t.Parallel()
	own := Config{Gates: []CustomGate{{Name: "own", Command: []string{"true"}}, {Name: "sql", Command: []string{"true"}, Languages: []string{"sql"}}}}
	const text, module, program = "notes.txt", "a.py", "main.py"
	for name, c := range map[string]struct {
		base, path string
		config     Config
		want       int
	}{
		"a text that no gate reads":  {text, text, Config{}, 0},
		"a gate of the workspace":    {text, text, own, 1},
		"static gates":               {program, text, Config{}, 2}, // they read the whole workspace; the program has its own
		"a module":                   {module, module, Config{}, 2},
		"a program and its own":      {program, program, own, 3},
		"a program and tests of its": {program, "test_main.py", own, 4},
	} {
		base := verifytest.Scan(t, map[string]string{c.base: "a = 1\n"})
		if got := BoxesFor(Request{Base: base, Changeset: verifytest.Change(t, base, map[string]string{c.path: "b = 2\n"}), Config: c.config}); got != c.want {
			t.Errorf("%s: %d boxes, want %d", name, got, c.want)
		}
	}
}

// TestWhatASurveyHasSeenIsNotLookedForAgain deletes the files after the survey: whatever reads them again fails.
func TestWhatASurveyHasSeenIsNotLookedForAgain(t *testing.T) {
	t.Parallel()
	files := map[string]string{"stock.py": "n = 1\n", "site/index.html": "<p>\n", "tools/tests.py": "import unittest\n\nclass T(unittest.TestCase): pass\n"}
	for _, surveyed := range []bool{true, false} {
		base := verifytest.Scan(t, files)
		cs := verifytest.Change(t, base, map[string]string{"stock.py": "n = 2\n"})
		if surveyed {
			Survey(base, Config{})
		}
		for name := range files {
			if err := os.Remove(filepath.Join(base.Root, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
		s := newSession(&Verifier{}, Request{Base: base, Changeset: cs}, nil)
		groups := s.groups(check.NewView(base, cs))
		_, unknown := s.results.cand[smoke.ProgramName]
		if linked := slices.ContainsFunc(groups[check.GroupStatic], func(c check.Check) bool { return c.Name == web.LinksName }); linked != surveyed || unknown == surveyed {
			t.Errorf("surveyed %t: links %t, program unknown %t", surveyed, linked, unknown)
		}
	}
}
