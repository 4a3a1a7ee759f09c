package verify

import (
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

// A suppression blocks where a gate reports something that counts without it, which is
// measured in real boxes, and where nobody can tell.
func TestASuppressionBlocksOnlyWhereItHides(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.py": "def f(x: int) -> int:\n    return x\n", "mypy.ini": "[mypy]\n", "old.py": "import sys\n",
		".github/workflows/ci.yml": "run: bandit -r .\n", "run.sh": "echo hello\n",
	}
	s := newSite(t, files)
	for name, c := range map[string]struct {
		path, text string
		blocks     string // the lines of those that block, as the formatter leaves them
	}{
		"hides a fault of ruff":            {"a.py", "import os  # noqa: F401\n" + files["a.py"], "1"},
		"hides one of mypy":                {"a.py", files["a.py"] + "f(\"\")  # type: ignore\n", "5"},
		"hides one of shellcheck":          {"run.sh", "# shellcheck disable=SC2154\n[ $undefined = 1 ] && echo hello\n", "1"},
		"hides what no gate counts":        {"a.py", files["a.py"] + "f(1)  # noqa: E501\n", ""},
		"hides nothing":                    {"a.py", files["a.py"] + "f(1)  # type: ignore\n", ""},
		"hides what was there":             {"old.py", "import sys  # noqa: F401\n", ""},
		"of a tool that nobody uses":       {"a.py", files["a.py"] + "f(1)  # pylint: disable=all-of-it\n", ""},
		"of a tool that is not asked here": {"a.py", files["a.py"] + "f(1)  # nosec\n", "5"},
		"of a file":                        {"a.py", "# ruff: noqa\n" + files["a.py"], "1"},
		"one hides, one in its file":       {"a.py", "import os  # noqa: F401\n" + files["a.py"] + "f(1)  # noqa: E501\n", "1 8"},
	} {
		r := s.judge(t, verifytest.Change(t, s.base, map[string]string{c.path: c.text}))
		var blocks []string
		found := 0
		for _, h := range policy.Review(t.Context(), s.base, r.Changeset, nil, r.Holds) {
			if h.Kind == policy.Suppression {
				found++
			}
			if h.Kind == policy.Suppression && h.Block {
				blocks = append(blocks, strings.Fields(h.Reason)[1])
			}
		}
		slices.Sort(blocks)
		if got := strings.Join(blocks, " "); r.Verdict != check.Pass || got != c.blocks || found == 0 {
			t.Errorf("%s: %s, %d held, blocking %q: %+v %+v", name, r.Verdict, found, got, r.Holds, r.Gates)
		}
	}
}
