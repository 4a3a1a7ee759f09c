package trial

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

// library has a function that most patches below remove, and left is the rest of it.
const (
	library = "\"\"\"Texts.\"\"\"\n\nfrom os import path\n\n\ndef strip(text):\n    \"\"\"Strip it.\"\"\"\n    return text[1:]\n\n\ndef keep(text):\n    \"\"\"Keep it.\"\"\"\n    return text\n"
	left    = "\"\"\"Texts.\"\"\"\n\nfrom os import path\n\n\ndef keep(text):\n    \"\"\"Keep it.\"\"\"\n    return text\n"
)

func TestNamesThatAreGoneWithAPatch(t *testing.T) {
	t.Parallel()
	const index, listed, unlisted = "lib/__init__.py", "from .text import keep, strip\n\n__all__ = [\"keep\", \"strip\"]\n", "from .text import keep\n\n__all__ = [\"keep\"]\n"
	base := map[string]string{"lib/text.py": library, "tests/test_text.py": "", "lib/old.js": "export function ancient() {}\n", "lib/b.go": "package lib\n\nfunc Strip() {}\n"}
	for name, c := range map[string]struct {
		more  map[string]string // in the base
		patch map[string]string // "" deletes
		want  string
	}{
		"taken away":                   {patch: map[string]string{"lib/text.py": left}, want: "strip"},
		"with what names it":           {more: map[string]string{index: listed}, patch: map[string]string{"lib/text.py": left, index: unlisted}, want: "strip"},
		"still imported":               {more: map[string]string{index: listed}, patch: map[string]string{"lib/text.py": left}},
		"still looked up":              {more: map[string]string{"a.py": "getattr(lib, 'strip')\n"}, patch: map[string]string{"lib/text.py": left}},
		"still tested":                 {more: map[string]string{"tests/test_b.py": "def test_b():\n    assert strip\n"}, patch: map[string]string{"lib/text.py": left}},
		"still in a configuration":     {more: map[string]string{"pyproject.toml": "[project.scripts]\nx = \"lib.text:strip\"\n"}, patch: map[string]string{"lib/text.py": left}},
		"in prose and comments":        {more: map[string]string{"README.md": "strip\n", "a.py": "x = 1  # no strip\n", "b.js": "/* strip */\n"}, patch: map[string]string{"lib/text.py": left}, want: "strip"},
		"documented otherwise":         {patch: map[string]string{"lib/text.py": strings.Replace(left, "Keep it.", "Keep it. There is no other any more.", 1), "CHANGES.md": "- no strip\n"}, want: "strip"},
		"under another name":           {patch: map[string]string{"lib/text.py": strings.Replace(library, "def strip", "def trim", 1)}},
		"under the name of another":    {patch: map[string]string{"lib/text.py": strings.Replace(left, "return text", "return text[1:]", 1)}},
		"its body for another one's":   {more: map[string]string{"lib/c.py": "def keep2(text):\n    return text\n\n\ndef strip2(text):\n    return text[1:]\n"}, patch: map[string]string{"lib/c.py": "def keep2(text):\n    return text[1:]\n"}},
		"what guarded it":              {more: map[string]string{"lib/c.py": "def keep2(text):\n    if strip2(text):\n        return text\n"}, patch: map[string]string{"lib/c.py": "def keep2(text):\n    return text\n"}},
		"after a method that goes":     {more: map[string]string{"lib/c.py": "class C:\n    def one(self):\n        pass\n\n    def two(self):\n        pass\n\n\ndef strip2():\n    pass\n\n\ndef keep2():\n    pass\n"}, patch: map[string]string{"lib/c.py": "class C:\n    def one(self):\n        pass\n\n\ndef keep2():\n    pass\n"}, want: "strip2 two"},
		"with a word of a condition":   {more: map[string]string{"a.py": "if not path.ancient:\n    pass\n"}, patch: map[string]string{"lib/text.py": left, "a.py": "if path.ancient:\n    pass\n"}},
		"out of a condition":           {more: map[string]string{"a.py": "if legacy and not ready:\n    pass\n"}, patch: map[string]string{"a.py": "if ready:\n    pass\n"}},
		"with a call of another":       {more: map[string]string{"a.py": "print(path.exists(keep))\n"}, patch: map[string]string{"lib/text.py": left, "a.py": "print(path.exists)\n"}},
		"with an item of a list":       {more: map[string]string{"a.py": "SIZES = [1, 2]\n"}, patch: map[string]string{"lib/text.py": left, "a.py": "SIZES = [1]\n"}},
		"a parameter":                  {more: map[string]string{"a.py": "def work(one, legacy=None):\n    pass\n"}, patch: map[string]string{"a.py": "def work(one):\n    pass\n"}, want: "legacy"},
		"with another in its place":    {patch: map[string]string{"lib/text.py": left + "\n\ndef trim(text):\n    return text\n"}},
		"with a file beside it":        {patch: map[string]string{"lib/text.py": left, "lib/trim.py": "def trim(text):\n    return text\n"}},
		"moved":                        {patch: map[string]string{"lib/text.py": "", "lib/words.py": library}},
		"put into its caller":          {more: map[string]string{"a.py": "print(strip('a'))\n"}, patch: map[string]string{"lib/text.py": left, "a.py": "print('a'[1:])\n"}},
		"for a name of a package":      {more: map[string]string{"a.py": "print(strip('a'))\n"}, patch: map[string]string{"lib/text.py": left, "a.py": "print(dedent('a'))\n"}},
		"with a string that differs":   {patch: map[string]string{"lib/text.py": left, "lib/old.js": "export function ancient() { return 'x' }\n"}},
		"with another configuration":   {more: map[string]string{"a.toml": "x = 1\n"}, patch: map[string]string{"lib/text.py": left, "a.toml": "x = 2\n"}},
		"a text that only looks alike": {patch: map[string]string{"lib/text.py": strings.Replace(left, "    return text\n", "    return \"\"\"strip\"\"\"\n", 1)}},
		"a file of it":                 {patch: map[string]string{"lib/old.js": ""}, want: "ancient"},
		"of Go":                        {patch: map[string]string{"lib/b.go": "package lib\n"}, want: "Strip"},
		"another test":                 {patch: map[string]string{"tests/test_text.py": "def test_a():\n    pass\n"}},
	} {
		files := maps.Clone(base)
		maps.Copy(files, c.more)
		m := verifytest.Scan(t, files)
		cs := workspace.Changeset{}
		for _, p := range slices.Sorted(maps.Keys(c.patch)) {
			if _, there := files[p]; there && c.patch[p] == "" {
				cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Delete, Path: p, Before: []byte(files[p])})
			} else {
				cs.Changes = append(cs.Changes, verifytest.Change(t, m, map[string]string{p: c.patch[p]}).Changes...)
			}
		}
		var got []string
		program := SplitPatch(m, cs).Program
		for w := range lastWords(program, check.NewView(m, cs)) {
			got = append(got, w)
		}
		if slices.Sort(got); strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestATestThatWentWithItsSubjectIsShown has tests that are gone, some of them with the function that they test.
func TestATestThatWentWithItsSubjectIsShown(t *testing.T) {
	t.Parallel()
	const text = "from lib import keep, strip\n\ndef test_a():\n    assert strip(1)\n\ndef test_b():\n    assert keep(1)\n\ndef test_c():\n    assert strip(2)\n"
	gone := map[string]bool{"strip": true}
	for name, c := range map[string]struct {
		names   map[string]bool
		old     *check.Outcome // its old form on the patched program
		shown   bool
		blocked bool // by another finding
	}{
		"its name is missing":         {gone, ended("tests/test_t.py::test_a failed NameError: name 'strip' is not defined"), true, false},
		"its file does not load":      {gone, ended("tests/test_t.py error ImportError: cannot import name 'strip' from 'lib'"), true, false},
		"its directory does not":      {gone, ended("tests error undefined: strip"), true, false},
		"no class is told":            {gone, ended("tests/test_t.py::test_a failed lib.strip is not a function"), true, false},
		"another name is missing":     {gone, ended("tests/test_t.py::test_a failed NameError: name 'keep' is not defined"), false, false},
		"its file lacks another name": {gone, ended("tests/test_t.py error ImportError: cannot import name 'keep' from 'lib'"), false, false},
		"it asserts something":        {gone, ended("tests/test_t.py::test_a failed assert strip == 1"), false, false},
		"it passes":                   {gone, ended("tests/test_t.py::test_a passed"), false, false},
		"it did not run":              {gone, ended(), false, false},
		"the name is not gone":        {nil, ended("tests/test_t.py::test_a failed NameError: name 'strip' is not defined"), false, false},
		"beside another that is gone": {gone, ended("tests/test_t.py error ImportError: cannot import name 'strip' from 'lib'"), true, true},
	} {
		lost := []string{"tests/test_t.py::test_a"}
		if c.blocked {
			lost = append(lost, "tests/test_t.py::test_b", "tests/test_t.py::test_c")
		}
		base, cand := ended(kept...), ended(kept...)
		g := check.Gate{Verdict: check.Policy}
		for _, id := range lost {
			base.Tests = append(base.Tests, check.TestResult{ID: id, Outcome: "passed"})
			g.Findings = append(g.Findings, check.Finding{File: "tests/test_t.py", Rule: compare.RuleTestRemoved, Message: compare.Removed(id)})
		}
		before := check.OnBase(verifytest.Scan(t, map[string]string{"tests/test_t.py": text}))
		tried := &Trial{Old: c.old, Names: c.names, Before: before}
		tried.Old.Tests = append(tried.Old.Tests, cand.Tests...)
		d := check.Diff{Touched: map[string]bool{"tests/test_t.py": true}}
		if c.shown && tried.Ask(g, *base, *cand, d) {
			t.Errorf("%s: asks for %q", name, tried.Asked())
		}
		g = tried.Judge(g, *base, *cand, d)
		shown := slices.ContainsFunc(tried.Holds, func(h policy.Hold) bool {
			return h.Kind == policy.ChangedTest && !h.Block && strings.Contains(h.Reason, "test_a is removed with its subject") && strings.Contains(h.Reason, "the same of 1 more") == c.blocked
		})
		if shown != c.shown || (g.Verdict == check.Pass) != (c.shown && !c.blocked) || c.blocked && (len(g.Findings) != 1 || !strings.Contains(g.Findings[0].Message, "test_b")) {
			t.Errorf("%s: %s %+v, holds %+v", name, g.Verdict, g.Findings, tried.Holds)
		}
	}
}
