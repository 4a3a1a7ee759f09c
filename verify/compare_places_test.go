package verify

import (
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/compare"
)

// shifted has pairs of messages of one finding, before and after a line was added above it.
var shifted = [][2]string{
	// mypy
	{`Incompatible types in assignment (expression has type "TestCase@3333", variable has type "TestCase@3399")`, `Incompatible types in assignment (expression has type "TestCase@3334", variable has type "TestCase@3400")`},
	{`Argument 1 to "f" has incompatible type "shop.Point@9"; expected "Point@99"`, `Argument 1 to "f" has incompatible type "shop.Point@10"; expected "Point@100"`},
	{`Value of type "list[Row@12] | None" is not indexable`, `Value of type "list[Row@13] | None" is not indexable`},
	{`Name "x" already defined on line 12`, `Name "x" already defined on line 13`},
	{`Signature of "f" incompatible with "<subclass of "A" and "B">@12"`, `Signature of "f" incompatible with "<subclass of "A" and "B">@13"`},
	{`Definition of "Local@7.run" in base class "A" is incompatible`, `Definition of "Local@8.run" in base class "A" is incompatible`},
	// pyright
	{`"x" is obscured by a declaration at line 4, column 9`, `"x" is obscured by a declaration at line 5, column 13`},
	{`Type "<lambda>:12" is not assignable`, `Type "<lambda>:13" is not assignable`},
	// the TypeScript compiler
	{`Property '__@iterator@35' is missing in type 'A'.`, `Property '__@iterator@41' is missing in type 'A'.`},
	{`'a' was also declared in src/a.ts(3,5).`, `'a' was also declared in src/a.ts(4,5).`},
	{`The inferred type of '(anonymous class):12:5' is private`, `The inferred type of '(anonymous class):13:5' is private`},
	// go vet, staticcheck and the compiler
	{`x redeclared in this block ./a.go:5:6: other declaration of x`, `x redeclared in this block ./a.go:6:6: other declaration of x`},
	{`declaration of "err" shadows declaration at line 12`, `declaration of "err" shadows declaration at line 13`},
	{`this return may be reached without using the cancel var defined on line 9`, `this return may be reached without using the cancel var defined on line 10`},
	{`method declared at /work/pkg/a.go:12`, `method declared at /work/pkg/a.go:13`},
	// eslint and its plugins, biome, stylelint
	{`'a' is already declared in the upper scope on line 3 column 7.`, `'a' is already declared in the upper scope on line 4 column 9.`},
	{`Parsing error: Unexpected token (3:14)`, `Parsing error: Unexpected token (4:14)`},
	{`The construction makes the hook (at line 9) change on every render`, `The construction makes the hook (at line 10) change on every render`},
	{`Unexpected duplicate selector "a", first used at line 9`, `Unexpected duplicate selector "a", first used at line 10`},
	{`This block repeats lines 3, 5 and 17`, `This block repeats lines 4, 6 and 18`},
	{`The same code stands in lines 3-9`, `The same code stands in lines 13-19`},
	{`Function f:12:5 is declared at 12:5`, `Function f:13:5 is declared at 13:5`},
	{`see README.md#L12`, `see README.md#L13`},
	// the rest
	{`syntax error in <string>:12`, `syntax error in <string>:13`},
	{`<function f at 0x7f3a10ff> is not callable`, `<function f at 0x7f9910ff> is not callable`},
	{strings.Repeat("x", 40) + ` "A@9" ` + strings.Repeat("y ", check.MaxMessage), strings.Repeat("x", 40) + ` "A@10" ` + strings.Repeat("y ", check.MaxMessage)},
}

// different has pairs of messages of two different findings, however similar they look.
var different = [][2]string{
	{`Expected 3 arguments, but got 4.`, `Expected 3 arguments, but got 5.`},
	{`Expected 3 arguments, but got 4.`, `Expected 4 arguments, but got 5.`},
	{`Argument 1 to "f" has incompatible type "int"`, `Argument 2 to "f" has incompatible type "int"`},
	{`expression has type "Literal[3]"`, `expression has type "Literal[4]"`},
	{`"tuple[int, int]" has no item (2, 3)`, `"tuple[int, int]" has no item (2, 4)`},
	{`Slice index x[1:2:3] is out of range`, `Slice index x[1:2:4] is out of range`},
	{`Line too long (92 > 88)`, `Line too long (93 > 88)`},
	{`File has 312 lines`, `File has 313 lines`},
	{`'f' is too complex (11 > 10)`, `'f' is too complex (12 > 10)`},
	{`Overload 2 is the closest match`, `Overload 3 is the closest match`},
	{`Signature 1 overlaps with 2`, `Signature 1 overlaps with 3`},
	{`Undefined name "x1"`, `Undefined name "x2"`},
	{`Name "x" already defined on line 12`, `Name "y" already defined on line 13`},
	{`"A@3" has no attribute "b"`, `"B@3" has no attribute "b"`},
	{`x redeclared ./a.go:5:6: other declaration`, `x redeclared ./b.go:5:6: other declaration`},
	{`the package react@18.2.0 is deprecated`, `the package react@17.0.2 is deprecated`},
	{`cannot reach example.com:8080`, `cannot reach example.com:8081`},
	{`it begins at 12:30`, `it ends at 12:30`},
	{`Magic number: 404`, `Magic number: 405`},
	{`Port 0x1F is taken`, `Port 0x2F is taken`},
	{`Type 'int[3]' is not assignable to type 'int[4]'`, `Type 'int[3]' is not assignable to type 'int[5]'`},
	{`This condition is always 1`, `This condition is always 0`},
	{`expected 2 values on line 3, got 4`, `expected 2 values on line 3, got 5`},
	{`Printf format %d reads arg #2`, `Printf format %d reads arg #3`},
}

func TestAMessageMayNameAPlaceThatMoves(t *testing.T) {
	t.Parallel()
	for _, m := range shifted {
		a, b := check.Finding{File: "a.py", Rule: "misc", Message: check.Shorten(m[0])}, check.Finding{File: "a.py", Rule: "misc", Message: check.Shorten(m[1])}
		fresh, old, fixed := compare.Findings([]check.Finding{a}, []check.Finding{b}, check.Diff{})
		if len(fresh) != 0 || old != 1 || fixed != 0 {
			t.Errorf("%q\nto %q: %d new", m[0], m[1], len(fresh))
		}
		if a.Fingerprint() != b.Fingerprint() {
			t.Errorf("%q\nto %q: another fingerprint", m[0], m[1])
		}
		// Each old finding excuses only one new finding.
		if fresh, _, _ := compare.Findings([]check.Finding{a}, []check.Finding{b, b}, check.Diff{}); len(fresh) != 1 {
			t.Errorf("%q twice: %d new", m[1], len(fresh))
		}
	}
}

func TestANumberThatIsNoPlaceTellsFindingsApart(t *testing.T) {
	t.Parallel()
	for _, m := range different {
		a, b := check.Finding{File: "a.py", Rule: "misc", Message: m[0]}, check.Finding{File: "a.py", Rule: "misc", Message: m[1]}
		if fresh, old, _ := compare.Findings([]check.Finding{a}, []check.Finding{b}, check.Diff{}); len(fresh) != 1 || old != 0 {
			t.Errorf("%q\nto %q: taken for old", m[0], m[1])
		}
	}
}
