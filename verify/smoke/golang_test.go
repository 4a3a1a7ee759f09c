package smoke

import (
	"slices"
	"testing"

	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

func TestGoProgramsAreFound(t *testing.T) {
	t.Parallel()
	const program, library = "// Command.\npackage main\n", "package a\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"root":                 {map[string]string{"go.mod": "", "a.go": program, "main.go": program, "gen.py": "if __name__ == '__main__':\n"}, "main.go"},
		"root, other name":     {map[string]string{"go.mod": "", "b.go": program, "c.go": program}, "b.go"},
		"one command":          {map[string]string{"go.mod": "", "a.go": library, "cmd/x/y.go": program, "cmd/x/in/z.go": library}, "cmd/x/y.go"},
		"two commands":         {map[string]string{"go.mod": "", "cmd/x/main.go": program, "cmd/y/main.go": program}, ""},
		"a library":            {map[string]string{"go.mod": "", "a.go": library, "main_test.go": program}, ""},
		"a library's scripts":  {map[string]string{"go.mod": "", "a.go": library, "gen.go": "//go:build ignore\n\n" + program, "old.go": "// +build ignore\n\n" + program, "plan9.go": "//go:build !linux\n\n" + program, "a_windows.go": program, "doc.go": "/*\npackage main\n*/\n" + library}, ""},
		"for this system":      {map[string]string{"go.mod": "", "a.go": "//go:build linux && go1.18\n\n" + program}, "a.go"},
		"no module":            {map[string]string{"main.go": program}, ""},
		"Python comes first":   {map[string]string{"go.mod": "", "main.go": program, "main.py": ""}, "main.py"},
		"a script of a Go one": {map[string]string{"go.mod": "", "a.go": library, "gen.py": "if __name__ == '__main__':\n"}, "gen.py"},
	} {
		e, err := FindEntry(checktest.View(c.files), check.Toolchain, check.Smoke{})
		if err != nil || e.Path != c.want {
			t.Errorf("%s: %q, %v", name, e.Path, err)
		}
	}
	if e := startGo("cmd/x/y.go"); e.String() != "go run ./cmd/x" || !slices.Contains(e.Build, "./cmd/x") {
		t.Errorf("%+v", e)
	}
}

// A program that did not build before either is not a new crash.
func TestAGoProgramThatDoesNotBuildEndsAtItsStart(t *testing.T) {
	t.Parallel()
	unbuilt := func(stderr string) check.Outcome {
		return goUnbuilt(verifytest.Ended(1, nil, []byte(stderr)), check.Outcome{})
	}
	one := unbuilt("# m\n./main.go:7:2: undefined: x\n")
	g := judge(check.Outcome{}, one, check.Diff{})
	if g.Verdict != check.Fail || len(g.Findings) != 1 || g.Findings[0] != (check.Finding{File: "main.go", Line: 7, Column: 2, Rule: "build", Message: "undefined: x"}) {
		t.Errorf("%+v", g)
	}
	if g = judge(one, one, check.Diff{}); g.Verdict != check.Pass {
		t.Errorf("the same as before: %+v", g)
	}
	if g = judge(one, unbuilt("go: go.mod requires go >= 1.99\n"), check.Diff{}); g.Verdict != check.Fail {
		t.Errorf("another reason: %+v", g)
	}
}
