package audit

import (
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

func TestAChangeOfCommentsHasNoEffect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, before, after string
		want                bool
	}{
		"a comment":                {"a.py", "x = 1\n", "# fixed: off by one\nx = 1\n", true},
		"behind code":              {"a.py", "x = 1\n", "x = 1  # fixed\n", true},
		"another one":              {"a.py", "x = '#'  # old\n", "x = '#'  # new\n", true},
		"that is none":             {"a.py", "x = '# old'\n", "x = '# new'\n", false},
		"blank lines":              {"a.py", "x = 1\ny = 2\n", "x = 1\n\n\ny = 2  \n", true},
		"blank lines in a string":  {"a.py", "x = '''a\nb'''\n", "x = '''a\n\nb'''\n", false},
		"a hash in a string":       {"a.py", "x = '''a\n# b'''\n", "x = '''a\n# c'''\n", false},
		"the depth of a line":      {"a.py", "if x:\n    f()\n    g()\n", "if x:\n    f()\ng()\n", false},
		"the depth of one in Go":   {"a.go", "package a\n\nfunc f() {\nreturn\n}\n", "package a\n\nfunc f() {\n\treturn\n}\n", true},
		"a comment of many lines":  {"a.js", "f();\n", "/*\n * Fixed.\n */\nf();\n", true},
		"before code on its line":  {"a.js", "f();\n", "/* fixed */ f();\n", false},
		"a constraint":             {"a.go", "package a\n", "//go:build linux\n\npackage a\n", false},
		"an interpreter":           {"a.py", "x = 1\n", "#!/usr/bin/env python3\nx = 1\n", false},
		"a suppression":            {"a.py", "import os\n", "import os  # noqa: F401\n", false},
		"one of a whole file":      {"a.py", "import os\n", "# ruff: noqa\nimport os\n", false},
		"more than are shown":      {"a.py", strings.Repeat("x = 1\n", 12), strings.Repeat("x = 1  # noqa\n", 12), false},
		"one that shows only":      {"test_a.py", "import os\n", "import os  # noqa: F401\n", false},
		"code that became comment": {"a.py", "x = 1\ny = 2\n", "x = 1\n# y = 2\n", false},
		"a docstring":              {"a.py", "def f():\n    return 1\n", "def f():\n    'One.'\n    return 1\n", false},
		"shell":                    {"a.sh", "echo a\n", "# Say a.\necho a # a\n", false}, // a here-document may be in it
		"data":                     {"a.yaml", "a: 1\n", "# one\na: 1\n", false},
		"prose":                    {"README.md", "a\n", "b\n", false},
	} {
		cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: c.path, Before: []byte(c.before), After: []byte(c.after), Mode: 0o644}}}
		if got := Inert(cs); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		list := evidenceOf(nil, cs).inert()
		if len(list) == 1 != c.want || c.want && (list[0].Gate != check.GateTests || !strings.Contains(list[0].Reason, "nothing that runs was changed")) {
			t.Errorf("%s: %+v", name, list)
		}
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: "b.py", Mode: 0o644})
		if Inert(cs) || Inert(workspace.Changeset{}) {
			t.Errorf("%s: beside a new file, or without any change", name)
		}
	}
}
