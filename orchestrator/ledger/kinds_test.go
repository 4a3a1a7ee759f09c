package ledger_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScannerReadsEveryKindOfDefinition gives each language all the forms of its definitions.
func TestScannerReadsEveryKindOfDefinition(t *testing.T) {
	files := map[string]string{
		"a.py": strings.Join([]string{
			"import os", "LIMIT: int = 3", "if os.name:", "    def f(a, *, b=1, **k) -> str: ...",
			"class A(B, metaclass=M):", "    x: int", "    class Inner:", "        @property", "        def y(self): self.z = 1",
			"async def g(): pass",
		}, "\n"),
		"a.ts": strings.Join([]string{
			"export const LIMIT = 3", "export const add = async (a: number, b = 2) => a + b", "const used = LIMIT",
			"export abstract class A<T> extends B {", "  private x?: number = 1;", "  @Input() y = () => 2;",
			"  static async run<U>(a: U): Promise<{ b: string }> { if (a) { return null } }", "}",
			"export enum Color { Red, Green = 2 }", "export type U = string | 'x'", "declare function late(a: string): void",
			"function* gen() { const inner = /[}]/ }",
		}, "\n"),
		"a.go": strings.Join([]string{
			"package a", "const (", "\tSmall = iota", "\tLarge", ")", "var x, y = 1, `", "func no() {}`",
			"type T[K any] struct {", "\tA, B int `json:\"a\"`", "\tembedded.C", "}", "type I interface {", "\tRun(n int) error", "}",
			"func (t *T[K]) Do(f func(int) struct{}) (n int, err error) {", "\treturn", "}",
		}, "\n"),
	}
	want := map[string]string{
		"a.py": `constant LIMIT: int = 3 @2
function f(a, *, b=1, **k) -> str @4
class A(B, metaclass=M) @5
field A.x: int @6
class A.Inner @7
method A.Inner.y @property (self) @9
field A.Inner.z @9
function g async () @10`,
		"a.ts": `constant LIMIT = 3 @1
function add = async (a: number, b = 2) @2
constant used = LIMIT @3
class A<T> extends B @4
field A.x?: number = 1 @5
method A.y = () @6
method A.run<U>(a: U): Promise<{ b: string }> @7
type Color { Red, Green = 2 } @9
field Color.Green = 2 @9
field Color.Red @9
type U = string | 'x' @10
function late(a: string): void @11
function gen() @12`,
		"a.go": "package a @1\nconstant Small = iota @3\nconstant Large @4\nvariable x = 1, ` func no() {}` @6\nvariable y = 1, ` func no() {}` @6\n" +
			"type T[K any] struct @8\nfield T.A int `json:\"a\"` @9\nfield T.B int `json:\"a\"` @9\ntype I interface @12\nmethod I.Run(n int) error @13\n" +
			"method T.Do(f func(int) struct{}) (n int, err error) @15",
	}
	for path, f := range scan(t, files) {
		var got []string
		for _, d := range f.Definitions {
			// The text of a definition begins with its line.
			line, title, _ := strings.Cut(d.String(), ": ")
			got = append(got, d.Kind+" "+title+" @"+line)
		}
		if diff := cmp.Diff(want[path], strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s %s (-want +got)\n%s", path, f.Problem, diff)
		}
	}
}
