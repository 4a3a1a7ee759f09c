package contrary

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

// Only expected values are changed, whatever the form of the assertion.
func TestOnlyWhatIsExpectedChanges(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		// A line, and what remains of it: "…" stands for the expected value.
		"a_test.py": {
			"    assert f(200, 10) == 180|    assert f(200, 10) == …",
			"    assert f(200, 10) == 180, \"a reason\"|    assert f(200, 10) == …, \"a reason\"",
			"    assert f(2, \"x\") == pytest.approx(1.5)|    assert f(2, \"x\") == pytest.approx(….5)",
			"    assert f(2) == [3, 4]|    assert f(2) == […, 4]",
			"    assert f(2) == {\"a\": 1}|    assert f(2) == {\"…a\": 1}",
			"        self.assertEqual(f(2, 3), 6)|        self.assertEqual(f(2, 3), …)",
			"        self.assertEqual(f(2), [3, 4])|        self.assertEqual(f(2), […, 4])", "        self.assertTrue(f(2, 3))|=", "        self.assertTrue(f([2, 3], [4]))|=",
			"        self.assertEqual(6, f(2, 3))|        self.assertEqual(…, f(2, 3))",
			"    with pytest.raises(ValueError, match=\"too much\"):|    with pytest.raises(ValueError, match=\"…too much\"):",
			"    got = f(200, 10)|=", "    assert f(200, 10)|=", "    for n in [1, 2]:|=", "    assert f(a1) == b2|=", "# assert f(1) == 2|=",
		},
		"a_test.go": {
			"\tif got := F(200, 10); got != 180 {|\tif got := F(200, 10); got != … {",
			"\tif got := F(2); got != \"two\" {|\tif got := F(2); got != \"…two\" {",
			"\t\t{in: 5, want: 6},|\t\t{in: 5, want: …},",
			"\twant := 7|\twant := …",
			"\tassert.Equal(t, 6, F(2, 3))|\tassert.Equal(t, …, F(2, 3))",
			"\trequire.Equal(t, F(2, 3), 6)|\trequire.Equal(t, F(2, 3), …)",
			"\tgot := F(200, 10)|=", "\tfor i := 0; i < 3; i++ {|=",
		},
		"a.test.ts": {
			"  assert.equal(reduced(200, 10), 180);|  assert.equal(reduced(200, 10), …);",
			"  assert.deepEqual(f(2), [1, 2]);|  assert.deepEqual(f(2), […, 2]);", "  assert.equal(6, f(2, 3));|  assert.equal(…, f(2, 3));", "  assert.ok(f(2, 3));|=",
			"  expect(reduced(200, 10)).toBe(180);|  expect(reduced(200, 10)).toBe(…);",
			"  expect(names(2)).toEqual(['a', 'b']);|  expect(names(2)).toEqual(['…a', 'b']);",
			"  expect(f(2)).to.deep.equal({ a: 1 });|  expect(f(2)).to.deep.equal({ a: … });",
			"  t.is(f(2), 'two');|  t.is(f(2), '…two');",
			"  assert(f(2) === 3);|  assert(f(2) === …);",
			"  const got = reduced(200, 10);|=", "test(\"adds 2\", () => {|=",
		},
	} {
		for _, line := range lines {
			was, want, _ := strings.Cut(line, "|")
			text := was + "\n"
			now := otherwise(lang.Of(name), text)
			if want == "=" {
				if now != text {
					t.Errorf("%s: %q became %q", name, was, now)
				}
				continue
			}
			head, tail, _ := strings.Cut(want, "…")
			if now == text || !strings.HasPrefix(now, head) || !strings.HasSuffix(now, tail+"\n") || len(now) <= len(head)+len(tail)+1 {
				t.Errorf("%s: %q became %q", name, was, now)
			}
		}
	}
}

// Another value always differs and has a similar size: what fits in a byte still does.
func TestOtherValues(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"0", "1", "63", "64", "100", "127", "200", "255", "65535", "-5", "2.5"} {
		for range 200 {
			now := other(value)
			if now == value || len(value) < 4 && len(now) > 3 && !strings.ContainsAny(value, "-.") || strings.HasPrefix(value, "-") != strings.HasPrefix(now, "-") {
				t.Fatalf("%s became %s", value, now)
			}
		}
	}
	if a, b := other(`"a"`), other(`"a"`); a == `"a"` || a == b || !strings.HasSuffix(a, `a"`) {
		t.Errorf("%s, %s", a, b)
	}
}

// question returns a question about a small program in which the patch changes the price.
func question(t *testing.T, files map[string]string) *Question {
	t.Helper()
	before := map[string]string{
		"price.py": "def reduced(a, b):\n    return a\n", "till.py": "TILL = 1\n", "README.md": "1\n",
		"tests/test_price.py": "from price import reduced\n\n\ndef test_one():\n    assert reduced(2, 1) == 2\n\n\ndef test_two():\n    assert reduced(3, 1) == 3\n",
		"tests/test_till.py":  "def test_till():\n    assert 1 == 1\n", "tests/test_none.py": "def test_none():\n    assert True\n",
	}
	base := verifytest.Scan(t, before)
	cs := verifytest.Change(t, base, files)
	var tests []check.TestResult
	for _, id := range []string{"tests/test_price.py::test_one", "tests/test_price.py::test_two", "tests/test_till.py::test_till", "tests/test_none.py::test_none"} {
		tests = append(tests, check.TestResult{ID: id, Outcome: "passed"})
	}
	tests = append(tests, check.TestResult{ID: "tests/test_price.py::test_old", Outcome: "failed"})
	return Ask(check.NewView(base, workspace.Changeset{}), check.NewView(base, cs), tests, cs)
}

// ended returns the outcome of a run in which the tests end like this.
func ended(outcomes map[string]string) (out check.Outcome) {
	for id, outcome := range outcomes {
		out.Tests = append(out.Tests, check.TestResult{ID: id, Outcome: outcome})
	}
	return out
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"text alone": {"README.md": "2\n"}, "another language": {"a.js": "let a = 1;\n"},
	} {
		if q := question(t, files); q != nil {
			t.Errorf("%s: %v is asked", name, q.Tests)
		}
	}
	q := question(t, map[string]string{"price.py": "def reduced(a, b):\n    return a + 0\n"})
	if want := []string{"tests/test_price.py::test_one", "tests/test_price.py::test_two", "tests/test_till.py::test_till"}; !slices.Equal(q.Tests, want) {
		t.Errorf("asked are %v, want %v", q.Tests, want)
	}
	patched, cs, ok := q.Next()
	if !patched || !ok || len(cs.Changes) != 2 || cs.Changes[0].Path != "tests/test_price.py" || strings.Contains(string(cs.Changes[0].After), "== 2\n") {
		t.Errorf("%v, %v, %+v", patched, ok, cs)
	}
}

// If there are many files, the ones asked contain most of the words that the patch changes, wherever their names sort.
func TestTheNearestFilesAreAsked(t *testing.T) {
	t.Parallel()
	files := map[string]string{"price.py": "def taxed(a):\n    return a\n\n\ndef reduced(a, b):\n    return a - b\n"}
	var tests []check.TestResult
	for _, name := range strings.Fields("a b c d e f g h i z") {
		file := "tests/test_" + name + ".py"
		files[file] = "import price\n\n\ndef test_one():\n    assert price.taxed(1) == 1\n"
		tests = append(tests, check.TestResult{ID: file + "::test_one", Outcome: "passed"})
	}
	files["tests/test_z.py"] = "import price\n\n\ndef test_one():\n    assert price.reduced(3, 1) == 2\n"
	base := verifytest.Scan(t, files)
	cs := verifytest.Change(t, base, map[string]string{"price.py": strings.Replace(files["price.py"], "a - b", "b - a", 1)})
	first := map[string]bool{}
	for range 20 {
		q := Ask(check.NewView(base, workspace.Changeset{}), check.NewView(base, cs), tests, cs)
		if len(q.files) != mostFiles || q.files[0] != "tests/test_z.py" {
			t.Fatalf("asked are %v", q.files)
		}
		first[q.files[1]] = true
	}
	if len(first) < 2 {
		t.Errorf("of files that say as much the same one is always drawn: %v", first)
	}
}

// A test is held if it passes with other values, twice, and fails with them on the program as it was.
func TestWhatIsHeld(t *testing.T) {
	t.Parallel()
	const one, two = "tests/test_price.py::test_one", "tests/test_price.py::test_two"
	all := func(outcome string) check.Outcome { return ended(map[string]string{one: outcome, two: outcome}) }
	late := check.Outcome{Verdict: check.Timeout}
	for name, c := range map[string]struct {
		runs    []check.Outcome // on the patch, on the base, on the patch
		held    bool
		trouble bool
	}{
		"an honest patch":           {[]check.Outcome{all("failed")}, false, false},
		"passes whatever":           {[]check.Outcome{all("passed"), all("failed"), all("passed")}, true, false},
		"one of two":                {[]check.Outcome{ended(map[string]string{one: "failed", two: "passed"}), all("failed"), all("passed")}, true, false},
		"asserted nothing before":   {[]check.Outcome{all("passed"), all("passed")}, false, false},
		"skipped before":            {[]check.Outcome{all("passed"), all("skipped")}, false, false},
		"by chance the other value": {[]check.Outcome{all("passed"), all("failed"), all("failed")}, false, false},
		"does not end":              {[]check.Outcome{late}, false, true},
		"does not end without":      {[]check.Outcome{all("passed"), late}, false, true},
		"is not collected":          {[]check.Outcome{{}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, texts := question(t, map[string]string{"price.py": "def reduced(a, b):\n    return a + 0\n"}), []string{}
			for i, out := range c.runs {
				patched, cs, ok := q.Next()
				if !ok || patched != (i != 1) {
					t.Fatalf("run %d: %v, %v", i, patched, ok)
				}
				texts = append(texts, string(cs.Changes[0].After))
				q.Ended(out)
			}
			if _, _, more := q.Next(); more {
				t.Error("more is asked")
			}
			if len(texts) == 3 && (texts[0] != texts[1] || texts[1] == texts[2]) {
				t.Errorf("the values of the runs are not as they must be: %q", texts)
			}
			holds := q.Holds()
			if c.held != (len(holds) == 1 && holds[0].Kind == policy.Runner && holds[0].Block && holds[0].Path == "price.py") || c.trouble != (q.Trouble() != "") {
				t.Errorf("%+v, %q", holds, q.Trouble())
			}
		})
	}
}

// Each process assigns the parameters of a set to test IDs anew.
func TestParametersThatTradePlacesSayNothing(t *testing.T) {
	t.Parallel()
	const one, two = "tests/test_price.py::test_one[set0]", "tests/test_price.py::test_one[set1]"
	first, second := map[string]string{one: "passed", two: "failed"}, map[string]string{one: "failed", two: "passed"}
	both, none := map[string]string{one: "passed", two: "passed"}, map[string]string{one: "failed", two: "failed"}
	for name, c := range map[string]struct {
		runs []map[string]string
		held bool
	}{
		"trade places":            {[]map[string]string{first, second}, false},
		"pass all with the patch": {[]map[string]string{both, second, both}, true},
		"passed by chance":        {[]map[string]string{both, second, first}, false},
		"one with the patch":      {[]map[string]string{first, none, first}, true},
	} {
		q := question(t, map[string]string{"price.py": "def reduced(a, b):\n    return a + 0\n"})
		q.Tests, q.all = []string{one, two}, map[string][]string{"tests/test_price.py": {one, two}}
		for i, ends := range c.runs {
			if _, _, ok := q.Next(); !ok {
				t.Fatalf("%s: run %d is not due", name, i)
			}
			q.Ended(ended(ends))
		}
		if _, _, more := q.Next(); more || (len(q.Holds()) > 0) != c.held {
			t.Errorf("%s: more %v, %+v", name, more, q.Holds())
		}
	}
}
