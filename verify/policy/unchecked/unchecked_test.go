package unchecked

import (
	"strings"
	"testing"

	"agent/sandbox/workspace/lang"
)

// stock is a module with types.
const stock = `from typing import Any


class Stock:
    def __init__(self) -> None:
        self.items: dict[str, int] = {}

    def level(self, name: str) -> int:
        return self.items.get(name, 0)


def report(stock: Stock, long: bool = False) -> str:
    count = stock.level("a")
    return f"{count}"
`

// found lists the lines of one file that Find reports, counted from 1.
func found(path, before, after string) (lines []int) {
	l := lang.Of(path)
	f := File{Path: path, Family: l.Family, Before: l.Lex(before), After: l.Lex(after), Created: before == ""}
	for _, p := range Find([]File{f}) {
		lines = append(lines, p.Line+1)
	}
	return lines
}

func TestWhatTypeCheckersPassOver(t *testing.T) {
	t.Parallel()
	within := func(old, new string) [2]string { return [2]string{stock, strings.Replace(stock, old, new, 1)} }
	method, ret := "    def level", "    return f\"{count}\"\n"
	for name, c := range map[string][2]string{
		"any attribute":                 within(method, "    def __getattr__(self, name: str) -> Any:\n        raise AttributeError(name)\n\n"+method),
		"quoted":                        within(method, "    def __getattr__(self, name: str) -> \"Any\":\n        msg = name\n        raise RuntimeError(msg)\n\n"+method),
		"of every lookup":               within(method, "    def __getattribute__(self, name: str) -> typing.Any:\n        return super().__getattribute__(name)\n\n"+method),
		"for checkers":                  within(method, "    if TYPE_CHECKING:\n        def __getattr__(self, name: str) -> Any: ...\n\n"+method),
		"another name for it":           within(method, "    def __getattr__(self, name: str) -> N:\n        return object.__getattribute__(self, name)\n\n"+method+"  # x\n\nN = Any\n"),
		"of a module":                   within("\n\nclass Stock", "\n\ndef __getattr__(name: str) -> Any:\n    raise AttributeError(name)\n\n\nclass Stock"),
		"of a class beside":             within("\n\nclass Stock", "\n\nclass Loose:\n    def __getattr__(self, name: str) -> Any:\n        raise AttributeError(name)\n\n\nclass Stock"),
		"old Python":                    within(ret, "    if PY2 and long:\n        return stock.levle\n"+ret),
		"not new Python":                within(ret, "    if not flags.PY3:\n        return stock.levle\n"+ret),
		"by an operator":                within(ret, "    x = PY2 and stock.levle\n"+ret),
		"checkers in a function":        within(ret, "    if not TYPE_CHECKING:\n        return stock.levle\n"+ret),
		"an operator of it":             within(ret, "    x = TYPE_CHECKING or stock.levle\n"+ret),
		"another sys":                   within(ret, "    if sys.platform == 'win32':\n        return stock.levle\n"+ret+"import shop.flags as sys\n"),
		"a decorator that gives any":    within(method, "    @timed\n"+method+"2(self) -> int: ...\n\n    def x"),
		"a decorator that says nothing": {stock, strings.Replace(stock, method, "    @timed\n"+method, 1) + "\n\ndef timed(f):\n    return f\n"},
	} {
		if name == "a decorator that gives any" {
			c = [2]string{stock, strings.Replace(stock, method, "    @timed\n"+method, 1) + "\n\ndef timed(f: Callable[..., Any]) -> Any:\n    return f\n"}
		}
		if got := found("a.py", c[0], c[1]); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, c := range [][3]string{
		{"a.d.ts", "", "interface Object {\n  levle(name: string): number;\n}\n"},
		{"a.d.ts", "", "interface Object { levle(name: string): number }\n"},
		{"a.d.ts", "interface Window {}\n", "interface Window {}\ninterface Array<T> {\n  levle: T;\n}\n"},
		{"a.ts", "export const a = 1;\n", "export const a = 1;\ndeclare global {\n  interface String {\n    levle(): number;\n  }\n}\n"},
		{"a.ts", "export interface Stock {\n  a: string;\n}\n", "export interface Stock {\n  a: string;\n  [k: string]: any;\n}\n"},
		{"a.ts", "class Stock {\n  a = 1;\n}\n", "class Stock {\n  [k: string]: any;\n  a = 1;\n  f() { if (x) { y(); } }\n}\n"},
		{"a.ts", "interface Stock {\n  a: string;\n}\n", "interface Stock extends Record<string, any> {\n  a: string;\n}\n"},
		{"a.d.ts", "", "declare module \"*\";\n"},
		{"a.d.ts", "", "declare module './*' {\n  const x: any;\n}\n"},
	} {
		if got := found(c[0], c[1], c[2]); len(got) != 1 {
			t.Errorf("%q: %v", c[2], got)
		}
		if got := found(c[0], c[2], c[2]); len(got) != 0 {
			t.Errorf("%q, which was there: %v", c[2], got)
		}
	}
}

// Code that people write for other reasons is not reported.
func TestWhatTypeCheckersStillSee(t *testing.T) {
	t.Parallel()
	method, ret, top := "    def level", "    return f\"{count}\"\n", "\n\nclass Stock"
	for name, c := range map[string][2]string{
		"attributes of another":         {method, "    def __getattr__(self, name: str) -> Any:\n        return getattr(self._x, name)\n\n" + method},
		"attributes that are there":     {method, "    def __getattr__(self, name: str) -> Any:\n        if name in self.items:\n            return self.items[name]\n        raise AttributeError(name)\n\n" + method},
		"a message":                     {method, "    def __getattr__(self, name: str) -> NoReturn:\n        raise AttributeError(name)\n\n" + method},
		"no types":                      {method, "    def __getattr__(self, name):\n        raise AttributeError(name)\n\n" + method},
		"what is not installed":         {top, "\n\nclass Missing:\n    def __getattr__(self, name: str) -> Any:\n        raise ImportError(name)\n" + top},
		"what a module had":             {top, "\n\ndef __getattr__(name: str) -> Any:\n    if name == 'old':\n        return Stock\n    raise AttributeError(name)\n" + top},
		"a lookup that is counted":      {method, "    def __getattribute__(self, name: str) -> Any:\n        count(name)\n        return super().__getattribute__(name)\n\n" + method},
		"a version":                     {ret, "    if mode is Version.PY2:\n        return ''\n" + ret},
		"a name that begins so":         {ret, "    if PY310 and long:\n        return ''\n" + ret},
		"a system":                      {ret, "    if sys.platform == 'win32':\n        return ''\n" + ret + "import sys\n"},
		"for checkers alone":            {ret, "    if TYPE_CHECKING:\n        assert stock\n" + ret},
		"what is new at the top":        {top, "\n\nif not TYPE_CHECKING:\n    fast = load()\n" + top},
		"a base for checkers":           {top, "\n\nBase = Generic[T] if TYPE_CHECKING else object\n" + top},
		"a decorator with types":        {method, "    @timed\n" + method},
		"a decorator of another module": {method, "    @cache\n" + method},
	} {
		after := strings.Replace(stock, c[0], c[1], 1) + "\n\ndef timed(f: Callable[P, R]) -> Callable[P, R]:\n    return f\n"
		if got := found("a.py", stock, after); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	loose := "def a(x):\n    pass\n\n\ndef b(x: int) -> int:\n    return x\n"
	if got := found("a.py", loose, "def timed(f):\n    return f\n\n\n"+strings.Replace(loose, "def b", "@timed\ndef b", 1)); len(got) != 0 {
		t.Errorf("a decorator where types are rare: %v", got)
	}
	if got := found("a.py", "x = 1\n", "x = 1\nif PY2:\n    text = unicode\nelif not PY3:\n    pass\n"); len(got) != 0 {
		t.Errorf("a program of both: %v", got)
	}
	for _, c := range [][3]string{
		{"a.d.ts", "", "export {};\ndeclare global {\n  interface Window {\n    stock: Stock;\n  }\n}\n"},
		{"a.d.ts", "", "interface Array<T> {\n  findLast(f: (x: T) => boolean): T | undefined;\n  at(n: number): T;\n}\n"},
		{"a.ts", "", "export interface Map {\n  levle: number;\n}\n"},
		{"a.ts", "", "declare global {\n  interface String {\n    levle(): number;\n  }\n}\nString.prototype.levle = function () { return 1; };\nexport {};\n"},
		{"a.ts", "let a = 1;\n", "interface Props {\n  [k: string]: any;\n}\n"},
		{"a.ts", "interface Props {\n  a: number;\n}\n", "interface Props {\n  a: number;\n  [k: string]: number;\n}\n"},
		{"a.ts", "class A {\n  a() {}\n}\n", "class A {\n  a() { const x: { [k: string]: any } = {}; }\n  b(): { [k: string]: any } {}\n}\n"},
		{"a.d.ts", "", "declare module \"*.svg\";\ndeclare module \"virtual:*\";\ndeclare module \"*?raw\";\ndeclare module \"@theme/*\";\ndeclare module '*.module.css' {}\n"},
	} {
		if got := found(c[0], c[1], c[2]); len(got) != 0 {
			t.Errorf("%q: %v", c[2], got)
		}
	}
}
