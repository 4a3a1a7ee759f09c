package policy

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
)

// weakerTypes has changes after which more is accepted.
var weakerTypes = []textChange{
	{"a.py", "def f(x: int, y: str) -> str:\n    pass\n", "def f(x: Any, y: str) -> str:\n    pass\n"},
	{"a.py", "def f(x: int) -> str:\n    pass\n", "def f(x: int) -> Any:\n    pass\n"},
	{"a.py", "def f(\n    x: dict[str, int],\n) -> str:\n    pass\n", "def f(\n    x: typing.Any,\n) -> str:\n    pass\n"},
	{"a.py", "def f(x: int = 1):\n    pass\n", "def f(x: Any = 1):\n    pass\n"},
	{"a.py", "class A:\n    name: str = \"\"\n", "class A:\n    name: Any = \"\"\n"},
	{"a.py", "x: list[int] = []\n", "x: Any = []\n"},
	{"a.ts", "function f(x: string, y?: number): string {\n", "function f(x: any, y?: number): string {\n"},
	{"a.ts", "function f(x: string): Promise<string> {\n", "function f(x: string): any {\n"},
	{"a.ts", "interface A {\n  name?: string;\n}\n", "interface A {\n  name?: any;\n}\n"},
	{"a.tsx", "const f = (x: Props) => x\n", "const f = (x: any) => x\n"},
	{"a.ts", "const x: Map<string, number> = g();\n", "const x: any = g();\n"},
	{"a.ts", "const y = save(user);\n", "const y = save(user as any);\n"},
	{"a.ts", "return user;\n", "return user as unknown as Admin;\n"},
	{"a.ts", "user.name = 1;\n", "(user as any).name = 1;\n"},
	{"a.ts", "const a = f(x);\n", "const a = f(<any>x);\n"},
	{"a.ts", "const a = f(x);\n", "const a = f(x as never);\n"},
	{"a.ts", "interface A {\n  b: number;\n}\n", "interface A {\n  b: number;\n  [k: string]: any;\n}\n"},
	{"a.py", "def f(x: int) -> str:\n    return g(x)\n", "PY2 = True\n\n\ndef f(x: int) -> str:\n    if PY2:\n        return h(x)\n    return g(x)\n"},
	{"a.py", "class A:\n    b: int = 1\n", "class A:\n    b: int = 1\n\n    def __getattr__(self, name: str) -> Any:\n        raise AttributeError(name)\n"},
	{"a.ts", "const a = f(x);\n", "const a = f(\n  x as any,\n);\n"},
	{"a.ts", "const a = f(x, y);\n", "const a = f(\n  x,\n  y\n    as any,\n)\n"},
	{"a.ts", "g(() => {\n  save(user);\n});\n", "g(() => {\n  save(\n    user as any\n  );\n  more();\n});\n"},
	{"a.ts", "const a: T[] = f([x,\n  y]);\n", "const a = f([x,\n  y]) as unknown as T[];\n"},
	{"a.py", "y = g(x)\n", "y = g(\n    cast(\n        Any,\n        x,\n    )\n)\n"},
	{"a.ts", "const a: T<U> = f(x);\n", "const a = f(x) as unknown as T<U>;\n"},
	{"a.ts", "return f({\n  a,\n});\n", "return f({\n  a,\n  b,\n}) as unknown as T;\n"},
	{"a.ts", "const a: T = f({\n  b,\n});\n", "const a = f({\n  b,\n}) as unknown as T;\n"},
	{"a.py", "def f(x: int) -> int:\n    return g(x)\n", "from typing import Any, cast\n\n\ndef f(x: int) -> int:\n    return g(cast(Any, x))\n"},
	{"a.py", "y = g(x)\n", "y = typing.cast(\"typing.Any\", g(x))\n"},
	{"a.py", "from b import g\n", "from typing import TYPE_CHECKING\n\nif not TYPE_CHECKING:\n    from b import g\n"},
	{"a.py", "y = g(x)\n", "y: int\nif not typing.TYPE_CHECKING:\n    y = g(x)\n"},
	{"a.py", "from b import g\n", "if TYPE_CHECKING:\n    g: Any\nelse:\n    from b import g\n"},
	{"a.py", "def f(x: int, y: str) -> str:\n    pass\n", "def f(x, y: str) -> str:\n    pass\n"},
	{"a.py", "def f(x: int) -> str:\n    pass\n", "def f(x: int):\n    pass\n"},
	{"a.py", "def f(x: int) -> str:\n    pass\n", "def f(x):\n    pass\n"},
	{"a.py", "async def f(\n    x: dict[str, int] = {},\n    *args: int,\n) -> str:\n    pass\n", "async def f(\n    x={},\n    *args: int,\n) -> str:\n    pass\n"},
	{"a.py", "class A:\n    def f(self, x: int) -> str:\n        pass\n", "class A:\n    def f(self, x) -> str:\n        pass\n"},
	{"a.py", "def f(x: int) -> str: pass\n\n\ndef f(x: str) -> int: pass\n", "def f(x: int) -> str: pass\n\n\ndef f(x) -> int: pass\n"},
	{"a.py", "def f(x: int):\n    pass\n", "N = Any\n\n\ndef f(x: N):\n    pass\n"},
	{"a.py", "def f(x: int):\n    pass\n", "from typing import Any as N\n\n\ndef f(x: N):\n    pass\n"},
	{"a.py", "def f(x: int):\n    pass\n", "type N = typing.Any\n\n\ndef f(x: N):\n    pass\n"},
	{"a.py", "def f(x: int):\n    pass\n", "N: TypeAlias = Any\n\n\ndef f(x: N):\n    pass\n"},
	{"a.ts", "function f(x: string) {\n", "type N = any;\nfunction f(x: N) {\n"},
	{"a.go", "func F(x int) {\n", "type n = any\n\nfunc F(x n) {\n"},
	{"a.ts", "function f(x: string, y?: number): string {\n", "function f(x, y?: number): string {\n"},
	{"a.ts", "export async function f<T>(\n  x: T,\n  y = 1,\n): Promise<T> {\n", "export async function f<T>(\n  x,\n  y = 1,\n): Promise<T> {\n"},
	{"a.ts", "class A {\n  private f(x: Map<string, number>): void {\n  }\n}\n", "class A {\n  private f(x): void {\n  }\n}\n"},
	{"a.tsx", "export const f = (x: Props) => x;\n", "export const f = (x) => x;\n"},
	{"a.js", "/**\n * @param {string} x what\n * @returns {number}\n */\nfunction f(x) {}\n", "/**\n * @param {any} x what\n * @returns {number}\n */\nfunction f(x) {}\n"},
	{"a.js", "/** @type {Map<string, number>} */\nconst a = new Map();\n", "/** @type {Map<string, any>} */\nconst a = new Map();\n"},
	{"a.js", "/**\n * @returns {Promise<number>}\n */\nfunction f() {}\n", "/**\n * @returns {*}\n */\nfunction f() {}\n"},
	{"test_a.py", "def test_a():\n    x: int = f()\n", "def test_a():\n    x: Any = f()\n"},
	{"a.test.ts", "const x: string = f();\n", "const x: any = f();\n"},
	{"a_test.go", "func f(x int) {\n", "func f(x any) {\n"},
	{"a.go", "func F(x int, y string) string {\n", "func F(x any, y string) string {\n"},
	{"a.go", "func F(x int) string {\n", "func F(x int) interface{} {\n"},
	{"a.go", "func (s *S) F(x *T) {\n", "func (s *S) F(x interface{}) {\n"},
	{"a.go", "type T struct {\n\tName string `json:\"name\"`\n}\n", "type T struct {\n\tName any `json:\"name\"`\n}\n"},
	{"a.py", "try:\n    f()\nexcept ValueError:\n    pass\n", "try:\n    f()\nexcept Exception:\n    pass\n"},
	{"a.py", "f()\n", "try:\n    f()\nexcept:\n    # never mind\n    pass\n"},
	{"a.py", "f()\n", "try:\n    f()\nexcept BaseException as e: ...\n"},
	{"a.py", "f()\n", "with contextlib.suppress(Exception):\n    f()\n"},
	{"a.ts", "f();\n", "try { f(); } catch {}\n"},
	{"a.ts", "f();\n", "try {\n  f();\n} catch (e) {\n  // never mind\n}\n"},
	{"a.ts", "try {\n  f();\n} catch (e) {\n  log(e);\n}\n", "try {\n  f();\n} catch (e) {\n}\n"},
	{"a.ts", "await f();\n", "await f().catch(() => {});\n"},
	{"src/a.js", "f();\n", "f();\ntry { g(); } catch (e) {}\n"},
	{"test/a.test.js", "f();\n", "try {\n  f();\n} catch (e) {}\n"},
}

// weakerStubs has changes after which stubs say less.
var weakerStubs = []textChange{
	{"a.pyi", "def f(x: int, y: str) -> str: ...\n", "def f(x, y: str) -> str: ...\n"},
	{"a.pyi", "def f(x: int) -> str: ...\n", "def f(x: int): ...\n"},
	{"a.pyi", "def f(x: int, y: dict[str, int]) -> str: ...\n", "def f(*args, **kwargs) -> str: ...\n"},
	{"a.pyi", "class A:\n    def f(self, x: int) -> str: ...\n", "class A:\n    def f(self, x) -> str: ...\n"},
	{"a.pyi", "class A:\n    x: int\n", "class A:\n    x: int\n    def __getattr__(self, name: str): ...\n"},
	{"a.pyi", "def f() -> int: ...\n", "def f() -> int: ...\ndef __getattr__(name: str) -> int: ...\n"},
	{"a.pyi", "def f(x: int) -> str: ...\ndef f(x: str) -> int: ...\n", "def f(x: int) -> str: ...\ndef f(x) -> int: ...\n"},
}

// sameStubs has everyday changes of stubs.
var sameStubs = []textChange{
	{"a.pyi", "def f(x: int) -> str: ...\n", "def f(x: int, y: str = ...) -> str: ...\n"},
	{"a.pyi", "def f(x: int) -> str: ...\n", "def f(x: str) -> bytes: ...\n"},
	{"a.pyi", "def f(x: int) -> str: ...\n", "def g(x): ...\n"},
	{"a.pyi", "def f(x): ...\n", "def f(x: int) -> str: ...\n"},
	{"a.pyi", "class A:\n    def f(self, x: int) -> None: ...\n", "class A:\n    def f(self) -> None: ...\n"},
	{"a.pyi", "def f(x: int, y: int) -> str: ...\n", "def f(x: int, *args: int) -> str: ...\n"},
	{"a.pyi", "def __getattr__(name: str): ...\n", "import x\ndef __getattr__(name: str) -> int: ...\n"},
}

func TestAStubThatSaysLessIsHeld(t *testing.T) {
	t.Parallel()
	for _, c := range weakerStubs {
		if got := weakOf(modify(c.name, c.before, c.after)); len(got) != 1 || !strings.HasPrefix(got[0], WeakerType) {
			t.Errorf("%q\nto %q: %q", c.before, c.after, got)
		}
		if got := weakOf(modify(c.name, c.after, c.before)); len(got) > 0 {
			t.Errorf("%q\nto %q: %q", c.after, c.before, got)
		}
	}
	for _, c := range sameStubs {
		if got := weakOf(modify(c.name, c.before, c.after)); len(got) > 0 {
			t.Errorf("%q\nto %q: %q", c.before, c.after, got)
		}
	}
}

// sameTypes has changes after which no more is accepted, and everyday changes.
var sameTypes = []textChange{
	{"a.py", "def f(c: typing.Container) -> None:\n    pass\n", "def f(c: typing.Container | typing.Iterable) -> None:\n    pass\n"},
	{"a.py", "N = Any\n\n\ndef f(x: N):\n    pass\n", "N = Any\n\n\ndef f(x: N):\n    return x\n"},
	{"a.py", "def f(x: int):\n    pass\n", "N = Any\nM = int\n\n\ndef f(x: M):\n    pass\n"},
	{"a.ts", "function f(x: string): string {\n", "function f(x: string) {\n"},
	{"a.ts", "list.map((x: number) => x);\n", "list.map((x) => x);\n"},
	{"a.ts", "function f(x: string, y: number) {\n", "function f(x: string) {\n"},
	{"a.ts", "function f(x: string) {\n", "function f({ x }) {\n"},
	{"a.ts", "  if (a ? b : c) {\n", "  if (a) {\n"},
	{"a.ts", "  call(a ? b : c);\n", "  call(a);\n"},
	{"a.ts", "  call({ a: 1 });\n", "  call(a);\n"},
	{"a.js", "function f(x) {\n", "function f(x, y) {\n"},
	{"a.js", "/** @param {string} x */\nfunction f(x) {}\n", "/** @param {string | number} x */\nfunction f(x) {}\n"},
	{"a.js", "/** @param {string} x */\nfunction f(x) {}\n", "/** @param {string} x */\nfunction f(x) {}\n\n/** @param {any} x */\nfunction g(x) {}\n"},
	{"a.js", "/** @param {any} x */\nfunction f(x) {}\n", "/** @param {string} x */\nfunction f(x) {}\n"},
	{"a.ts", "const a = f(x);\n", "const a = f<any>(x);\n"},
	{"a.ts", "const a: T = f(x);\n", "const a: T = f(x);\nconst b = f(y) as unknown as T;\n"},
	{"a.ts", "const a: T = f(x);\n", "const a = g(x) as unknown as T;\n"},
	{"a.ts", "f(\n  x as any,\n);\n", "f(x as any);\n"},
	{"a.ts", "f({\n  x,\n});\n", "const y = g({\n  x,\n}) as unknown as T;\n"},
	{"a.ts", "if (a) {\n  g({\n    x,\n  });\n}\n", "const y = {\n  x,\n} as any;\n"},
	{"a.ts", "f(x);\n", "f(x);\ng(\n  x as any,\n);\n"},
	{"a.py", "y = g(x)\n", "y = cast(int, g(x))\n"},
	{"a.py", "y = g(x)\n", "y = cast(\"Many\", g(x))\n"},
	{"a.py", "y = cast(Any, g(x))\n", "y = cast(Any, g(x))\nz = 1\n"},
	{"test_a.py", "y = g(x)\n", "y = g(cast(Any, x))\n"},
	{"a.py", "from b import G\n", "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from b import G\n"},
	{"a.py", "x = 1\n", "x = 1\nif not TYPE_CHECKING:\n    register(x)\n"},
	{"a.py", "if not TYPE_CHECKING:\n    a()\nb()\n", "if not TYPE_CHECKING:\n    b()\n"},
	{"a.py", "if TYPE_CHECKING:\n    x: int\nelse:\n    x = a()\n    b()\n", "if TYPE_CHECKING:\n    x: int\nelse:\n    b()\n"},
	{"test_a.py", "def f(x: int) -> str:\n    pass\n", "def f(x):\n    pass\n"},
	{"test_a.py", "def f(\n    x: list[Any],\n    y: int = 0,\n) -> None:\n    pass\n", "def f(\n    x: Any,\n    y: int = 0,\n) -> None:\n    pass\n"},
	{"a.test.ts", "function f(x: string): string {\n", "function f(x: any): any {\n"},
	{"a.py", "def f(x: int, y: int) -> str:\n    pass\n", "def f(y: int) -> str:\n    pass\n"},
	{"a.py", "def f(x: int) -> str:\n    pass\n", "def f(\n    x: int,  # one, or more\n    y: str = ')',\n) -> str:\n    pass\n"},
	{"a.py", "def f(x: int) -> str:\n    pass\n", "def g(x):\n    pass\n"},
	{"a.py", "def f(self, x: int = 1, *, y: 'T' = {}) -> str:\n    pass\n", "def f(self, *, y: 'T' = {}, x: int = 1) -> str:\n    pass\n"},
	{"a.py", "def f(x):\n    pass\n", "def f(x: Any):\n    pass\n"},
	{"a.py", "def f(x: int):\n    pass\n", "def f(x: int, y: Any):\n    pass\n"},
	{"a.py", "def f(x: int):\n    pass\n", "def f(x: object):\n    pass\n"},
	{"a.py", "def f(x: dict):\n    pass\n", "def f(x: dict[str, Any]):\n    pass\n"},
	{"a.py", "def f(x: int):\n    pass\n", "def g(x: Any):\n    pass\n"},
	{"a.py", "x = 1\n", "x = \"x: Any\"\n"},
	{"a.py", "def f(x: int, y: Any):\n    pass\n", "def f(y: Any, x: int):\n    pass\n"},
	{"a.py", "def f(x: int):\n    pass\ndef g(y: Any):\n    pass\n", "def g(y: Any):\n    pass\ndef f(x: int):\n    pass\n"},
	{"a.py", "if x: pass\nelse: f()\n", "if x:\n    pass\nelse:\n    g(Any)\n"},
	{"a.ts", "const y = save(user);\n", "const y = save(user as Admin);\n"},
	{"a.ts", "const y = 1;\n", "const y = 1;\nconst z = f() as any;\n"},
	{"a.ts", "function f(x: string) {\n", "function f(x: unknown) {\n"},
	{"a.ts", "function f(x) {\n", "function f(x: any) {\n"},
	{"a.test.ts", "const y = save(user);\n", "const y = save(user as any);\n"},
	{"a.ts", "f(); // y\n", "f(); // as any, x: any\n"},
	{"a.ts", "const x = any ? a : b;\n", "const x = c ? a : any;\n"},
	{"a.go", "func F(x int) {\n", "func F(x int, opts ...any) {\n"},
	{"a.go", "func F(x int) {\n", "func F[T any](x T) {\n"},
	{"a.go", "return x\n", "return any(x)\n"},
	{"a.py", "try:\n    f()\nexcept Exception:\n    pass\n", "try:\n    f()\n    g()\nexcept Exception:\n    pass\n"},
	{"a.py", "try:\n    f()\nexcept Exception:\n    pass\n", "try:\n    f()\nexcept OSError:\n    pass\n"},
	{"a.py", "f()\n", "try:\n    f()\nexcept Exception as e:\n    log(e)\n"},
	{"a.py", "f()\n", "try:\n    f()\nexcept KeyError:\n    pass\n"},
	{"a.py", "f()\n", "x = \"\"\"\nexcept:\n    pass\n\"\"\"\n"},
	{"a.ts", "f();\n", "try { f(); } catch (e) { log(e); }\n"},
	{"a.ts", "f();\n", "try { f(); } catch { return null; }\n"},
	{"a.ts", "f();\n", "f().catch(log);\n"},
	{"test/a.test.js", "f();\n", "f();\ntry { g(); } catch (e) {}\n"},
	{"a.go", "switch x.(type) {\ncase int:\n", "switch x.(type) {\ncase any:\n"},
	{"a.py", "def f():\n    x: int = 1\n    x: Any = 2\n", "def f():\n    x: Any = 2\n    x: int = 1\n"},
	{"a.md", "x: int\n", "x: Any\n"},
}

func TestAWiderTypeIsHeld(t *testing.T) {
	t.Parallel()
	for _, c := range weakerTypes {
		if got := weakOf(modify(c.name, c.before, c.after)); len(got) != 1 || !strings.HasPrefix(got[0], WeakerType) {
			t.Errorf("%s: %q\nto %q: %q", c.name, c.before, c.after, got)
		}
		if got := weakOf(modify(c.name, c.after, c.before)); len(got) > 0 {
			t.Errorf("%s: %q\nto %q: %q", c.name, c.after, c.before, got)
		}
		if got := weakOf(create(c.name, c.after)); len(got) > 0 {
			t.Errorf("a new %s: %q: %q", c.name, c.after, got)
		}
	}
}

func TestEverydayTypesAreNotHeld(t *testing.T) {
	t.Parallel()
	for _, c := range sameTypes {
		if got := weakOf(modify(c.name, c.before, c.after)); len(got) > 0 {
			t.Errorf("%s: %q\nto %q: %q", c.name, c.before, c.after, got)
		}
	}
}

func TestAWiderTypeIsNamed(t *testing.T) {
	t.Parallel()
	cs := workspace.Changeset{Changes: []workspace.Change{{
		Op: workspace.Rename, From: "a.py", Path: "b.py", Before: []byte("def f(x: int):\n    pass\n"), After: []byte("import os\ndef f(x: Any):\n    pass\n"),
	}}}
	want := []string{"weaker-type b.py Line 2 lets any type through where it was specific: def f(x: Any):"}
	if got := weakOf(cs); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A new file that declares something for all values affects the files that exist.
func TestDeclarationsForAllValuesAreHeld(t *testing.T) {
	t.Parallel()
	for text, held := range map[string]bool{"interface Object {\n  b(): number;\n}\n": true, "declare module \"*\";\n": true, "interface Window {\n  b: number;\n}\n": false} {
		cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "src/a.d.ts", After: []byte(text), Mode: 0o644}}}
		got := slices.ContainsFunc(ReviewText(cs, nil), func(h Hold) bool { return h.Kind == WeakerType && h.Block })
		if got != held {
			t.Errorf("%q is held: %v", text, got)
		}
	}
}
