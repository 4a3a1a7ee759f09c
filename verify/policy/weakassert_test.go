package policy

import (
	"strings"
	"testing"
)

// A swap is the body of a test, before and after.
type swap struct{ before, after string }

// softerPython and the like have test bodies, the second of which asks less.
var (
	softerPython = []swap{
		{`assert x == "y"`, `assert x`},
		{`assert total(cart) == 3`, `assert total(cart)`},
		{`assert total(cart) == 3`, `assert total(cart) is not None`},
		{`assert total(cart) == 3`, `assert total(cart) != 4`},
		{`assert total(cart) == 3`, `assert total(cart) >= 0`},
		{`assert total(cart) == 3`, `assert total(cart) in (1, 2, 3)`},
		{`assert name(cart) == "abc"`, `assert name(cart).startswith("a")`},
		{`assert name(cart) == "abc"`, `assert isinstance(name(cart), str)`},
		{`assert name(cart) == "abc"`, `assert "a" in name(cart)`},
		{`assert total(cart) == 3`, `assert total(cart) == 3 or total(cart) == 4`},
		{`assert total(cart) == 3`, `assert total(cart) == total(cart)`},
		{`assert total(cart) == 3`, `assert total(cart) == ANY`},
		{`assert total(cart) == 3`, `assert total(cart) is total(cart)`},
		{`assert total(cart) == 3`, `assert type(total(cart)) == int`},
		{`assert total(cart) == 3`, `assert lambda: total(cart) == 3`},
		{`assert total(cart) == 3`, `assert total(cart) == 3 if cart else True`},
		{`self.assertEqual(a, b)`, `self.assertEqual(a, mock.ANY)`},
		{`self.assertEqual(a, b)`, `self.assertEqual(type(a), int)`},
		{`self.assertEqual(a, b)`, `self.assertEqual(bool(a), True)`},
		{`self.assertEqual(a, [1])`, `self.assertEqual(len(a), 1)`},
		{`assert items(cart) == [1, 2]`, `assert len(items(cart)) == 2`},
		{`assert items(cart) == [1, 2]`, `assert items(cart)`},
		{`assert (a, b) == (1, 2)`, `assert (a, b)`},
		{`assert a == 1 and b == 2`, `assert a == 1`},
		{`assert a == 1 and b == 2`, `assert b == 2`},
		{`assert a == 1 and b == 2`, `assert a == 1 or b == 2`},
		{`assert a == 1 and b == 2`, `assert a == 1 and b`},
		{`assert left == 1 and right == 2`, `assert left == 2`},
		{`assert a > 1 and a < 5`, `assert a > 1`},
		{"assert (\n    total(cart)\n    == 3\n)", "assert (\n    total(cart)\n)"},
		{"result = total(cart)\nassert result == 3", "value = total(cart)\nassert value"},
		{"assert a == 1\nassert b == 2", "assert a == 1\nassert b"},
		{"assert \"a\" in name(cart)", "assert name(cart)"},
		{`assert "a" in name(cart)`, `assert "" in name(cart)`},
		{`assert total(cart) > 3`, `assert total(cart)`},
		{`assert x == approx(1.5)`, `assert x == approx(1.5, abs=1e9)`},
		{`assert x == pytest.approx(1.5, rel=1e-3)`, `assert x == pytest.approx(1.5, rel=0.5)`},
		{`self.assertEqual(a, b)`, `self.assertTrue(a)`},
		{`self.assertEqual(a, b)`, `self.assertTrue(a or b)`},
		{`self.assertEqual(a, b)`, `self.assertIsNotNone(a)`},
		{`self.assertEqual(a, b)`, `self.assertNotEqual(a, 4)`},
		{`self.assertEqual(a, b)`, `self.assertIn(a, [b, 3])`},
		{`self.assertEqual(a, b)`, `self.assertEqual(a, a)`},
		{`self.assertEqual(a, b)`, `self.assertIsInstance(a, int)`},
		{`self.assertEqual(a, b)`, `self.assertGreater(a, 0)`},
		{`self.assertAlmostEqual(a, 1.5)`, `self.assertAlmostEqual(a, 1.5, delta=100)`},
		{`self.assertAlmostEqual(a, 1.5)`, `self.assertAlmostEqual(a, 1.5, places=-3)`},
		{"with pytest.raises(ValueError, match=\"bad\"):\n    cart.add(None)", "with pytest.raises(Exception):\n    cart.add(None)"},
		{"with pytest.raises(ValueError):\n    cart.add(None)", "with pytest.raises(Exception):\n    cart.add(None)"},
		{"with pytest.raises(ValueError, match=\"bad\"):\n    cart.add(None)", "with pytest.raises(ValueError):\n    cart.add(None)"},
		{"with self.assertRaises(KeyError):\n    cart.add(None)", "with self.assertRaises(BaseException):\n    cart.add(None)"},
		{`send.assert_called_once_with(3)`, `send.assert_called()`},
		{"assert total(cart) == 3", "if False:\n    assert total(cart) == 3"},
		{"assert total(cart) == 3", "if 0:\n    assert total(cart) == 3"},
		{"assert total(cart) == 3", "return\nassert total(cart) == 3"},
		{"assert total(cart) == 3", "for _ in []:\n    assert total(cart) == 3"},
		{"assert total(cart) == 3", "try:\n    assert total(cart) == 3\nexcept AssertionError:\n    pass"},
		{"assert total(cart) == 3", "with contextlib.suppress(AssertionError):\n    assert total(cart) == 3"},
	}
	softerScript = []swap{
		{`expect(x).toEqual(y);`, `expect(x).toBeTruthy();`},
		{`expect(x).toEqual(y);`, `expect(x).toBeDefined();`},
		{`expect(x).toEqual(y);`, `expect(x).not.toBeNull();`},
		{`expect(x).toEqual(y);`, `expect(x).not.toEqual(z);`},
		{`expect(x).toEqual(y);`, `expect(x).toEqual(expect.anything());`},
		{`expect(x).toEqual(y);`, `expect(x).toEqual(expect.objectContaining({}));`},
		{`expect(x).toEqual(y);`, `expect(x).toEqual(x);`},
		{`expect(x).toStrictEqual(y);`, `expect(x).toEqual(y);`},
		{`expect(x).toStrictEqual(y);`, `expect(x).toMatchObject(y);`},
		{`expect(x).toStrictEqual([1, 2]);`, `expect(x).toHaveLength(2);`},
		{`expect(x).toBe(3);`, `expect(x).toBeGreaterThan(0);`},
		{`expect(name).toBe('abc');`, `expect(name).toContain('a');`},
		{`expect(name).toBe('abc');`, `expect(typeof name).toBe('string');`},
		{`expect(name).toBe('abc');`, `expect(name.length).toBe(3);`},
		{`expect(name).toContain('abc');`, `expect(name).toContain('');`},
		{"expect(\n      x\n    ).toEqual(y);", "expect(\n      x\n    ).toBeDefined();"},
		{"expect(x)\n      .toEqual(y);", "expect(x)\n      .toBeTruthy();"},
		{`expect(a === 1 && b === 2).toBe(true);`, `expect(a === 1).toBe(true);`},
		{`await expect(load()).resolves.toEqual(y);`, `await expect(load()).resolves.toBeDefined();`},
		{`expect(() => add()).toThrow('bad');`, `expect(() => add()).toThrow();`},
		{`expect(send).toHaveBeenCalledWith(3);`, `expect(send).toHaveBeenCalled();`},
		{`expect(x).to.equal(3);`, `expect(x).to.exist;`},
		{`expect(x).to.deep.equal(y);`, `expect(x).to.be.ok;`},
		{`assert.equal(x, 3);`, `assert.ok(x);`},
		{`assert.strictEqual(x, 3);`, `assert.equal(x, 3);`},
		{`assert.deepStrictEqual(x, y);`, `assert(x);`},
		{`assert(x === 3);`, `assert(x);`},
		{`assert(x === 3);`, `assert(x === 3 || y);`},
		{`assert(x === 3);`, `assert(x !== 4);`},
		{`expect(x).toBe(3);`, `if (false) { expect(x).toBe(3); }`},
		{`expect(x).toBe(3);`, "return;\n    expect(x).toBe(3);"},
	}
	softerGo = []swap{
		{"require.Equal(t, 3, x)", "require.NotNil(t, x)"},
		{"assert.Equal(t, 3, x)", "assert.NotEmpty(t, x)"},
		{"assert.Equal(t, 3, x)", "assert.Equal(t, x, x)"},
		{"assert.Equal(t, 3, x)", "assert.True(t, x > 0)"},
		{"assert.Equal(t, list, x)", "assert.Len(t, x, 2)"},
		{"assert.Equal(t, name, x)", "assert.Contains(t, x, name)"},
		{"assert.ErrorIs(t, err, errBad)", "assert.Error(t, err)"},
		{"assert.InDelta(t, 1.5, x, 0.001)", "assert.InDelta(t, 1.5, x, 1000)"},
		{"if x != 3 {\n\t\tt.Errorf(\"got %d\", x)\n\t}", "if x == 0 {\n\t\tt.Errorf(\"got %d\", x)\n\t}"},
		{"if x != 3 {\n\t\tt.Errorf(\"got %d\", x)\n\t}", "if x < 0 {\n\t\tt.Errorf(\"got %d\", x)\n\t}"},
		{"if x != 3 {\n\t\tt.Errorf(\"got %d\", x)\n\t}", "if x != 3 && x != 4 {\n\t\tt.Errorf(\"got %d\", x)\n\t}"},
		{"if x != 3 || y != 4 {\n\t\tt.Errorf(\"got %d\", x)\n\t}", "if x != 3 {\n\t\tt.Errorf(\"got %d\", x)\n\t}"},
		{"if !reflect.DeepEqual(got, want) {\n\t\tt.Error(got)\n\t}", "if got == nil {\n\t\tt.Error(got)\n\t}"},
		{"if got := f(); got != want {\n\t\tt.Error(got)\n\t}", "if got := f(); got == \"\" {\n\t\tt.Error(got)\n\t}"},
		{"if diff := cmp.Diff(want, got); diff != \"\" {\n\t\tt.Error(diff)\n\t}", "if len(got) != len(want) {\n\t\tt.Error(got)\n\t}"},
		{"if x != 3 {\n\t\tt.Error(x)\n\t}", "if false {\n\t\tif x != 3 {\n\t\t\tt.Error(x)\n\t\t}\n\t}"},
		{"if x != 3 {\n\t\tt.Error(x)\n\t}", "return\n\tif x != 3 {\n\t\tt.Error(x)\n\t}"},
	}
)

// asMuchPython and the like have test bodies, the second of which asks as much of a program, or more.
var (
	asMuchPython = []swap{
		{`assert total(cart) == 3`, `assert total(cart) == 4`},
		{`assert total(cart) == 3`, `assert 3 == total(cart)`},
		{`assert total(cart) == 3`, `assert total(cart) == 3, "three"`},
		{`assert total(cart) == 3`, `assert total(basket) == 3`},
		{`assert total(cart) == 3`, "result = total(cart)\nassert result == 3"},
		{`assert total(cart) == 3`, "assert (\n    total(cart)\n    == 3\n)"},
		{`assert total(cart) == 3`, `assert (total(cart) == 3)`},
		{`assert total(cart) == 3`, `self.assertEqual(total(cart), 3)`},
		{`self.assertEqual(total(cart), 3)`, `assert total(cart) == 3`},
		{`self.assertTrue(total(cart) == 3)`, `self.assertEqual(total(cart), 3)`},
		{`self.assertTrue(ok)`, `assert ok`},
		{`self.assertEqual(ok, True)`, `self.assertTrue(ok)`},
		{`assert ok == True`, `assert ok`},
		{`assert ok is True`, `assert ok`},
		{`assert ok == False`, `assert not ok`},
		{`assert ok == None`, `assert ok is None`},
		{`assert items == []`, `assert not items`},
		{`assert len(items) == 0`, `assert not items`},
		{`self.assertEqual(items, [])`, `self.assertFalse(items)`},
		{`assert a == 1 and b == 2`, "assert a == 1\nassert b == 2"},
		{"assert a == 1\nassert b == 2", `assert a == 1 and b == 2`},
		{"assert a == 1\nassert b == 2", `assert (a, b) == (1, 2)`},
		{"assert a > 0 and a < 5", `assert 0 < a < 5`},
		{"assert a == 1\nassert b == 2", "assert c is not None\nassert (a, b) == (1, 2)"},
		{`assert x == {"a": 1, "b": 2}`, "assert x[\"a\"] == 1\nassert x[\"b\"] == 2"},
		{`assert items == [1, 2]`, "assert len(items) == 2\nassert items[0] == 1\nassert items[1] == 2"},
		{"assert f(1) == 1\nassert f(2) == 2", "for n in (1, 2):\n    assert f(n) == n"},
		{"assert f(1) == 1\nassert f(2) == 2", "for n, want in ((1, 1), (2, 2)):\n    assert f(n) == want, n"},
		{`assert x == 0.3`, `assert x == pytest.approx(0.3)`},
		{`assert x == 0.3`, `assert x == pytest.approx(0.3, abs=1e-6)`},
		{`assert x == 0.3`, `assert math.isclose(x, 0.3)`},
		{`assert x == pytest.approx(0.3)`, `assert x == pytest.approx(0.4)`},
		{`assert frame.equals(want)`, `assert_frame_equal(frame, want)`},
		{`assert x == want`, `np.testing.assert_allclose(x, want)`},
		{`assert x == want`, `assert same_tree(x, want)`},
		{`assert x == want`, `check_tree(x, want)`},
		{"with pytest.raises(ValueError):\n    f()", "with pytest.raises(KeyError):\n    f()"},
		{"with pytest.raises(Exception):\n    f()", "with pytest.raises(ValueError):\n    f()"},
		{"with pytest.raises(ValueError):\n    f()", "with pytest.raises(ValueError, match=\"bad\"):\n    f()"},
		{"with self.assertRaises(ValueError):\n    f()", "with pytest.raises(ValueError):\n    f()"},
		{"assert f() == 3", "with pytest.raises(ValueError):\n    f()"},
		{"assert f() is not None", "assert f() == 3"},
		{"assert f()", "assert f() in (1, 2)"},
		{"send.assert_called()", "send.assert_called_once_with(3)"},
		{"assert response.status_code == 200", "assert response.status_code == 201"},
		{"assert response.status_code == 200", "assert response.status_code == HTTPStatus.OK"},
		{"assert x != 3", "assert x == 4"},
		{"assert f(a, b) == 3", "assert f(\n    a,\n    b,\n) == 3"},
		{"assert x == 3", "if not ready(x):\n    return\nassert x == 3"},
		{"assert x == 3", "try:\n    start(x)\nexcept KeyError:\n    raise\nassert x == 3"},
		{"assert isinstance(x, Cart)", "assert type(x) is Cart"},
		{"assert \"a\" in text", "assert \"b\" in text"},
		{"assert a == 1\nassert b", "assert b\nassert a == 1"},
	}
	asMuchScript = []swap{
		{`expect(x).toBe(3);`, `expect(x).toBe(4);`},
		{`expect(x).toBe(3);`, `expect(x).toEqual(3);`},
		{`expect(x).toEqual(y);`, `expect(x).toStrictEqual(y);`},
		{`expect(x).toEqual(y);`, "expect(\n      x,\n    ).toEqual(\n      y,\n    );"},
		{`expect(x === 3).toBe(true);`, `expect(x).toBe(3);`},
		{`expect(list.length).toBe(2);`, `expect(list).toHaveLength(2);`},
		{`expect(ok).toBe(true);`, `expect(ok).toBeTruthy();`},
		{`expect(x).toBe(null);`, `expect(x).toBeNull();`},
		{`expect(x).toBe(undefined);`, `expect(x).toBeUndefined();`},
		{`assert.equal(x, 3);`, `expect(x).toBe(3);`},
		{`assert.deepStrictEqual(x, y);`, `expect(x).toEqual(y);`},
		{`expect(x).to.equal(3);`, `expect(x).toBe(3);`},
		{`expect(x).toBe(0.3);`, `expect(x).toBeCloseTo(0.3);`},
		{`expect(x).toEqual({ a: 1 });`, `expect(x.a).toBe(1);`},
		{"expect(x.a).toBe(1);\n    expect(x.b).toBe(2);", `expect(x).toMatchObject({ a: 1, b: 2 });` + "\n    expect(x).toEqual({ a: 1, b: 2 });"},
		{`expect(f).toThrow();`, `expect(f).toThrow('bad');`},
		{`expect(f).toThrow('bad');`, `expect(f).toThrow('worse');`},
		{`expect(send).toHaveBeenCalled();`, `expect(send).toHaveBeenCalledWith(3);`},
		{`expect(x).toBe(3);`, `await expect(load()).resolves.toBe(3);`},
		{`expect(x).toEqual(y);`, `expect(x).toMatchSnapshot();`},
		{`assert(x === 3);`, `assert.strictEqual(x, 3);`},
		{`expect(x).toBe(3);`, "if (!ready) {\n      return;\n    }\n    expect(x).toBe(3);"},
		{`expect(x).toBe(3);`, "const value = x;\n    expect(value).toBe(3);"},
	}
	asMuchGo = []swap{
		{"assert.Equal(t, 3, x)", "assert.Equal(t, 4, x)"},
		{"assert.Equal(t, 3, x)", "require.Equal(t, 3, x)"},
		{"assert.Equal(t, nil, err)", "assert.NoError(t, err)"},
		{"assert.True(t, x == 3)", "assert.Equal(t, 3, x)"},
		{"assert.Error(t, err)", "assert.ErrorIs(t, err, errBad)"},
		{"assert.Equal(t, 2, len(x))", "assert.Len(t, x, 2)"},
		{"if x != 3 {\n\t\tt.Errorf(\"got %d\", x)\n\t}", "if x != 4 {\n\t\tt.Fatalf(\"got %d, want 4\", x)\n\t}"},
		{"if x != 3 {\n\t\tt.Error(x)\n\t}", "if got := x; got != 3 {\n\t\tt.Error(got)\n\t}"},
		{"if x != 3 {\n\t\tt.Error(x)\n\t}", "assert.Equal(t, 3, x)"},
		{"if !reflect.DeepEqual(got, want) {\n\t\tt.Error(got)\n\t}", "if diff := cmp.Diff(want, got); diff != \"\" {\n\t\tt.Error(diff)\n\t}"},
		{"if !reflect.DeepEqual(got, want) {\n\t\tt.Error(got)\n\t}", "if !slices.Equal(got, want) {\n\t\tt.Error(got)\n\t}"},
		{"if x != 3 || y != 4 {\n\t\tt.Error(x)\n\t}", "if x != 3 {\n\t\tt.Error(x)\n\t}\n\tif y != 4 {\n\t\tt.Error(y)\n\t}"},
		{"if x != 3 {\n\t\tt.Error(x)\n\t}", "for _, c := range cases {\n\t\tif c.x != c.want {\n\t\t\tt.Error(c.x)\n\t\t}\n\t}"},
		{"if err == nil {\n\t\tt.Fatal(\"no error\")\n\t}", "if !errors.Is(err, errBad) {\n\t\tt.Fatal(err)\n\t}"},
		{"if x != 3 {\n\t\tt.Error(x)\n\t}", "if slow {\n\t\treturn\n\t}\n\tif x != 3 {\n\t\tt.Error(x)\n\t}"},
	}
)

// testBodies has the tables of each language, and the function that makes a test of a body.
var testBodies = []struct {
	file           string
	test           func(string) string
	softer, asMuch []swap
}{
	{"test_a.py", pyTest, softerPython, asMuchPython},
	{"a.test.ts", jsTest, softerScript, asMuchScript},
	{"a_test.go", goTest, softerGo, asMuchGo},
}

func TestAnAssertionThatAsksLessIsHeld(t *testing.T) {
	t.Parallel()
	for _, lang := range testBodies {
		for _, c := range lang.softer {
			if got := kindsOf(modify(lang.file, lang.test(c.before), lang.test(c.after))); got != WeakerTest {
				t.Errorf("%s: %q\nto %q: %q", lang.file, c.before, c.after, got)
			}
		}
	}
}

func TestAnAssertionThatAsksAsMuchIsNotHeld(t *testing.T) {
	t.Parallel()
	for _, lang := range testBodies {
		for _, c := range lang.asMuch {
			if got := weakOf(modify(lang.file, lang.test(c.before), lang.test(c.after))); len(got) > 0 {
				t.Errorf("%s: %q\nto %q: %q", lang.file, c.before, c.after, got)
			}
		}
		// What was weak may become strong.
		for _, c := range lang.softer {
			if got := weakOf(modify(lang.file, lang.test(c.after), lang.test(c.before))); len(got) > 0 {
				t.Errorf("back, %s: %q\nto %q: %q", lang.file, c.after, c.before, got)
			}
		}
	}
}

// If this does not end, neither does the test run.
func TestHostileAssertionsAreComparedToAnEnd(t *testing.T) {
	t.Parallel()
	deep := "def test_a():\n    assert " + strings.Repeat("(", 40_000) + "\n"
	many := "def test_a():\n" + strings.Repeat("    assert (x == 1 and (y or\n", 8_000)
	weakOf(modify("test_a.py", deep, many))
	weakOf(modify("test_a.py", many, deep))
}
