package guard

import (
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit/lex"
)

// usesOf renders how a text uses the name x: the number of uses, or "bound".
func usesOf(t *testing.T, text string, lang lex.Grammar) string {
	t.Helper()
	l, ok := newListing(text, lang)
	if !ok {
		t.Fatalf("%q cannot be read", text)
	}
	refs, bound := l.uses("x")
	if bound {
		return "bound"
	}
	return fmt.Sprint(len(refs))
}

func TestUsesInPython(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = x\nx.y()\n":                             "2",
		"a.x = 'x' # x\n":                            "0",
		"f(x=1)\n":                                   "0",
		"f(a=x, **x)\n":                              "2",
		"f(a, b=1, c=x)\n":                           "1",
		"x[0] = 1\nx.a = 2\n":                        "2",
		"f(x).a = 1\na[x] = 1\n":                     "2",
		"a: x = 1\ndef f(a: x) -> x: ...\n":          "3",
		"class A(x): pass\n":                         "1",
		"@x\ndef f(): ...\n":                         "1",
		"def f(a=x): ...\n":                          "1",
		"for a in x: b\n":                            "1",
		"[a for a in x]\n[x for a in b]\n":           "2",
		"lambda a: x\n":                              "1",
		"if x == 1 and a != x: b\n":                  "2",
		"except_ = x\n":                              "1",
		"__all__ = ['x', \"y\"]\n":                   "1",
		"a = ['x']\n":                                "0",
		"print(f'{x}', f'{{x}}')\n":                  "1",
		"x = 1\n":                                    "bound",
		"a, x = 1, 2\n":                              "bound",
		"(a, x) = 1, 2\n":                            "bound",
		"x += 1\n":                                   "bound",
		"x: int = 1\n":                               "bound",
		"def x(): ...\n":                             "bound",
		"class x: ...\n":                             "bound",
		"def f(a, x): ...\n":                         "bound",
		"async def f(*x): ...\n":                     "bound",
		"def f(x: int = 1): ...\n":                   "bound",
		"for a, x in b: c\n":                         "bound",
		"[a for x in b]\n":                           "bound",
		"lambda a, x: 1\n":                           "bound",
		"with a as x: b\n":                           "bound",
		"if (x := 1): b\n":                           "bound",
		"    from a import (b,\n  x)\n":              "bound",
		"import x\n":                                 "bound",
		"global x\n":                                 "bound",
		"a(" + strings.Repeat("b,", maxReach) + "x)": "bound",
	} {
		if got := usesOf(t, text, lex.PythonGrammar); got != want {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

func TestUsesInScripts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = x; x.y(); f(x)":                 "3",
		"a.x = 'x' // x":                     "0",
		"f(...x, [...x])":                    "2",
		"a = { x: 1 }":                       "0",
		"a = { b: x, x }":                    "2",
		"a ? x : b":                          "1",
		"a ? f(x) : b":                       "1",
		"if (x) { x() }":                     "2",
		"while (f(x)) { a }":                 "1",
		"a = `x ${x}`":                       "1",
		"a = <x.Y z={x}>x</x.Y>":             "2",
		"a = <div x='1'>x</div>":             "0",
		"export { x }":                       "1",
		"export { x } from 'a'":              "0",
		"class A extends x { x() { } }":      "1",
		"a = b as x; let c: x = d":           "2",
		"if (x === 1 || a >= x) { }":         "2",
		"f(() => { x() })":                   "1",
		"const x = 1":                        "bound",
		"const { a, x } = b":                 "bound",
		"let [a, [x]] = b":                   "bound",
		"function x() { }":                   "bound",
		"function f(a, x) { }":               "bound",
		"function f({ x }): A { }":           "bound",
		"(a, x) => a":                        "bound",
		"x => a":                             "bound",
		"f(async ({ x }) => a)":              "bound",
		"class A { f(x: number) { } }":       "bound",
		"class A { f(x?: number) { } }":      "bound",
		"try { } catch (x) { }":              "bound",
		"for (const x of a) { }":             "bound",
		"interface x { }":                    "bound",
		"x = 1":                              "bound",
		"import x from 'm'; x()":             "bound",
		"import x, { a } from 'm'\nx()":      "bound",
		"import a, { b as x } from 'm'\nx()": "bound",
		"import { a, x } from 'm'\nx()":      "bound",
		"import * as x from 'm'\nx()":        "bound",
		"import a, * as x from 'm'\nx()":     "bound",
		"import type x from 'm'\nx()":        "bound",
		"import x = require('m')\nx()":       "bound",
		"import a from 'm'\nx()":             "1",
		"import 'm'\nx()":                    "1",
		"import('m').then(x)":                "1",
		strings.Repeat("[", 2*maxReach) + "x" + strings.Repeat("]", 2*maxReach): "bound",
	} {
		if got := usesOf(t, text, lex.MarkupGrammar); got != want {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

func TestTheLinesRemoved(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"a\nb\nc\n", "a\nc\n", "b\n"},
		{"a\nbx\nc\n", "a\nby\nc\n", "bx"},
		{"a\na\n", "a\n", "a\n"},
		{"a\nb", "a\n", "b"},
		{"import x\nimport y\n", "import y\n", "import x\nimport y"},
		{"a\n", "a\nb\n", ""},
		{"a\nb\nc\nd\n", "A\nb\nC\nd\n", "a\nb\nc"},
	} {
		lo, hi := removed(c[0], c[1])
		if got := c[0][lo:hi]; got != c[2] {
			t.Errorf("%q to %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
