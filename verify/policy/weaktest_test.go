package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/policy/testform"

	"pgregory.net/rapid"
)

// A textChange is a row of the tables below: one file before and after.
type textChange struct{ name, before, after string }

// pyTest, jsTest and goTest return tests with a body.
func pyTest(body string) string {
	return "def test_total():\n    cart = Cart()\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
}

func jsTest(body string) string {
	return "describe('cart', () => {\n  it('adds', () => {\n    const cart = make();\n    " + body + "\n  });\n});\n"
}

// skip is the call that skips a Go test, in two parts, since no test of this repository may contain it.
const skip = "t.Ski" + "p"

func goTest(body string) string {
	return "package cart\n\nfunc TestTotal(t *testing.T) {\n\tcart := New()\n\t" + body + "\n}\n"
}

// bench turns a test into a benchmark.
func bench(text string) string {
	return strings.NewReplacer("TestTotal(t *testing.T)", "BenchmarkTotal(b *testing.B)", skip, "b"+skip[1:]).Replace(text)
}

// weakerTests has changes after which tests test less.
var weakerTests = []textChange{
	// An assertion is removed.
	{"test_a.py", pyTest("assert cart.total() == 3\nassert cart.count == 1"), pyTest("assert cart.count == 1")},
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("if os.environ.get(\"CI\"):\n    return\nassert cart.total() == 3")},
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("if not os.environ.get(\"CI\"):\n    assert cart.total() == 3")},
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("print(cart.total())")},
	{"test_a.py", pyTest("assert cart.total() == 3\nassert cart.tax() == 2"), pyTest("assert cart is not None")},
	{"test_a.py", "class TestA(TestCase):\n    def test_a(self):\n        self.assertEqual(total(1), 2)\n        self.assertTrue(tax(1))\n", "class TestA(TestCase):\n    def test_a(self):\n        self.assertTrue(tax(1))\n"},
	{"test_a.py", pyTest("with pytest.raises(ValueError):\n    cart.add(None)"), pyTest("cart.add(1)")},
	{"test_a.py", pyTest("assert cart.total() == 3\nassert cart.count == 1"), pyTest("check_nothing(cart)\nassert cart.count == 1") + "def check_nothing(cart):\n    pass\n"},
	{"a.test.ts", jsTest("expect(cart.total()).toBe(3); expect(cart.tax()).toBe(1);"), jsTest("expect(cart.total()).toBe(3);")},
	{"src/__tests__/a.js", jsTest("expect(cart.total()).toBe(3);"), jsTest("cart.total();")},
	{"test/a.mjs", "test('a', () => {\n  assert.equal(f(1), 2);\n  assert.equal(g(1), 2);\n});\n", "test('a', () => {\n  assert.equal(g(1), 2);\n});\n"},
	{"a_test.go", goTest("if cart.Total() != 3 {\n\t\tt.Errorf(\"got %d\", cart.Total())\n\t}\n\tif cart.Tax() != 1 {\n\t\tt.Error(\"tax\", cart.Tax())\n\t}"), goTest("if cart.Tax() != 1 {\n\t\tt.Error(\"tax\", cart.Tax())\n\t}")},
	{"a_test.go", goTest("require.NoError(t, cart.Add(1))\n\tassert.Equal(t, 3, cart.Total())"), goTest("require.NoError(t, cart.Add(1))")},
	{"a_test.go", goTest("if err := cart.Add(1); err != nil {\n\t\tt.Fatal(err)\n\t}"), goTest("cart.Add(1)")},
	{"test_a.py", pyTest("text = \"\"\"\na\n\"\"\"\nassert f(\n)\nassert g()"), pyTest("text = \"\"\"\na\n\"\"\"\nassert f(\n)")},
	{"test_a.py", "def test_a():\n    text = \"\"\"\na\n\"\"\".strip()\n    assert f()\n    assert g()\n", "def test_a():\n    text = \"\"\"\na\n\"\"\".strip()\n    assert f()\n"},
	{"test_a.py", "def test_a(\n    x,\n):\n    assert f()\n    assert g()\n", "def test_a(\n    x,\n):\n    assert f()\n"},
	{"test_a.py", "class TestA:\n    def test_x(self):\n        assert a()\nclass TestB:\n    def test_x(self):\n        assert b()\n        assert c()\n", "class TestA:\n    def test_x(self):\n        assert a()\nclass TestB:\n    def test_x(self):\n        assert b()\n"},
	// The whole is compared, but of a different value, or with anything, or with itself.
	{"test_a.py", pyTest("text = show(cart, 1)\nlines = text.split()\nassert lines[0] == 'a'\nassert lines[1] == 'b'"), pyTest("assert show(cart, 2) == 'a b'")},
	{"test_a.py", pyTest("text = show(cart, 1)\nlines = text.split()\nassert lines[0] == 'a'\nassert lines[1] == 'b'"), pyTest("assert show(cart, 1) == ANY")},
	{"test_a.py", pyTest("text = show(cart, 1)\nlines = text.split()\nassert lines[0] == 'a'\nassert lines[1] == 'b'"), pyTest("want = show(cart, 1)\nassert show(cart, 1) == want")},
	{"test_a.py", pyTest("text = show(cart, 1)\nlines = text.split()\nassert lines[0] == 'a'\nassert cart.count == 1"), pyTest("assert show(cart, 1) == 'a b'")},
	{"test_a.py", pyTest("text = show(cart, 1)\nlines = read(text)\nassert lines[0] == 'a'\nassert lines[1] == 'b'"), pyTest("assert show(cart, 1) == 'a b'")},
	{"a.test.ts", jsTest("const text = show(cart); expect(text.length).toBe(3); expect(text[0]).toBe('a');"), jsTest("expect(show(cart)).toEqual({});")},
	{"a.test.ts", jsTest("const text = show(cart); expect(text.length).toBe(3); expect(text[0]).toBe('a');"), jsTest("expect(show(cart)).toContain('a');")},
	// A test program without an extension.
	{"tests/run", "#!/usr/bin/env python3\n" + pyTest("assert cart.total() == 3"), "#!/usr/bin/env python3\n" + pyTest("print(cart.total())")},
	// An assertion that is always true.
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("assert True")},
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("assert 1")},
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("assert 1 == 1, \"why\"")},
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("assert cart.total() == 3 or True")},
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("assert (cart.count == 3, \"three\")")},
	{"test_a.py", pyTest("self.assertEqual(cart.total(), 3)"), pyTest("self.assertTrue(True)")},
	{"a.spec.js", jsTest("expect(cart.total()).toBe(3);"), jsTest("expect(true).toBe(true);")},
	{"a.spec.js", jsTest("expect(cart.total()).toBe(3);"), jsTest("expect( true ).toBeTruthy();")},
	{"a.spec.js", jsTest("assert(cart.total() === 3);"), jsTest("assert(true);")},
	{"a.spec.js", jsTest("assert.equal(cart.total(), 3);"), jsTest("assert.ok(true, 'fine');")},
	{"a_test.go", goTest("assert.Equal(t, 3, cart.Total())"), goTest("assert.True(t, true)")},
	// A test that does not count.
	{"test_a.py", pyTest("assert cart.total()"), "@pytest.mark.skip\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "@pytest.mark.skip(reason=\"slow\")\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "@pytest.mark.xfail\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "@pytest.mark.skipif(True, reason=\"\")\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "@unittest.skip(\"x\")\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "@unittest.expectedFailure\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "pytestmark = pytest.mark.skip\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), pyTest("pytest.skip(\"later\")\nassert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), pyTest("self.skipTest(\"later\")\nassert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "__test__ = False\n" + pyTest("assert cart.total()")},
	{"a.test.ts", jsTest("expect(cart).toBe(1);"), strings.Replace(jsTest("expect(cart).toBe(1);"), "it(", "it.skip(", 1)},
	{"a.test.ts", jsTest("expect(cart).toBe(1);"), strings.Replace(jsTest("expect(cart).toBe(1);"), "it(", "it.only(", 1)},
	{"a.test.ts", jsTest("expect(cart).toBe(1);"), strings.Replace(jsTest("expect(cart).toBe(1);"), "it(", "xit(", 1)},
	{"a.test.ts", jsTest("expect(cart).toBe(1);"), strings.Replace(jsTest("expect(cart).toBe(1);"), "describe(", "describe.skip(", 1)},
	{"test_a.py", "@pytest.mark.skipif(WINDOWS)\n" + pyTest("assert cart.total()"), "@pytest.mark.skip\n" + pyTest("assert cart.total()")},
	// A name for skipping on a condition, which existing tests now use.
	{"test_a.py", pyTest("assert cart.total()"), "needs = pytest.mark.skipif(not fast(), reason=\"\")\n\n\n@needs\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "needs = pytest.mark.skipif(not fast(), reason=\"\")\npytestmark = needs\n" + pyTest("assert cart.total()")},
	{"test_a.py", pyTest("assert cart.total()"), "pytestmark = pytest.mark.skipif(not fast(), reason=\"\")\n" + pyTest("assert cart.total()")},
	{"a.test.ts", jsTest("expect(cart).toBe(1);"), "const fastIt = fast() ? it : it.skip;\n" + strings.Replace(jsTest("expect(cart).toBe(1);"), "it(", "fastIt(", 1)},
	{"a.test.js", jsTest("expect(cart).toBe(1);"), "const fastIt = fast() ? it : it.skip;\n" + strings.Replace(jsTest("expect(cart).toBe(1);"), "it(", "const it = fastIt;\n  it(", 1)},
	{"a.test.ts", jsTest("expect(cart).toBe(1);"), "const fastly = fast() ? describe : describe.skip;\n" + jsTest("expect(cart).toBe(1);")},
	{"a.test.ts", "", "it.todo('adds');\n"},
	{"a.test.ts", "test('a', () => { expect(f()).toBe(1) });\n", "test('a', { skip: true }, () => { expect(f()).toBe(1) });\n"},
	{"a_test.go", goTest("cart.Check(t)"), goTest(skip + "(\"later\")\n\tcart.Check(t)")},
	{"a_test.go", goTest("cart.Check(t)"), goTest(skip + "Now()\n\tcart.Check(t)")},
	// A test that tests nothing.
	{"test_a.py", "", "def test_a():\n    pass\n"},
	{"test_a.py", "", "class TestA:\n    async def test_a(self):\n        \"\"\"Says much.\"\"\"\n\n    def test_b(self):\n        assert f()\n"},
	{"test_a.py", "def test_a():\n    assert f()\n", "def test_a(): ...\n"},
	{"a.test.ts", "", "it('adds', () => {});\n"},
	{"a.test.ts", "", "it('adds', async () => {\n  // soon\n});\n"},
	{"a.test.ts", "", "test('adds', function () {\n});\n"},
	{"a_test.go", "package a\n", "package a\n\nfunc TestA(t *testing.T) {}\n"},
	{"a_test.go", "package a\n", "package a\n\nfunc TestA(t *testing.T) {\n\t// soon\n}\n"},
}

// sameTests has changes after which tests test as much, or for which this cannot be determined.
var sameTests = []textChange{
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("if sys.platform == \"win32\":\n    return\nassert cart.total() == 3")},
	{"test_a.py", pyTest("assert cart.total() == 3"), pyTest("assert cart.total() == 3") + "\ndef test_b():\n    if CI:\n        return\n    assert cart.total() == 3\n"},
	{"test_a.py", pyTest("if CI:\n    return\nassert cart.total() == 3"), pyTest("if CI:\n    return\nx = 1\nassert cart.total() == 3")},
	// The test is removed or renamed: the tests gate notices.
	{"test_a.py", pyTest("assert f() == 1") + "def test_b():\n    assert g()\n", "def test_b():\n    assert g()\n"},
	{"test_a.py", pyTest("assert f() == 1"), strings.Replace(pyTest("print(1)"), "test_total", "test_other", 1)},
	{"test_a.py", "class TestA:\n    def test_x(self):\n        assert a()\nclass TestB:\n    def test_x(self):\n        assert b()\n", "class TestB:\n    def test_x(self):\n        assert b()\n"},
	// What is asserted is changed, moved or joined.
	{"test_a.py", pyTest("assert f() == 1"), pyTest("assert f() == 2")},
	{"test_a.py", pyTest("assert f() == 1"), pyTest("assert (\n    f() == 1\n)")},
	{"test_a.py", pyTest("assert f() == 1\nassert g() == 2"), pyTest("assert (f(), g()) == (1, 2)")},
	{"test_a.py", pyTest("assert f(1) == 1\nassert f(2) == 2\nassert f(3) == 3"), pyTest("for x in (1, 2, 3):\n    assert f(x) == x")},
	{"test_a.py", "def test_a():\n    assert f(1) == 1\n    assert f(2) == 2\n", "@pytest.mark.parametrize(\"x\", [1, 2])\ndef test_a(x):\n    assert f(x) == x\n"},
	{"test_a.py", pyTest("assert f() == 1\nassert g() == 2"), pyTest("assert f() == 1") + "\ndef test_g():\n    assert g() == 2\n"},
	{"test_a.py", pyTest("assert cart.a == 1\nassert cart.b == 2"), pyTest("check_cart(cart)")},
	{"test_a.py", pyTest("assert cart.a == 1\nassert cart.b == 2"), pyTest("same(cart)") + "def same(cart):\n    assert cart.a == 1\n    assert cart.b == 2\n"},
	{"test_a.py", pyTest("self.assertEqual(f(), 1)"), pyTest("assert f() == 1")},
	{"test_a.py", pyTest("assert f() == 1\nassert g()"), pyTest("assert g()\nassert f() == 1")},
	{"a_test.go", goTest("x, err := cart.Total()\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif x != 1 {\n\t\tt.Error(x)\n\t}"), goTest("x := cart.Total()\n\tif x != 1 {\n\t\tt.Error(x)\n\t}")},
	{"a_test.go", goTest("if cart.A != 1 {\n\t\tt.Error(cart.A)\n\t}\n\tif cart.B != 1 {\n\t\tt.Error(cart.B)\n\t}"), goTest("same(t, cart)")},
	{"a.test.ts", jsTest("expect(cart.a).toBe(1);\n    expect(cart.b).toBe(2);"), jsTest("expect(cart).toEqual({ a: 1, b: 2 });")},
	{"a.test.ts", jsTest("expect(cart.a).toBe(1);\n    expect(cart.b).toBe(2);"), jsTest("expectCart(cart);")},
	// What was asserted in parts is compared as a whole with a constant.
	{"test_a.py", pyTest("text = show(cart, 1)\nlines = text.strip().splitlines()\nassert lines[0].rstrip().endswith('a')\nassert lines[1] == 'b'"), pyTest("want = 'a\\nb'\nassert show(cart, 1) == want")},
	{"test_a.py", pyTest("text = show(\n    cart,\n    1,\n)\nassert len(text) == 3\nassert text[0] == 'a'\nassert 'b' in text"), pyTest("text = show(\n    cart,\n    1,\n)\nself.assertEqual(text, {'a': 1, 'b': None})")},
	{"a.test.ts", jsTest("const text = show(cart);\n    expect(text.length).toBe(3);\n    expect(text[0]).toBe('a');"), jsTest("expect(show(cart)).toEqual(['a', 'b', 'c']);")},
	// Text that only looks like it.
	{"test_a.py", pyTest("assert f()"), pyTest("assert f() == \"it.skip(\"")},
	{"test_a.py", pyTest("assert f()"), "# @pytest.mark.skip\n" + pyTest("assert f()")},
	{"test_a.py", pyTest("assert f()"), pyTest("assert True is f()")},
	{"test_a.py", pyTest("assert f()"), pyTest("assert 1 in f()\nassert 1 + f()\nassert (f(), 2) == (1, 2)")},
	{"test_a.py", pyTest("assert f()"), "def helper():\n    pass\n\n" + pyTest("assert f()")},
	{"a.test.ts", jsTest("expect(f()).toBe(1);"), jsTest("expect(f(true)).toBe(true);\n    expect('it.only(').toBe(x.only);")},
	{"a.test.ts", jsTest("expect(f()).toBe(1);"), jsTest("expect(f(() => {})).toBe(1); cart.skip(2); db.find({ skip: 10 });")},
	{"a_test.go", goTest("t.Error(cart)"), goTest("t.Error(cart)\n\tlexer.Skip(2)")},
	// What was like that before is not new.
	{"test_a.py", "@pytest.mark.skip\n" + pyTest("assert f()"), "@pytest.mark.skip(reason=\"slow\")\n" + pyTest("assert f()")},
	{"test_a.py", "@pytest.mark.skip\n" + pyTest("assert f()"), "@pytest.mark.skipif(WINDOWS)\n" + pyTest("assert f()")},
	{"a.test.ts", strings.Replace(jsTest("f();"), "it(", "it.skip(", 1), jsTest("f();")},
	{"test_a.py", "def test_a():\n    pass\n", "import os\n\ndef test_a():\n    pass\n"},
	// Where the condition takes effect, the tests gate notices.
	{"test_a.py", pyTest("assert f()"), "@skipIf(sys.version_info >= (3, 14), 'not there')\n" + pyTest("assert f()")},
	{"a_test.go", goTest("cart.Check(t)"), goTest("if runtime.GOOS == \"windows\" {\n\t\t" + skip + "()\n\t}\n\tcart.Check(t)")},
	{"a.test.ts", jsTest("f();"), "const it2 = process.platform === 'win32' ? it.skip : it;\n" + strings.Replace(jsTest("f();"), "it(", "it2(", 1)},
	// Benchmarks are not run to see them pass.
	{"a_test.go", bench(goTest("cart.Check(t)")), bench(goTest("if cart == nil {\n\t\t" + skip + "()\n\t}\n\tcart.Check(t)"))},
	// Not a test.
	{"src/a.py", "def test_total():\n    assert f()\n", "def test_total():\n    pass\n"},
	{"src/a.ts", "assert(f());\n", "it.skip();\n"},
	{"test_a.md", "", "@pytest.mark.skip\n"},
}

func TestATestThatTestsLessIsHeld(t *testing.T) {
	t.Parallel()
	for _, c := range weakerTests {
		if got := weakOf(modify(c.name, c.before, c.after)); len(got) == 0 || !strings.HasPrefix(got[0], WeakerTest) {
			t.Errorf("%s: %q\nto %q: %q", c.name, c.before, c.after, got)
		}
		// Other line endings and a directory make no difference.
		name := "pkg/tests/" + c.name
		if kinds := kindsOf(modify(name, c.before, strings.ReplaceAll(c.after, "\n", "\r\n"))); kinds != WeakerTest {
			t.Errorf("%s: %q\nto %q: %q", name, c.before, c.after, kinds)
		}
	}
}

func TestATestThatTestsAsMuchIsNotHeld(t *testing.T) {
	t.Parallel()
	for _, c := range sameTests {
		if got := weakOf(modify(c.name, c.before, c.after)); len(got) > 0 {
			t.Errorf("%s: %q\nto %q: %q", c.name, c.before, c.after, got)
		}
	}
}

func TestTheOtherWayRoundATestIsStronger(t *testing.T) {
	t.Parallel()
	for _, c := range weakerTests {
		// Where one assertion replaces another, each direction loses one.
		if strings.Contains(c.after, "assert cart is not None") || strings.Contains(c.after, "print") || strings.Contains(c.after, "cart.add(1)") {
			continue
		}
		if got := weakOf(modify(c.name, c.after, c.before)); len(got) > 0 {
			t.Errorf("%s: %q\nto %q: %q", c.name, c.after, c.before, got)
		}
	}
}

// An empty test by which a class removes an inherited one is not new if only its class is renamed.
func TestAnEmptyTestKeepsItsPlace(t *testing.T) {
	t.Parallel()
	was := pyTest("assert f()") + "class BytesCase(Case):\n    def test_text(self) -> None:\n        pass\n"
	if got := weakOf(modify("test_a.py", was, strings.Replace(was, "BytesCase(Case)", "TestBytes(Case)", 1))); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := weakOf(modify("test_a.py", strings.Replace(was, "pass", "assert f()", 1), strings.Replace(was, "BytesCase(Case)", "TestBytes(Case)", 1))); len(got) == 0 {
		t.Error("one that lost its body with the name is not seen")
	}
}

func TestANewTestMayDependOnWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"test_a.py": "@pytest.mark.skipif(sys.platform == \"win32\", reason=\"\")\n" + pyTest("assert f()"),
		"test_b.py": "np = pytest.importorskip(\"numpy\")\n" + pyTest("assert f()"),
		"a_test.go": goTest("if testing.Short() {\n\t\t" + skip + "(\"slow\")\n\t}\n\tt.Error(cart)"),
	} {
		if got := weakOf(create(name, text)); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
	more := textChange{"a_test.go", goTest("t.Error(cart)"), goTest("t.Error(cart)") + strings.Replace(goTest(skip+"()"), "TestTotal", "TestMore", 1)}
	py := textChange{"test_a.py", pyTest("assert f()"), pyTest("assert f()") + "@pytest.mark.skipif(x)\n@pytest.mark.slow\ndef test_more():\n    pytest.importorskip(\"a\")\n    assert f()\n"}
	named := textChange{"test_a.py", pyTest("assert f()"), "needs = pytest.mark.skipif(not fast(), reason=\"\")\n\n\n" + pyTest("assert f()") + "@needs\ndef test_more():\n    assert f()\n"}
	js := textChange{"a.test.js", jsTest("expect(f()).toBe(1);"), "const fastIt = 'fast' in f ? it : it.skip\nconst slowIt = !('fast' in f) ? it : it.skip\n" + jsTest("expect(f()).toBe(1);") + "fastIt('is fast', () => { expect(g()).toBe(2); });\n"}
	for _, c := range []textChange{more, py, named, js} {
		if got := weakOf(modify(c.name, c.before, c.after)); len(got) > 0 {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got := kindsOf(create("a.test.js", strings.Replace(jsTest("expect(f()).toBe(1)"), "it(", "it.only(", 1))); got != WeakerTest {
		t.Errorf("a new test that keeps others from running: %q", got)
	}
}

// A new name for skipping that an existing test in another file uses takes that test away.
func TestANameForSkippingCountsInEveryFile(t *testing.T) {
	t.Parallel()
	old := pyTest("assert f()")
	cs := workspace.Changeset{Changes: slices.Concat(
		modify("test_a.py", old, "needs = pytest.mark.skipif(not fast(), reason=\"\")\n\n\n"+old).Changes,
		modify("test_b.py", old, "from test_a import needs\n\n\n@needs\n"+old).Changes,
	)}
	if got := kindsOf(cs); got != WeakerTest {
		t.Errorf("%q", got)
	}
}

func TestAnAssertionMayMoveWithinTheChangeset(t *testing.T) {
	t.Parallel()
	both, one := pyTest("assert f()\nassert g()"), pyTest("assert f()")
	cs := workspace.Changeset{Changes: slices.Concat(modify("test_a.py", both, one).Changes, create("test_b.py", "def test_g():\n    assert g()\n").Changes)}
	if got := weakOf(cs); len(got) > 0 {
		t.Errorf("%q", got)
	}
	got := weakOf(modify("test_a.py", both, one))
	want := []string{"weaker-test test_a.py Line 4 was an assertion, and its test continues without it: assert g()"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMovingAndDeletingWeakensNothing draws changesets that redistribute the lines of some files over others, and drop some.
func TestMovingAndDeletingWeakensNothing(t *testing.T) {
	t.Parallel()
	ends := []string{"py", "ts", "go", "sh"}
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom(ends).Draw(t, "end")
		line := rapid.SampledFrom(append([]string{"x", "", "y = 2"}, suppressed["a."+end]...))
		paths := []string{"a." + end, "b." + end, "c/d." + end}
		var lines []string
		before, after := map[string]string{}, map[string]string{}
		for _, p := range paths {
			for range rapid.IntRange(0, 5).Draw(t, "lines") {
				// On a line of its own, each means the same wherever it is.
				l := strings.ReplaceAll(line.Draw(t, "line"), "\n", " ")
				before[p] += l + "\n"
				lines = append(lines, l)
			}
		}
		lines = rapid.Permutation(lines).Draw(t, "order")
		for _, l := range lines[:rapid.IntRange(0, len(lines)).Draw(t, "kept")] {
			after[rapid.SampledFrom(paths).Draw(t, "to")] += l + "\n"
		}
		if got := weakOf(drawChanges(t, before, after)); len(got) > 0 {
			t.Errorf("%q\nto %q: %q", before, after, got)
		}
	})
}

// drawChanges draws a changeset that turns the files before into those after, with some deletions and creations merged into renames.
func drawChanges(t *rapid.T, before, after map[string]string) (cs workspace.Changeset) {
	var gone []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now, ok := after[name]; !ok {
			gone = append(gone, name)
		} else if now != before[name] {
			cs.Changes = append(cs.Changes, modify(name, before[name], now).Changes...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; ok {
			continue
		}
		c := create(name, after[name]).Changes[0]
		if len(gone) > 0 && rapid.Bool().Draw(t, "rename") {
			c.Op, c.From, c.Before = workspace.Rename, gone[0], []byte(before[gone[0]])
			gone = gone[1:]
		}
		cs.Changes = append(cs.Changes, c)
	}
	for _, name := range gone {
		cs.Changes = append(cs.Changes, remove(name, before[name]).Changes...)
	}
	cs.Changes = cs.Sorted()
	return cs
}

// A new test without a body takes nothing away and is shown. A test that lost its body, or that replaces a removed test, blocks.
func TestANewTestWithoutABodyIsShown(t *testing.T) {
	t.Parallel()
	old := pyTest("assert f()")
	for name, c := range map[string]struct {
		after string
		block bool
	}{
		"one more":           {old + "def test_more():\n    pass\n", false},
		"in place of one":    {"def test_more():\n    pass\n", true},
		"in place of a line": {strings.Replace(old, "    assert f()\n", "", 1) + "def test_more():\n    pass\n", true},
		"its body went":      {"def test_total():\n    pass\n", true},
		"its body went on":   {strings.Replace(old, "():\n", "():\n    pass\n\ndef other():\n", 1), true},
	} {
		holds := ReviewText(modify("test_a.py", old, c.after), nil)
		block := slices.ContainsFunc(holds, func(h Hold) bool { return h.Block })
		if block != c.block || !slices.ContainsFunc(holds, func(h Hold) bool { return h.Kind == WeakerTest && strings.Contains(h.Reason, noBody) }) {
			t.Errorf("%s: %+v", name, holds)
		}
	}
}

// A decorator of several lines does not hide another one above it.
func TestANewTestIsSkippedOnAConditionBeyondItsParameters(t *testing.T) {
	t.Parallel()
	old := pyTest("assert f()")
	skipped := "@pytest.mark.skipif(WIN, reason=\"\")\n@pytest.mark.parametrize(\n    (\"a\", \"b\"),\n    [\n        (1, 2),\n    ],\n)\ndef test_more(a, b):\n    assert f(a, b)\n"
	if got := weakOf(modify("test_a.py", old, old+skipped)); len(got) > 0 {
		t.Errorf("%q", got)
	}
	was := skipped[strings.Index(skipped, "@pytest.mark.para"):]
	if got := kindsOf(modify("test_a.py", old+was, old+skipped)); got != WeakerTest {
		t.Errorf("of a test that was there: %q", got)
	}
}

// A file's language decides whether its tests are read.
func TestWhichTestsAreRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"tests/test_a.py": true, "a.test.ts": true, "a_test.go": true, "a.zig": false, "tests/data.json": false, "run": false} {
		if got := testform.Known(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
