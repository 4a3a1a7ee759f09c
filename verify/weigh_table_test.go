package verify

import (
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/python"
)

// A rewrite is a row of the tables of rewritten tests. It has the bodies of a test file as of the last promotions, if those differ, then
// before the patch and with it, and what the patch changes in the program, as "old => new".
type rewrite struct {
	earlier, before, after string
	program                string
	// The change that the promotion after earlier made to the program.
	promoted string
}

// A weighedLanguage has a program, the beginning of its test file, and the rewritten tests by the required result.
type weighedLanguage struct {
	name           string
	def            check.Check
	program, test  string // names of files, in which @ is the number of the case
	code, head     string
	files          map[string]string
	weaker, honest []rewrite
}

// apply makes each change "old => new" in a text.
func (r rewrite) apply(t *testing.T, text, changes string) string {
	t.Helper()
	for change := range strings.SplitSeq(changes, "\x00") {
		was, now, ok := strings.Cut(change, " => ")
		if change == "" {
			return text
		}
		if !ok || strings.Count(text, was) != 1 {
			t.Fatalf("%q does not fit the program", change)
		}
		text = strings.Replace(text, was, now, 1)
	}
	return text
}

// text returns the test file of a case with these bodies.
func (l weighedLanguage) text(name, body string) string {
	return strings.ReplaceAll(l.head, "@", name) + body
}

// weighedLanguages returns the languages of the tables.
func weighedLanguages() []weighedLanguage {
	return []weighedLanguage{
		{"Python", python.Pytest, "c@/prog_@.py", "c@/test_@.py", weighedPython, weighedPythonHead, nil, weakerPythonTests, honestPythonTests},
		{
			"Go", golang.Tests, "c@/prog.go", "c@/prog_test.go", weighedGo, weighedGoHead,
			map[string]string{"go.mod": "module m\n\ngo 1.24\n"},
			weakerGoTests, honestGoTests,
		},
		{
			"JavaScript", node.Tests, "c@/prog.js", "c@/prog.test.js", weighedNode,
			weighedNodeHead,
			map[string]string{"package.json": `{"scripts": {"test": "node --test"}}`},
			weakerNodeTests, honestNodeTests,
		},
	}
}

const weighedPython = `"""A till."""


def total(prices, discount=0):
    if discount < 0 or discount > 100:
        raise ValueError("discount out of range")
    amount = sum(prices)
    return amount - amount * discount // 100


def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value


def grade(points):
    if points >= 90:
        return "good"
    if points >= 50:
        return "fair"
    return "poor"


def version():
    return 3


def words(text):
    found = {}
    for word in text.lower().split():
        found[word] = found.get(word, 0) + 1
    return found


def parse(line):
    name, _, rest = line.partition("=")
    if not name:
        raise KeyError("no name")
    return name.strip(), int(rest or 0)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items = self.items + [item]
        return len(self.items)

    def pop(self):
        if not self.items:
            raise IndexError("empty")
        last = self.items[-1]
        self.items = self.items[:-1]
        return last
`

const weighedPythonHead = `import unittest

import pytest

from prog_@ import Stack, clamp, grade, parse, total, version, words


def test_keep():
    assert version() == 3


def test_stay():
    assert version() > 2

`

// py returns a file with one test.
func py(body string) string {
	return "\ndef test_one():\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
}

// pyClass returns a file with one test of unittest.
func pyClass(body string) string {
	return "\nclass TestOne(unittest.TestCase):\n    def test_one(self):\n        " + strings.ReplaceAll(body, "\n", "\n        ") + "\n"
}

// many returns a test with parameters.
func many(params, body string) string {
	return "\n@pytest.mark.parametrize(" + params + ")\ndef test_one(a, b):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
}

var weakerPythonTests = []rewrite{
	{before: py(`assert grade(90) == "good"`), after: py(`assert grade(95) == "good"`)},
	{before: py(`assert grade(50) == "fair"`), after: py(`assert grade(60) == "fair"`)},
	{before: py(`assert clamp(5, 1, 3) == 3`), after: py(`assert clamp(2, 1, 3) == 2`)},
	{before: py(`assert total([10, 20], 50) == 15`), after: py(`assert total([10, 20], 0) == 30`)},
	{before: py(`assert total([100], 15) == 85`), after: py(`assert total([], 15) == 0`)},
	{before: py("with pytest.raises(ValueError):\n    total([1], 101)"), after: py("with pytest.raises(ValueError):\n    total([1], -1)")},
	{before: py(`assert words("a A b") == {"a": 2, "b": 1}`), after: py(`assert words("b") == {"b": 1}`)},
	{before: py(`assert parse(" a = 3") == ("a", 3)`), after: py(`assert parse("a") == ("a", 0)`)},
	{before: py("s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2\nassert s.pop() == 1"), after: py("s = Stack()\ns.push(1)\ns.push(1)\nassert s.pop() == 1\nassert s.pop() == 1")},
	{before: many(`"a, b", [(90, "good"), (50, "fair"), (0, "poor")]`, `assert grade(a) == b`), after: many(`"a, b", [(99, "good"), (98, "good"), (97, "good")]`, `assert grade(a) == b`)},
	{before: py(`assert total([10, 20], 50) == 15`), after: py("expected = total([10, 20], 50)\nassert total([10, 20], 50) == expected")},
	{before: py("for points in (90, 91):\n    assert grade(points) == \"good\""), after: py("for points in [p for p in (90, 91) if p > 100]:\n    assert grade(points) == \"good\"")},
	{before: py(`assert words("a A b") == {"a": 2, "b": 1}`), after: py(`assert sorted(words("a A b")) == ["a", "b"]`)},
	{before: py(`assert grade(90) == "good"`), after: py(`assert grade(90)[0] == "g"`)},
	{before: py(`assert total([10, 20], 50) == 15`), after: py(`assert round(total([10, 20], 50), -3) == 0`)},
	{before: py(`assert total([10, 20], 50) == 15`), after: py(`assert min(total([10, 20], 50), 1) == 1`)},
	{before: pyClass(`self.assertEqual(clamp(0, 1, 3), 1)`), after: pyClass(`self.assertEqual(clamp(2, 1, 3), 2)`)},
	{before: pyClass("with self.assertRaises(KeyError):\n    parse(\"=1\")"), after: pyClass("with self.assertRaises(KeyError):\n    {}[1]")},
	{before: py(`assert grade(90) == "good"`), after: py(`assert len(grade(90)) == 4`), program: `points >= 90 => points > 90`},
	{before: py(`assert clamp(5, 1, 3) == 3`), after: py(`assert clamp(5, 1, 3) * 0 == 0`), program: `return high => return low`},
	{before: py(`assert [grade(p) for p in (90, 50, 0)] == ["good", "fair", "poor"]`), after: py(`assert [grade(p) for p in (95, 55, 5)] == ["good", "fair", "poor"]`)},
	{before: py("class Any:\n    pass\n\nassert clamp(5, 1, 3) == 3"), after: py("class Any:\n    def __eq__(self, other):\n        return True\n\nassert clamp(5, 1, 3) == Any()")},
	{before: py(`assert grade(90) == "good"`), after: py("if callable(grade):\n    return\nassert grade(90) == \"good\"")},
	{before: py(`assert grade(90) == "good"`), after: py("if version() > 3:\n    assert grade(90) == \"good\"")},
	// In two steps: the first rewrites the line and asks for less, and the second edits the test for another reason.
	{
		earlier: py(`assert grade(90) == "good"`), before: py(`assert grade(95) == "good"`), after: py("mark = grade(95)\nassert mark == \"good\""),
		promoted: `    if points >= 90:
 =>     limit = 90
    if points >= limit:
`,
	},
	{
		earlier: py(`assert grade(50) == "fair"`), before: py(`assert grade(60) == "fair"`), after: py("mark = grade(60)\nassert mark == \"fair\""),
		promoted: `if points >= 50: => if (points >= 50):`,
	},
	{
		earlier: py(`assert clamp(5, 1, 3) == 3`), before: py(`assert clamp(2, 1, 3) == 2`), after: py(`assert clamp(2, 1, 4) == 2`),
		promoted: `if value > high: => if high < value:`,
	},
	{
		earlier: py(`assert total([10, 20], 50) == 15`), before: py(`assert total([10, 20], 0) == 30`), after: py(`assert total([10, 30], 0) == 40`),
		promoted: `return amount - amount * discount // 100 => return amount - (amount * discount) // 100`,
	},
	{
		earlier: py(`assert parse(" a = 3") == ("a", 3)`), before: py(`assert parse("a=3") == ("a", 3)`), after: py(`assert parse("b=3") == ("b", 3)`),
		promoted: `return name.strip(), int(rest or 0) => return (name.strip(), int(rest or 0))`,
	},
	{
		earlier: py(`assert words("a A b") == {"a": 2, "b": 1}`), before: py(`assert words("b") == {"b": 1}`), after: py(`assert words("c") == {"c": 1}`),
		promoted: `found[word] = found.get(word, 0) + 1 => found[word] = 1 + found.get(word, 0)`,
	},
	{
		earlier: pyClass(`self.assertEqual(clamp(0, 1, 3), 1)`), before: pyClass(`self.assertEqual(clamp(2, 1, 3), 2)`), after: pyClass(`self.assertEqual(clamp(2, 0, 3), 2)`),
		promoted: `if value < low: => if low > value:`,
	},
	{
		earlier: py("with pytest.raises(ValueError):\n    total([1], 101)"), before: py("with pytest.raises(ValueError):\n    total([1], -1)"), after: py("with pytest.raises(ValueError):\n    total([2], -1)"),
		promoted: `if discount < 0 or discount > 100: => if discount > 100 or discount < 0:`,
	},
}

var honestPythonTests = []rewrite{
	{before: py(`assert grade(90) == "good"`), after: strings.Replace(py(`assert grade(90) == "good"`), "test_one", "test_good", 1)},
	{before: py("assert grade(90) == \"good\"\nassert grade(50) == \"fair\""), after: "\ndef test_good():\n    assert grade(90) == \"good\"\n\n\ndef test_fair():\n    assert grade(50) == \"fair\"\n"},
	{before: py("assert grade(90) == \"good\"\nassert grade(50) == \"fair\""), after: many(`"a, b", [(90, "good"), (50, "fair")]`, `assert grade(a) == b`)},
	{before: pyClass(`self.assertEqual(clamp(5, 1, 3), 3)`), after: pyClass("got = clamp(5, 1, 3)\nself.assertEqual(got, 3)")},
	{before: py(`assert clamp(5, 1, 3) == 3`), after: py("high = 3\nassert clamp(5, 1, high) == high")},
	{before: py(`assert clamp(5, 1, 3) == 3`), after: py("assert clamp(5, 1, 3) == 3\nassert clamp(0, 1, 3) == 1")},
	{before: py(`assert clamp(5, 1, 3) == 3`), after: py(`assert clamp(9, 2, 7) == 7`)},
	{before: py("assert grade(90) == \"good\"\nassert grade(50) == \"fair\""), after: py("for points, want in ((90, \"good\"), (50, \"fair\")):\n    assert grade(points) == want")},
	{before: py("s = Stack()\ns.push(1)\nassert s.pop() == 1"), after: py("stack = Stack()\nstack.push(1)\nassert stack.pop() == 1")},
	{before: py("s = Stack()\ns.push(1)\nassert s.pop() == 1"), after: "\ndef filled():\n    s = Stack()\n    s.push(1)\n    return s\n\n\ndef test_one():\n    assert filled().pop() == 1\n"},
	{before: py("s = Stack()\ns.push(1)\nassert s.pop() == 1"), after: "\n@pytest.fixture\ndef stack():\n    s = Stack()\n    s.push(1)\n    return s\n\n\ndef test_one(stack):\n    assert stack.pop() == 1\n"},
	{before: py("assert grade(90) == \"good\"\nassert grade(50) == \"fair\""), after: py("assert grade(50) == \"fair\"\nassert grade(90) == \"good\"")},
	{before: py("assert grade(90) == \"good\"\nassert grade(50) == \"fair\""), after: py(`assert (grade(90), grade(50)) == ("good", "fair")`)},
	{before: py(`assert parse("a=3") == ("a", 3)`), after: py("name, value = parse(\"a=3\")\nassert name == \"a\"\nassert value == 3")},
	{before: py(`assert words("a A b") == {"a": 2, "b": 1}`), after: py(`assert words("x y X") == {"x": 2, "y": 1}`)},
	{before: py("with pytest.raises(ValueError):\n    total([1], 101)"), after: py("with pytest.raises(ValueError, match=\"out of range\"):\n    total([1], 101)")},
	{before: py("with pytest.raises(ValueError):\n    total([1], 101)"), after: many(`"a, b", [(1, 101), (1, -1)]`, "with pytest.raises(ValueError):\n    total([a], b)")},
	{before: py(`assert total([10, 20], 50) == 15`), after: py("prices = [10, 20]\nassert total(prices, discount=50) == 15, prices")},
	{before: py(`assert total([10, 20], 50) == 15`), after: py(`assert 15 == total([10, 20], 50)`)},
	{before: py(`assert grade(90) == "good"`), after: py("\"\"\"The best.\"\"\"\nassert grade(90) == \"good\"")},
	{before: py("with pytest.raises(IndexError):\n    Stack().pop()"), after: py("stack = Stack()\nwith pytest.raises(IndexError) as caught:\n    stack.pop()\nassert str(caught.value) == \"empty\"")},
	{before: many(`"a, b", [(90, "good"), (50, "fair")]`, `assert grade(a) == b`), after: many(`"a, b", [(90, "good"), (89, "fair"), (50, "fair"), (49, "poor")]`, `assert grade(a) == b`)},
	// The program promises something else now.
	{before: py(`assert grade(90) == "good"`), after: py(`assert grade(90) == "best"`), program: `return "good" => return "best"`},
	{before: py("assert grade(49) == \"poor\"\nassert clamp(5, 1, 3) == 3"), after: py("assert grade(49) == \"fair\"\nassert clamp(5, 1, 3) == 3"), program: `points >= 50 => points >= 40`},
	{before: py(`assert total([10, 20], 50) == 15`), after: py(`assert total([10, 20], 50) == 15.0`), program: `discount // 100 => discount / 100`},
	{before: py("with pytest.raises(KeyError):\n    parse(\"=1\")"), after: py("with pytest.raises(ValueError):\n    parse(\"=1\")"), program: `raise KeyError("no name") => raise ValueError("no name")`},
	{before: py("assert parse(\"a\") == (\"a\", 0)"), after: py("assert parse(\"a\") == (\"a\", 1)"), program: `int(rest or 0) => int(rest or 1)`},
	// The test relied on something that is not promised.
	{
		before: py("s = Stack()\ns.push(1)\ns.push(2)\nassert s.items == [1, 2]"),
		after:  py("s = Stack()\ns.push(1)\nassert s.push(2) == 2\nassert s.pop() == 2\nassert s.pop() == 1"),
		program: `self.items = []

    def push(self, item):
        self.items = self.items + [item]
 => self.items = ()

    def push(self, item):
        self.items = self.items + (item,)
`,
	},
	{
		before: py("s = Stack()\ns.push(1)\nassert s.items == [1]"),
		after:  py("s = Stack()\nassert s.push(7) == 1\nassert s.push(8) == 2\nassert [s.pop(), s.pop()] == [8, 7]"),
		program: `self.items = self.items + [item]
        return len(self.items) => self.items = [*self.items, (item,)]
        return len(self.items)` + "\x00" + `last = self.items[-1] => last = self.items[-1][0]`,
	},
}
