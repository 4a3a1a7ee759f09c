package certain

import (
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// viewOf returns a view of files as the base has them.
func viewOf(t *testing.T, files map[string]string) check.View {
	t.Helper()
	return check.NewView(verifytest.Scan(t, files), workspace.Changeset{})
}

func TestOnlyCertainFaultsCountWhereNobodyChecksTypes(t *testing.T) {
	t.Parallel()
	v := viewOf(t, map[string]string{
		"a.py":              "def f():\n    try:\n        import trio\n    except ImportError:\n        x = trios\n    return y\nn: int = ''\n",
		"b.py":              "class Mixin:\n    def run(self): self.assertEqual(1, 1)\nclass T(Mixin): pass\nclass P: pass\nP().given\nP().nowhere\nsetattr(P, 'given', 1)\nclass Q:\n    def __init__(self):\n        self.__hidden: int = 1\n",
		"tests/test_t.py":   "import sys\nsys.path.append('tools')\n",
		"tests/u/test_u.py": "",
		"tests/conftest.py": "import sys\n",
		"more/conftest.py":  "import sys\nsys.path.insert(0, 'tools')\n",
		"more/u/test_u.py":  "",
		"tools/filters.py":  "",
		"tools/kit/a.py":    "",
		"dyn.py":            "globals()['made'] = 1\n",
		"versions.py":       "import sys\nNEW = sys.version_info >= (3, 14)\n\n\ndef f(x): return isinstance(x, ast.Interpolation)\n",
		"pyproject.toml":    "[project]\ndependencies = ['ruamel-yaml']\n",
	})
	finding := func(rule, file string, line int, message string) check.Finding {
		return check.Finding{Rule: rule, File: file, Line: line, Message: message}
	}
	for _, c := range []struct {
		f    check.Finding
		want bool
	}{
		{finding("name-defined", "a.py", 6, `Name "y" is not defined`), true},
		{finding("name-defined", "a.py", 5, `Name "trios" is not defined`), false},
		{finding("import-not-found", "a.py", 3, `Cannot find implementation or library stub for module named "trio"`), false},
		{finding("import-not-found", "b.py", 1, `Cannot find implementation or library stub for module named "ruamel_yaml"`), false},
		{finding("import-not-found", "b.py", 1, `Cannot find implementation or library stub for module named "yamll"`), true},
		{finding("import-not-found", "tests/test_t.py", 2, `Cannot find implementation or library stub for module named "filters"`), false},
		{finding("import-not-found", "tests/test_t.py", 2, `Cannot find implementation or library stub for module named "kit.a"`), false},
		{finding("import-not-found", "tests/test_t.py", 2, `Cannot find implementation or library stub for module named "filter"`), true},
		{finding("import-not-found", "tests/u/test_u.py", 2, `Cannot find implementation or library stub for module named "filters"`), true},
		{finding("import-not-found", "more/u/test_u.py", 2, `Cannot find implementation or library stub for module named "filters"`), false},
		{finding("call-arg", "b.py", 1, `Too many arguments for "f"`), true},
		{finding("attr-defined", "b.py", 2, `"Mixin" has no attribute "assertEqual"`), false},
		{finding("attr-defined", "b.py", 5, `"P" has no attribute "given"`), false},
		{finding("attr-defined", "b.py", 6, `"P" has no attribute "nowhere"`), true},
		{finding("attr-defined", "b.py", 6, `"Q" has no attribute "_Q__hidden"; maybe "__hidden"?`), false},
		{finding("attr-defined", "b.py", 6, `"Q" has no attribute "_Q__hiden"; maybe "__hidden"?`), true},
		{finding("attr-defined", "b.py", 6, `"None" has no attribute "nowhere"`), false},
		{finding("attr-defined", "b.py", 1, `Module "a" has no attribute "x"`), true},
		{finding("attr-defined", "b.py", 1, `Module "dyn" has no attribute "run"`), false},
		{finding("attr-defined", "b.py", 1, `Module "os" has no attribute "pth"; maybe "path"?`), true},
		{finding("attr-defined", "b.py", 1, `Module has no attribute "Interpolation"`), true},
		{finding("attr-defined", "b.py", 1, `Module "ast" has no attribute "Interpolation"`), true},
		{finding("attr-defined", "versions.py", 5, `Module has no attribute "Interpolation"`), false},
		{finding("attr-defined", "versions.py", 5, `Module "ast" has no attribute "Interpolation"`), false},
		{finding("attr-defined", "versions.py", 5, `Module has no attribute "Interpolaton"; maybe "Interpolation"?`), true},
		{finding("attr-defined", "versions.py", 5, `Module "a" has no attribute "x"`), true},
		{finding("arg-type", "b.py", 1, `Argument 1 to "f" has incompatible type "str"; expected "int"`), true},
		{finding("arg-type", "b.py", 1, `Argument 1 to "f" has incompatible type "str"; expected "int | None"`), false},
		{finding("arg-type", "b.py", 1, `Argument 1 to "f" has incompatible type "int"; expected "float"`), false},
		{finding("return-value", "b.py", 1, `Incompatible return value type (got "None", expected "int")`), false},
		{finding("var-annotated", "b.py", 1, `Need type annotation for "cache"`), false},
		{finding("assignment", "b.py", 1, `Incompatible types in assignment (expression has type "str", variable has type "int")`), false},
		{check.Finding{Rule: "assignment", Source: "n: int = ''", Message: `Incompatible types in assignment (expression has type "str", variable has type "int")`}, true},
	} {
		kept := Faults(v, []check.Finding{c.f})
		if (len(kept) == 1) != c.want || c.want && !kept[0].Unasked {
			t.Errorf("%s %s: %+v", c.f.Rule, c.f.Message, kept)
		}
	}
}

func TestAModuleThatTheProjectAskedForIsNoFindingOfMypys(t *testing.T) {
	t.Parallel()
	base := viewOf(t, map[string]string{"pyproject.toml": "[project]\ndependencies = ['feed-sgml (>=1, <2)', 'requests']\n", "a.py": ""}).Base
	v := check.NewView(base, workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "requirements.txt", After: []byte("fresh\n")}}})
	for module, want := range map[string]bool{"feed_sgml": true, "requests": true, "fresh": false, "nowhere": false, "requests.nowhere": false} {
		f := check.Finding{Rule: "import-not-found", Message: `Cannot find implementation or library stub for module named "` + module + `"`}
		if got := Absent(v, f); got != want {
			t.Errorf("%s: %t", module, got)
		}
		if f.Rule = "import-untyped"; Absent(v, f) {
			t.Errorf("%s: %s", module, f.Rule)
		}
	}
}
