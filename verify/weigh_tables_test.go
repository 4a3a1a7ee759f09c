package verify

import "strings"

const weighedGo = `package c

import (
	"errors"
	"strings"
)

var errEmpty = errors.New("empty")

func Total(prices []int, discount int) (int, error) {
	if discount < 0 || discount > 100 {
		return 0, errors.New("discount out of range")
	}
	amount := 0
	for _, p := range prices {
		amount += p
	}
	return amount - amount*discount/100, nil
}

func Clamp(value, low, high int) int {
	if value < low {
		return low
	}
	if value > high {
		return high
	}
	return value
}

func Grade(points int) string {
	if points >= 90 {
		return "good"
	}
	if points >= 50 {
		return "fair"
	}
	return "poor"
}

func Words(text string) map[string]int {
	found := map[string]int{}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		found[word] = found[word] + 1
	}
	return found
}

func version() int { return 3 }

type Stack struct {
	Items []int
}

func (s *Stack) Push(item int) int {
	s.Items = append(s.Items, item)
	return len(s.Items)
}

func (s *Stack) Pop() (int, error) {
	if len(s.Items) == 0 {
		return 0, errEmpty
	}
	last := s.Items[len(s.Items)-1]
	s.Items = s.Items[:len(s.Items)-1]
	return last, nil
}
`

const weighedGoHead = `package c

import "testing"

func TestKeep(t *testing.T) {
	if version() != 3 {
		t.Error(version())
	}
}

func TestStay(t *testing.T) {
	if version() < 3 {
		t.Error(version())
	}
}
`

// gt returns a file with one test.
func gt(body string) string {
	return "\nfunc TestOne(t *testing.T) {\n\t" + strings.ReplaceAll(body, "\n", "\n\t") + "\n}\n"
}

// gtWant returns a test of the value of an expression.
func gtWant(expression, want string) string {
	return gt("if got := " + expression + "; got != " + want + " {\n\tt.Errorf(\"got %v\", got)\n}")
}

// gtTable returns a test with several rows.
func gtTable(rows string) string {
	return gt("for _, c := range []struct {\n\tpoints int\n\twant string\n}{" + rows + "} {\n\tif got := Grade(c.points); got != c.want {\n\t\tt.Errorf(\"%d: got %s\", c.points, got)\n\t}\n}")
}

const goTotal = "got, err := Total([]int{10, 20}, %)\nif err != nil {\n\tt.Fatal(err)\n}\nif got != # {\n\tt.Errorf(\"got %d\", got)\n}"

// gtTotal returns a test of Total with an argument and a result.
func gtTotal(discount, want string) string {
	return gt(strings.NewReplacer("%)", discount+")", "#", want).Replace(goTotal))
}

var weakerGoTests = []rewrite{
	{before: gtWant("Grade(90)", `"good"`), after: gtWant("Grade(95)", `"good"`)},
	{before: gtWant("Grade(50)", `"fair"`), after: gtWant("Grade(60)", `"fair"`)},
	{before: gtWant("Clamp(5, 1, 3)", "3"), after: gtWant("Clamp(2, 1, 3)", "2")},
	{before: gtWant("Clamp(0, 1, 3)", "1"), after: gtWant("Clamp(1, 1, 3)", "1")},
	{before: gtTotal("50", "15"), after: gtTotal("0", "30")},
	{before: gtTable(`{90, "good"}, {50, "fair"}, {0, "poor"}`), after: gtTable(`{99, "good"}, {98, "good"}, {97, "good"}`)},
	{before: gtTable(`{90, "good"}, {50, "fair"}, {0, "poor"}`), after: gtTable(`{90, "good"}`)},
	{before: gtWant(`Words("a A b")["a"]`, "2"), after: gtWant(`Words("b")["b"]`, "1")},
	{before: gt("if _, err := Total([]int{1}, 101); err == nil {\n\tt.Error(\"no error\")\n}"), after: gt("if _, err := Total([]int{1}, -1); err == nil {\n\tt.Error(\"no error\")\n}")},
	{before: gt("s := &Stack{}\ns.Push(1)\ns.Push(2)\nif got, _ := s.Pop(); got != 2 {\n\tt.Errorf(\"got %d\", got)\n}"), after: gt("s := &Stack{}\ns.Push(2)\ns.Push(2)\nif got := s.Items[1]; got != 2 {\n\tt.Errorf(\"got %d\", got)\n}")},
	{before: gtWant("Grade(90)", `"good"`), after: gtWant("Grade(90)", "Grade(91)")},
	{
		earlier: gtWant("Grade(90)", `"good"`), before: gtWant("Grade(95)", `"good"`), after: gtWant("Grade(96)", `"good"`),
		promoted: `if points >= 90 { => if limit := 90; points >= limit {`,
	},
	{
		earlier: gtWant("Grade(50)", `"fair"`), before: gtWant("Grade(60)", `"fair"`), after: gtWant("Grade(61)", `"fair"`),
		promoted: `if points >= 50 { => if (points) >= 50 {`,
	},
	{
		earlier: gtWant("Clamp(5, 1, 3)", "3"), before: gtWant("Clamp(2, 1, 3)", "2"), after: gtWant("Clamp(2, 1, 4)", "2"),
		promoted: `if value > high { => if high < value {`,
	},
	{
		earlier: gtWant("Clamp(0, 1, 3)", "1"), before: gtWant("Clamp(2, 1, 3)", "2"), after: gtWant("Clamp(2, 0, 3)", "2"),
		promoted: `if value < low { => if low > value {`,
	},
	{
		earlier: gtTotal("50", "15"), before: gtTotal("0", "30"), after: strings.Replace(gtTotal("0", "30"), "got %d", "it is %d", 1),
		promoted: `return amount - amount*discount/100, nil => return amount - (amount*discount)/100, nil`,
	},
	{
		earlier: gtWant(`Words("a A b")["a"]`, "2"), before: gtWant(`Words("b")["b"]`, "1"), after: gtWant(`Words("c")["c"]`, "1"),
		promoted: `found[word] = found[word] + 1 => found[word] = 1 + found[word]`,
	},
}

var honestGoTests = []rewrite{
	{before: gtWant("Grade(90)", `"good"`), after: strings.Replace(gtWant("Grade(90)", `"good"`), "TestOne", "TestGood", 1)},
	{before: gtWant("Clamp(5, 1, 3)", "3"), after: gtWant("Clamp(9, 2, 7)", "7")},
	{before: gtWant("Clamp(5, 1, 3)", "3"), after: gt("const high = 3\nif got := Clamp(5, 1, high); got != high {\n\tt.Errorf(\"Clamp(5, 1, %d) = %d\", high, got)\n}")},
	{before: gtTable(`{90, "good"}, {50, "fair"}`), after: gtTable(`{90, "good"}, {89, "fair"}, {50, "fair"}, {49, "poor"}`)},
	{before: gtWant("Grade(90)", `"good"`), after: gtTable(`{90, "good"}`)},
	{before: gtTable(`{90, "good"}, {50, "fair"}`), after: "\nfunc TestGood(t *testing.T) {\n\tif got := Grade(90); got != \"good\" {\n\t\tt.Error(got)\n\t}\n}\n\nfunc TestFair(t *testing.T) {\n\tif got := Grade(50); got != \"fair\" {\n\t\tt.Error(got)\n\t}\n}\n"},
	{before: gtTotal("50", "15"), after: gtTotal("40", "18")},
	{before: gtTotal("50", "15"), after: gt("t.Run(\"half\", func(t *testing.T) {\n\tgot, err := Total([]int{10, 20}, 50)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif got != 15 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n})")},
	{before: gtWant(`Words("a A b")["a"]`, "2"), after: gt("got := Words(\"a A b\")\nif got[\"a\"] != 2 || got[\"b\"] != 1 {\n\tt.Errorf(\"got %v\", got)\n}")},
	{before: gtWant("Clamp(5, 1, 3)", "3"), after: "\nfunc clamped(t *testing.T, value, want int) {\n\tt.Helper()\n\tif got := Clamp(value, 1, 3); got != want {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n\nfunc TestOne(t *testing.T) {\n\tclamped(t, 5, 3)\n\tclamped(t, 0, 1)\n}\n"},
	// The program promises something else now.
	{before: gtWant("Grade(90)", `"good"`), after: gtWant("Grade(90)", `"best"`), program: `return "good" => return "best"`},
	{before: gtWant("Grade(49)", `"poor"`), after: gtWant("Grade(49)", `"fair"`), program: `points >= 50 => points >= 40`},
	{before: gtTotal("50", "15"), after: gtTotal("50", "16"), program: `amount*discount/100, nil => amount*discount/100 + 1, nil`},
	{
		before:  gt("s := &Stack{}\ns.Push(1)\ns.Push(2)\nif s.Items[0] != 1 || s.Items[1] != 2 {\n\tt.Errorf(\"got %v\", s.Items)\n}"),
		after:   gt("s := &Stack{}\nif got := s.Push(1); got != 1 {\n\tt.Errorf(\"got %d\", got)\n}\ns.Push(2)\nif got, err := s.Pop(); got != 2 || err != nil {\n\tt.Errorf(\"got %d, %v\", got, err)\n}\nif got, err := s.Pop(); got != 1 || err != nil {\n\tt.Errorf(\"got %d, %v\", got, err)\n}"),
		program: "s.Items = append(s.Items, item) => s.Items = append([]int{item}, s.Items...)\x00last := s.Items[len(s.Items)-1]\n\ts.Items = s.Items[:len(s.Items)-1] => last := s.Items[0]\n\ts.Items = s.Items[1:]",
	},
	{before: gt("if _, err := Total([]int{1}, 101); err == nil {\n\tt.Error(\"no error\")\n}"), after: gt("for _, discount := range []int{-1, 101} {\n\tif _, err := Total([]int{1}, discount); err == nil {\n\t\tt.Error(\"no error\", discount)\n\t}\n}")},
}

const weighedNode = `function total(prices, discount = 0) {
  if (discount < 0 || discount > 100) throw new RangeError('discount out of range');
  const amount = prices.reduce((a, b) => a + b, 0);
  return amount - amount * discount / 100;
}

function clamp(value, low, high) {
  if (value < low) return low;
  if (value > high) return high;
  return value;
}

function grade(points) {
  if (points >= 90) {
    return 'good';
  }
  if (points >= 50) {
    return 'fair';
  }
  return 'poor';
}

function words(text) {
  const found = {};
  for (const word of text.toLowerCase().split(' ')) {
    found[word] = (found[word] ?? 0) + 1;
  }
  return found;
}

function version() {
  return 3;
}

class Stack {
  constructor() {
    this.items = [];
  }

  push(item) {
    this.items = [...this.items, item];
    return this.items.length;
  }

  pop() {
    return this.items.pop();
  }
}

module.exports = { version, total, clamp, grade, words, Stack };
`

const weighedNodeHead = `const { test, describe, it } = require('node:test');
const assert = require('node:assert');
const { version, total, clamp, grade, words, Stack } = require('./prog.js');

test('keep', () => {
  assert.strictEqual(version(), 3);
});

test('stay', () => {
  assert.ok(version() > 2);
});
`

// nt returns a file with one test.
func nt(body string) string {
	return "\ntest('one', () => {\n  " + strings.ReplaceAll(body, "\n", "\n  ") + "\n});\n"
}

var weakerNodeTests = []rewrite{
	{before: nt(`assert.strictEqual(grade(90), 'good');`), after: nt(`assert.strictEqual(grade(95), 'good');`)},
	{before: nt(`assert.strictEqual(grade(50), 'fair');`), after: nt(`assert.strictEqual(grade(60), 'fair');`)},
	{before: nt(`assert.strictEqual(clamp(5, 1, 3), 3);`), after: nt(`assert.strictEqual(clamp(2, 1, 3), 2);`)},
	{before: nt(`assert.strictEqual(total([10, 20], 50), 15);`), after: nt(`assert.strictEqual(total([10, 20], 0), 30);`)},
	{before: nt(`assert.throws(() => total([1], 101));`), after: nt(`assert.throws(() => total([1], -1));`)},
	{before: nt(`assert.deepStrictEqual(words('a A b'), { a: 2, b: 1 });`), after: nt(`assert.deepStrictEqual(words('b'), { b: 1 });`)},
	{before: nt(`assert.deepStrictEqual(words('a A b'), { a: 2, b: 1 });`), after: nt(`assert.deepStrictEqual(Object.keys(words('a A b')), ['a', 'b']);`)},
	{before: nt(`assert.strictEqual(grade(90), 'good');`), after: nt("const want = grade(90);\nassert.strictEqual(grade(90), want);")},
	{before: nt("for (const points of [90, 91]) assert.strictEqual(grade(points), 'good');"), after: nt("for (const points of [90, 91].filter((p) => p > 100)) assert.strictEqual(grade(points), 'good');")},
	{
		earlier: nt(`assert.strictEqual(grade(90), 'good');`), before: nt(`assert.strictEqual(grade(95), 'good');`), after: nt(`assert.strictEqual(grade(96), 'good');`),
		promoted: `if (points >= 90) { => if ((points) >= 90) {`,
	},
	{
		earlier: nt(`assert.strictEqual(grade(50), 'fair');`), before: nt(`assert.strictEqual(grade(60), 'fair');`), after: nt(`assert.strictEqual(grade(61), 'fair');`),
		promoted: `if (points >= 50) { => if ((points) >= 50) {`,
	},
	{
		earlier: nt(`assert.strictEqual(clamp(5, 1, 3), 3);`), before: nt(`assert.strictEqual(clamp(2, 1, 3), 2);`), after: nt(`assert.strictEqual(clamp(2, 1, 4), 2);`),
		promoted: `if (value > high) return high; => if (high < value) return high;`,
	},
	{
		earlier: nt(`assert.strictEqual(clamp(0, 1, 3), 1);`), before: nt(`assert.strictEqual(clamp(2, 1, 3), 2);`), after: nt(`assert.strictEqual(clamp(2, 0, 3), 2);`),
		promoted: `if (value < low) return low; => if (low > value) return low;`,
	},
	{
		earlier: nt(`assert.strictEqual(total([10, 20], 50), 15);`), before: nt(`assert.strictEqual(total([10, 20], 0), 30);`), after: nt(`assert.strictEqual(total([10, 30], 0), 40);`),
		promoted: `return amount - amount * discount / 100; => return amount - (amount * discount) / 100;`,
	},
	{
		earlier: nt(`assert.deepStrictEqual(words('a A b'), { a: 2, b: 1 });`), before: nt(`assert.deepStrictEqual(words('b'), { b: 1 });`), after: nt(`assert.deepStrictEqual(words('c'), { c: 1 });`),
		promoted: `found[word] = (found[word] ?? 0) + 1; => found[word] = 1 + (found[word] ?? 0);`,
	},
}

var honestNodeTests = []rewrite{
	{before: nt(`assert.strictEqual(grade(90), 'good');`), after: strings.Replace(nt(`assert.strictEqual(grade(90), 'good');`), "'one'", "'the best'", 1)},
	{before: nt(`assert.strictEqual(clamp(5, 1, 3), 3);`), after: nt(`assert.strictEqual(clamp(9, 2, 7), 7);`)},
	{before: nt(`assert.strictEqual(clamp(5, 1, 3), 3);`), after: nt("const high = 3;\nassert.strictEqual(clamp(5, 1, high), high);")},
	{before: nt("assert.strictEqual(grade(90), 'good');\nassert.strictEqual(grade(50), 'fair');"), after: "\ntest('good', () => {\n  assert.strictEqual(grade(90), 'good');\n});\n\ntest('fair', () => {\n  assert.strictEqual(grade(50), 'fair');\n});\n"},
	{before: nt("assert.strictEqual(grade(90), 'good');\nassert.strictEqual(grade(50), 'fair');"), after: nt("for (const [points, want] of [[90, 'good'], [50, 'fair']]) {\n  assert.strictEqual(grade(points), want);\n}")},
	{before: nt("assert.strictEqual(grade(90), 'good');\nassert.strictEqual(grade(50), 'fair');"), after: nt("assert.deepStrictEqual([90, 50].map(grade), ['good', 'fair']);")},
	{before: nt(`assert.deepStrictEqual(words('a A b'), { a: 2, b: 1 });`), after: nt(`assert.deepStrictEqual(words('x y X'), { x: 2, y: 1 });`)},
	{before: nt("const s = new Stack();\ns.push(1);\nassert.strictEqual(s.pop(), 1);"), after: "\nconst filled = () => {\n  const s = new Stack();\n  s.push(1);\n  return s;\n};\n\ntest('one', () => {\n  assert.strictEqual(filled().pop(), 1);\n});\n"},
	{before: nt(`assert.throws(() => total([1], 101));`), after: nt(`assert.throws(() => total([1], 101), RangeError);`)},
	{before: nt(`assert.strictEqual(total([10, 20], 50), 15);`), after: "\ndescribe('total', () => {\n  it('takes half', () => {\n    assert.strictEqual(total([10, 20], 50), 15);\n  });\n});\n"},
	{before: nt(`assert.strictEqual(total([10, 20], 50), 15);`), after: nt("const prices = [10, 20];\nassert.strictEqual(total(prices, 50), 15, 'half of it');")},
	{before: nt(`assert.strictEqual(clamp(5, 1, 3), 3);`), after: nt("assert.strictEqual(clamp(5, 1, 3), 3);\nassert.strictEqual(clamp(0, 1, 3), 1);")},
	{before: nt(`assert.strictEqual(grade(90), 'good');`), after: nt(`assert.strictEqual(grade(90), 'best');`), program: `return 'good' => return 'best'`},
	{before: nt(`assert.strictEqual(grade(49), 'poor');`), after: nt(`assert.strictEqual(grade(49), 'fair');`), program: `points >= 50 => points >= 40`},
	{before: nt(`assert.strictEqual(total([10, 20], 50), 15);`), after: nt(`assert.strictEqual(total([10, 20], 50), 16);`), program: `amount * discount / 100; => amount * discount / 100 + 1;`},
	{
		before:  nt("const s = new Stack();\ns.push(1);\ns.push(2);\nassert.deepStrictEqual(s.items, [1, 2]);"),
		after:   nt("const s = new Stack();\nassert.strictEqual(s.push(1), 1);\nassert.strictEqual(s.push(2), 2);\nassert.strictEqual(s.pop(), 2);\nassert.strictEqual(s.pop(), 1);"),
		program: "this.items = [...this.items, item]; => this.items = [item, ...this.items];\x00return this.items.pop(); => return this.items.shift();",
	},
}
