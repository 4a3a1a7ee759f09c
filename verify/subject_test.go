package verify

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

// A test that is removed together with its subject is shown. It is missed if the subject is still there, under any name. Both are missed
// if only a model says that they are void.
func TestATestRemovedWithItsSubjectIsShown(t *testing.T) {
	t.Parallel()
	const keep = "\n\ndef keep(text: str) -> str:\n    return text\n"
	const tested = "\n\ndef test_strip() -> None:\n    assert lib.text.strip(\" a\") == \"a\"\n"
	const goKeep, goTwice = "package lib\n\nfunc Keep(s string) string { return s }\n", "\nfunc Twice(s string) string { return s + s }\n"
	const goTest = "package lib\n\nimport \"testing\"\n\nfunc TestKeep(t *testing.T) {\n\tif got := Keep(\"a\"); got != \"a\" {\n\t\tt.Error(got)\n\t}\n}\n"
	s := newSite(t, map[string]string{
		"lib/__init__.py": "", "lib/text.py": "def strip(text: str) -> str:\n    return text[1:]\n" + keep,
		"tests/test_keep.py":  "import lib.text\n\n\ndef test_keep() -> None:\n    assert lib.text.keep(\"a\") == \"a\"\n" + tested,
		"tests/test_strip.py": "from lib.text import strip\n\n\ndef test_alone() -> None:\n    assert strip(\" a\") == \"a\"\n",
		"go.mod":              "module example.com/lib\n\ngo 1.24\n", "lib.go": goKeep + goTwice,
		"lib_test.go": goTest + "\nfunc TestTwice(t *testing.T) {\n\tif got := Twice(\"a\"); got != \"aa\" {\n\t\tt.Error(got)\n\t}\n}\n",
	})
	without := map[string]string{"tests/test_keep.py": "import lib.text\n\n\ndef test_keep() -> None:\n    assert lib.text.keep(\"a\") == \"a\"\n"}
	for name, c := range map[string]struct {
		files map[string]string
		gone  string // a file that is deleted
		model bool
		want  check.Verdict
		shown []string
	}{
		"removed":        {map[string]string{"lib/text.py": strings.TrimLeft(keep, "\n")}, "tests/test_strip.py", false, check.Pass, []string{"tests/test_keep.py", "tests/test_strip.py"}},
		"by a model":     {map[string]string{"lib/text.py": strings.TrimLeft(keep, "\n")}, "tests/test_strip.py", true, check.Policy, nil},
		"renamed":        {map[string]string{"lib/text.py": "def trim(text: str) -> str:\n    return text[1:]\n" + keep}, "tests/test_strip.py", false, check.Policy, nil},
		"still there":    {nil, "tests/test_strip.py", false, check.Policy, nil},
		"removed, in Go": {map[string]string{"lib.go": goKeep, "lib_test.go": goTest, "tests/test_keep.py": without["tests/test_keep.py"] + tested}, "", false, check.Pass, []string{"lib_test.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cs workspace.Changeset
			for _, files := range []map[string]string{without, c.files} {
				for p, text := range files {
					cs.Changes = slices.DeleteFunc(cs.Changes, func(x workspace.Change) bool { return x.Path == p })
					cs.Changes = append(cs.Changes, verifytest.Change(t, s.base, map[string]string{p: text}).Changes...)
				}
			}
			if c.gone != "" {
				cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Delete, Path: c.gone, Before: []byte(check.OnBase(s.base).Text(c.gone))})
			}
			req := s.request(cs)
			req.Model = c.model
			r, err := s.verifier.Verify(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			g := find(t, r, check.GateTests)
			var shown []string
			for _, h := range r.Holds {
				if h.Kind == policy.ChangedTest && strings.Contains(h.Reason, "removed with its subject") && !h.Block {
					shown = append(shown, h.Path)
				}
			}
			if slices.Sort(shown); g.Verdict != c.want || !slices.Equal(shown, c.shown) {
				t.Errorf("%s %+v, shown %q of %+v", g.Verdict, g.Findings, shown, r.Holds)
			}
		})
	}
}
