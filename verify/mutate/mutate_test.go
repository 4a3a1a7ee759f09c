package mutate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// all returns the numbers of all lines of a text.
func all(text string) (lines []int) {
	for i := range strings.Split(text, "\n") {
		lines = append(lines, i+1)
	}
	return lines
}

// of lists the mutants of one line of a file, as the lines that result.
func of(t *testing.T, name, line string) (list []string) {
	t.Helper()
	for _, m := range Of(name, line+"\n", []int{1}) {
		text, ok := m.Apply(line+"\n", 1)
		if !ok || text == line+"\n" {
			t.Errorf("%s: %+v makes %q", line, m, text)
		}
		list = append(list, strings.TrimSpace(text))
	}
	return list
}

func TestALineHasTheMutantsOfItsLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string
		want       []string
	}{
		{"a.py", "    if total <= 10 and not paid:", []string{
			"if total < 10 and not paid:", "if total <= 11 and not paid:", "if total <= 10 or not paid:", "if total <= 10 and paid:",
			"if False and (total <= 10 and not paid):", "if True or (total <= 10 and not paid):",
		}},
		{"a.py", "    return 'a < b' if x else \"\"  # x < y", []string{`return 'a < bx' if x else ""  # x < y`, `return 'a < b' if x else "x"  # x < y`, "return None  # x < y"}},
		{"a.py", "    return a - (b >= 2)", []string{"return a + (b >= 2)", "return a - (b > 2)", "return a - (b >= 3)", "return a - (b < 2)", "return None"}},
		{"a.py", "    return -x", []string{"return None"}},
		{"a.py", "    raise ValueError(f\"{x} < 1\")", []string{"raise ValueError(f\"{x} < 1x\")", "pass"}},
		{"a.py", "    return f'{n}: {u}'", []string{"return f'{n}: {u}x'", "return None"}},
		{"a.py", "    text = \"\"\"a\"\"\" + b", []string{"text = \"\"\"ax\"\"\" + b", "text = \"\"\"a\"\"\" - b"}},
		{"a.py", "    \"\"\"What it does.\"\"\"", nil},
		{"a.py", "    rows.append(a - b)", []string{"rows.append(a + b)", "pass"}},
		{"a.py", "    total += price * 1.5", []string{"total -= price * 1.5", "total += price / 1.5", "total += price * 2.5"}},
		{"a.py", "    for w in text.lower().split():", []string{"for w in text.split():", "for w in text.lower():"}},
		{"a.py", "    top = rows[-1]", []string{"top = rows[-2]", "top = rows[0]"}},
		{"a.py", "    rows.sort()", []string{"pass"}},
		{"a.go", "\tkey := strings.ToLower(name)", []string{"key := name"}},
		{"a.py", "    n += 1", []string{"n += 2"}},
		{"a.py", "from a import b", nil},
		{"a.py", "def f(x=1, *rest):", nil},
		{"a.go", "\tif n, ok := m[k]; !ok || n > 3 {", []string{
			"if n, ok := m[k]; ok || n > 3 {", "if n, ok := m[k]; !ok && n > 3 {", "if n, ok := m[k]; !ok || n >= 3 {", "if n, ok := m[k]; !ok || n > 4 {",
			"if n, ok := m[k]; false && (!ok || n > 3) {", "if n, ok := m[k]; true || (!ok || n > 3) {",
		}},
		{"a.go", "\treturn n, err", []string{"return n, nil"}},
		{"a.go", "\treturn a[1:], fmt.Errorf(\"%d < 1\", n)", []string{`return a[2:], fmt.Errorf("%d < 1", n)`, `return a[1:], fmt.Errorf("%d < 1x", n)`, "return a[1:], nil"}},
		{"a.go", "\t\"fmt\"", nil},
		{"a.js", "  if (a === b) return 'x';", []string{"if (a !== b) return 'x';", "if (a === b) return 'xx';", "if (false && (a === b)) return 'x';", "if (true || (a === b)) return 'x';", "if (a === b) return undefined;"}},
		{"a.ts", "  this.rows.push(a + b);", []string{"this.rows.push(a - b);", ";"}},
		{"a.js", "const a = require('b');", nil},
		{"a.js", "  return s.replace(/a/g, '') > 1;", nil},
		{"a.js", "  return `a ${b > 1} c`;", []string{"return `a ${b > 1} cx`;"}},
		{"a.js", "  return `a ${f(`b`)} c`;", nil},
		{"a.js", "  return /`/.test(a) + `${b}`;", nil},
		{"a.rb", "  return a < b", nil},
		{"a.json", "[1, 2]", nil},
	} {
		got := of(t, c.name, c.line)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %q:\n%s\nwant:\n%s", c.name, c.line, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestAMutantIsNamedInPlainWords(t *testing.T) {
	t.Parallel()
	list := Of("src/total.py", "def f(a):\n    return a <= 1\n", []int{2})
	if len(list) == 0 || list[0].String() != "src/total.py:2 with `<` for `<=`" {
		t.Errorf("%v", list)
	}
}

func TestTextOfSeveralLinesIsLeftAlone(t *testing.T) {
	t.Parallel()
	text := "def f():\n    '''\n    a < b\n    '''\n    return \"\"\"1 < 2\n    3 < 4\n    \"\"\"\n"
	if list := Of("a.py", text, all(text)); len(list) > 0 {
		t.Errorf("%v", list)
	}
}

// A mutant is found again if its line has moved, and is not put into a different line.
func TestAMutantMovesWithItsLine(t *testing.T) {
	t.Parallel()
	m := Of("a.py", "def f(a):\n    return a + 1\n", []int{2})[0]
	if text, ok := m.Apply("# more\n\ndef f(a):\r\n    return a + 1\r\n", 4); !ok || !strings.HasSuffix(text, "return a - 1\r\n") {
		t.Errorf("%q %v", text, ok)
	}
	for line, text := range map[int]string{2: "def f(a):\n    return a + 2\n", 9: "x\n"} {
		if _, ok := m.Apply(text, line); ok {
			t.Errorf("it fits line %d of %q", line, text)
		}
	}
}

// A small number of mutants is spread over the functions and lines, and stays the same whatever precedes them.
func TestMutantsAreDrawnFromEachFunction(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, "def f%d(a, b):\n    c = a + b - 1\n    return c < 2 and a > 1\n\n", i)
	}
	list := Of("a.py", b.String(), all(b.String()))
	some := Draw(list, 6)
	heads := map[int]bool{}
	for _, m := range some {
		heads[m.head] = true
	}
	if len(some) != 6 || len(heads) != 6 {
		t.Errorf("%v", some)
	}
	if twelve := Draw(list, 12); len(twelve) != 12 || !slices.Equal(twelve[:6], some) || fmt.Sprint(Draw(slices.Clone(list), 12)) != fmt.Sprint(twelve) {
		t.Errorf("%v, then %v", some, twelve)
	}
	later := "X = 1\n\n" + b.String()
	for i, m := range Draw(Of("a.py", later, all(later)[2:]), 6) {
		if m.Line != some[i].Line+2 || m.Now != some[i].Now {
			t.Errorf("%v, not %v", m, some[i])
		}
	}
	if got := Draw(list, 1000); len(got) != len(list) {
		t.Errorf("%d of %d", len(got), len(list))
	}
}

// Each mutant changes one line in one place, whatever the file contains.
func TestAMutantChangesOneLineOfAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a.py", "a.go", "a.ts"}).Draw(t, "name")
		words := rapid.SliceOf(rapid.SampledFrom([]string{
			"if ", "return ", "a", "b", " < ", " == ", "'", "\"", "`", "\"\"\"", "(", ")", "{", "}", ":", "\n", "    ", "\t", "1", "#", "//", "/*", "*/", "not ", "!", "\\", "${", "\r", "é", ", err", " and ",
		})).Draw(t, "words")
		text := strings.Join(words, "")
		for _, m := range Of(name, text, all(text)) {
			got, ok := m.Apply(text, m.Line)
			if !ok || got == text || strings.Count(got, "\n") != strings.Count(text, "\n") {
				t.Fatalf("%q: %+v makes %q", text, m, got)
			}
		}
	})
}
