//go:build bench

package main

import "strings"

// A chore is one small piece of work on a program of its own, with a test that the engineer never sees.
type chore struct {
	Name, Language, Goal string
	// Files are the program, Target is the file to change, and Fix is the right change.
	Files  map[string]string
	Target string
	Fix    []fix
	// Hidden is the test: it fails on the original program and passes after the fix.
	Hidden, HiddenName string
}

// A fix is one edit of a file.
type fix struct{ File, Old, New string }

// A shape is a program in three languages, with replacement words for a second program of the same shape.
type shape struct {
	name, goal string
	// other are pairs of a word of the first program and its replacement in the second.
	other []string
	// For each language: the original code, its wrong lines, the right lines, and the lines of the hidden test.
	python, typescript, golang listing
}

// A listing is a module of one language.
type listing struct {
	code, old, new, test string
	// A second file that uses the module, and the change that it needs; "" for none.
	user, userOld, userNew string
}

// chores returns sixty chores: ten shapes in three languages, two programs each.
func chores() (all []chore) {
	for _, s := range append(shapes(), moreShapes()...) {
		for second, words := range [][]string{nil, s.other} {
			r := strings.NewReplacer(words...)
			for _, l := range []struct {
				name, target, user, hidden string
				p                          listing
			}{
				{"python", "shop/core.py", "shop/main.py", "hidden_test.py", s.python},
				{"typescript", "src/core.ts", "src/main.ts", "src/hidden.ts", s.typescript},
				{"go", "core.go", "main.go", "hidden.go", s.golang},
			} {
				c := chore{
					Name: s.name + "-" + l.name + []string{"", "-2"}[second], Language: l.name, Goal: r.Replace(s.goal), Target: l.target,
					Files: map[string]string{l.target: r.Replace(l.p.code)}, Hidden: r.Replace(l.p.test), HiddenName: l.hidden,
					Fix: []fix{{l.target, r.Replace(l.p.old), r.Replace(l.p.new)}},
				}
				if l.p.user != "" {
					c.Files[l.user] = r.Replace(l.p.user)
					c.Fix = append(c.Fix, fix{l.user, r.Replace(l.p.userOld), r.Replace(l.p.userNew)})
				}
				around(&c)
				all = append(all, c)
			}
		}
	}
	return all
}

// around adds the other files of a project in the language, and the beginning of every hidden test.
func around(c *chore) {
	switch c.Language {
	case "python":
		c.Files["shop/__init__.py"] = "\"\"\"A small program.\"\"\"\n"
		c.Files["shop/text.py"] = "def title(words: list[str]) -> str:\n    return \" \".join(w.capitalize() for w in words)\n"
		c.Hidden = "import sys\n\nsys.path.insert(0, \".\")\nfrom shop.core import *\n\n" + c.Hidden
	case "typescript":
		c.Files["package.json"] = "{\"name\": \"small\", \"version\": \"1.0.0\", \"type\": \"module\", \"private\": true}\n"
		c.Files["src/text.ts"] = "export function title(words: string[]): string {\n  return words.map((w) => w.charAt(0).toUpperCase() + w.slice(1)).join(\" \");\n}\n"
		c.Hidden = "import assert from \"node:assert/strict\";\nimport * as core from \"./core.ts\";\n\n" + c.Hidden
	case "go":
		c.Files["go.mod"] = "module small\n\ngo 1.22\n"
		c.Files["text.go"] = "package small\n\nimport \"strings\"\n\n// Title joins words.\nfunc Title(words []string) string {\n\treturn strings.Join(words, \" \")\n}\n"
		c.Hidden = "package small\n\nimport \"testing\"\n\n" + c.Hidden
	}
}

// shapes returns the programs. The goal of each says what is wrong with it.
func shapes() []shape {
	return []shape{
		{
			name: "clamp", goal: "clamp must also keep a value from falling below low", other: []string{"clamp", "bound", "Clamp", "Bound", "low", "least"},
			python: listing{
				code: "def clamp(value: int, low: int, high: int) -> int:\n    \"\"\"Keep value within low and high.\"\"\"\n    if value > high:\n        return high\n    return value\n",
				old:  "        return high\n    return value", new: "        return high\n    if value < low:\n        return low\n    return value",
				test: "assert clamp(5, 1, 9) == 5\nassert clamp(-3, 1, 9) == 1\nassert clamp(12, 1, 9) == 9\n",
			},
			typescript: listing{
				code: "/** Keep value within low and high. */\nexport function clamp(value: number, low: number, high: number): number {\n  if (value > high) {\n    return high;\n  }\n  return value;\n}\n",
				old:  "    return high;\n  }\n  return value;", new: "    return high;\n  }\n  if (value < low) {\n    return low;\n  }\n  return value;",
				test: "assert.equal(core.clamp(5, 1, 9), 5);\nassert.equal(core.clamp(-3, 1, 9), 1);\nassert.equal(core.clamp(12, 1, 9), 9);\n",
			},
			golang: listing{
				code: "package small\n\n// Clamp keeps value within low and high.\nfunc Clamp(value, low, high int) int {\n\tif value > high {\n\t\treturn high\n\t}\n\treturn value\n}\n",
				old:  "\t\treturn high\n\t}\n\treturn value", new: "\t\treturn high\n\t}\n\tif value < low {\n\t\treturn low\n\t}\n\treturn value",
				test: "func TestClamp(t *testing.T) {\n\tif Clamp(5, 1, 9) != 5 || Clamp(-3, 1, 9) != 1 || Clamp(12, 1, 9) != 9 {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
		{
			name: "median", goal: "median of an even count must be the mean of the two in the middle", other: []string{"median", "middle", "Median", "Middle"},
			python: listing{
				code: "def median(numbers: list[float]) -> float:\n    ordered = sorted(numbers)\n    half = len(ordered) // 2\n    return ordered[half]\n",
				old:  "    half = len(ordered) // 2\n    return ordered[half]", new: "    half = len(ordered) // 2\n    if len(ordered) % 2 == 0:\n        return (ordered[half - 1] + ordered[half]) / 2\n    return ordered[half]",
				test: "assert median([3, 1, 2]) == 2\nassert median([4, 1, 2, 3]) == 2.5\n",
			},
			typescript: listing{
				code: "export function median(numbers: number[]): number {\n  const ordered = [...numbers].sort((a, b) => a - b);\n  const half = Math.floor(ordered.length / 2);\n  return ordered[half];\n}\n",
				old:  "  const half = Math.floor(ordered.length / 2);\n  return ordered[half];", new: "  const half = Math.floor(ordered.length / 2);\n  if (ordered.length % 2 === 0) {\n    return (ordered[half - 1] + ordered[half]) / 2;\n  }\n  return ordered[half];",
				test: "assert.equal(core.median([3, 1, 2]), 2);\nassert.equal(core.median([4, 1, 2, 3]), 2.5);\n",
			},
			golang: listing{
				code: "package small\n\nimport \"slices\"\n\n// Median is the number in the middle.\nfunc Median(numbers []float64) float64 {\n\tordered := slices.Clone(numbers)\n\tslices.Sort(ordered)\n\thalf := len(ordered) / 2\n\treturn ordered[half]\n}\n",
				old:  "\thalf := len(ordered) / 2\n\treturn ordered[half]", new: "\thalf := len(ordered) / 2\n\tif len(ordered)%2 == 0 {\n\t\treturn (ordered[half-1] + ordered[half]) / 2\n\t}\n\treturn ordered[half]",
				test: "func TestMedian(t *testing.T) {\n\tif Median([]float64{3, 1, 2}) != 2 || Median([]float64{4, 1, 2, 3}) != 2.5 {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
		{
			name: "leap", goal: "a year that 100 divides is a leap year only where 400 divides it too", other: []string{"is_leap", "has_leap_day", "isLeap", "hasLeapDay", "IsLeap", "HasLeapDay"},
			python: listing{
				code: "def is_leap(year: int) -> bool:\n    \"\"\"Whether the year has a 29th of February.\"\"\"\n    divided = year % 4 == 0\n    return divided\n",
				old:  "    divided = year % 4 == 0\n    return divided", new: "    divided = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n    return divided",
				test: "assert is_leap(2024)\nassert not is_leap(1900)\nassert is_leap(2000)\nassert not is_leap(2023)\n",
			},
			typescript: listing{
				code: "/** Whether the year has a 29th of February. */\nexport function isLeap(year: number): boolean {\n  const divided = year % 4 === 0;\n  return divided;\n}\n",
				old:  "  const divided = year % 4 === 0;\n  return divided;", new: "  const divided = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);\n  return divided;",
				test: "assert.deepEqual([2024, 1900, 2000, 2023].map(core.isLeap), [true, false, true, false]);\n",
			},
			golang: listing{
				code: "package small\n\n// IsLeap says whether the year has a 29th of February.\nfunc IsLeap(year int) bool {\n\tdivided := year%4 == 0\n\treturn divided\n}\n",
				old:  "\tdivided := year%4 == 0\n\treturn divided", new: "\tdivided := year%4 == 0 && (year%100 != 0 || year%400 == 0)\n\treturn divided",
				test: "func TestLeap(t *testing.T) {\n\tif !IsLeap(2024) || IsLeap(1900) || !IsLeap(2000) || IsLeap(2023) {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
		{
			name: "pages", goal: "pages must count the last page that is not full", other: []string{"pages", "sheets", "Pages", "Sheets", "size", "room"},
			python: listing{
				code: "def pages(total: int, size: int) -> int:\n    if size < 1:\n        raise ValueError(\"size\")\n    return total // size\n",
				old:  "        raise ValueError(\"size\")\n    return total // size", new: "        raise ValueError(\"size\")\n    return (total + size - 1) // size",
				test: "assert pages(10, 5) == 2\nassert pages(11, 5) == 3\nassert pages(0, 5) == 0\n",
			},
			typescript: listing{
				code: "export function pages(total: number, size: number): number {\n  if (size < 1) {\n    throw new RangeError(\"size\");\n  }\n  return Math.floor(total / size);\n}\n",
				old:  "    throw new RangeError(\"size\");\n  }\n  return Math.floor(total / size);", new: "    throw new RangeError(\"size\");\n  }\n  return Math.ceil(total / size);",
				test: "assert.deepEqual([core.pages(10, 5), core.pages(11, 5), core.pages(0, 5)], [2, 3, 0]);\n",
			},
			golang: listing{
				code: "package small\n\n// Pages counts the pages that total things take.\nfunc Pages(total, size int) int {\n\tif size < 1 {\n\t\treturn 0\n\t}\n\treturn total / size\n}\n",
				old:  "\t\treturn 0\n\t}\n\treturn total / size", new: "\t\treturn 0\n\t}\n\treturn (total + size - 1) / size",
				test: "func TestPages(t *testing.T) {\n\tif Pages(10, 5) != 2 || Pages(11, 5) != 3 || Pages(0, 5) != 0 {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
		{
			name: "merge", goal: "merge must add the counts of a name that both have", other: []string{"merge", "combine", "Merge", "Combine"},
			python: listing{
				code: "def merge(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:\n    out = dict(a)\n    for name, count in b.items():\n        out[name] = count\n    return out\n",
				old:  "    for name, count in b.items():\n        out[name] = count", new: "    for name, count in b.items():\n        out[name] = out.get(name, 0) + count",
				test: "assert merge({\"a\": 1}, {\"a\": 2, \"b\": 3}) == {\"a\": 3, \"b\": 3}\n",
			},
			typescript: listing{
				code: "export function merge(a: Map<string, number>, b: Map<string, number>): Map<string, number> {\n  const out = new Map(a);\n  for (const [name, count] of b) {\n    out.set(name, count);\n  }\n  return out;\n}\n",
				old:  "  for (const [name, count] of b) {\n    out.set(name, count);", new: "  for (const [name, count] of b) {\n    out.set(name, (out.get(name) ?? 0) + count);",
				test: "assert.deepEqual(core.merge(new Map([[\"a\", 1]]), new Map([[\"a\", 2], [\"b\", 3]])), new Map([[\"a\", 3], [\"b\", 3]]));\n",
			},
			golang: listing{
				code: "package small\n\n// Merge joins two counts.\nfunc Merge(a, b map[string]int) map[string]int {\n\tout := map[string]int{}\n\tfor name, count := range a {\n\t\tout[name] = count\n\t}\n\tfor name, more := range b {\n\t\tout[name] = more\n\t}\n\treturn out\n}\n",
				old:  "\tfor name, more := range b {\n\t\tout[name] = more", new: "\tfor name, more := range b {\n\t\tout[name] += more",
				test: "func TestMerge(t *testing.T) {\n\tout := Merge(map[string]int{\"a\": 1}, map[string]int{\"a\": 2, \"b\": 3})\n\tif len(out) != 2 || out[\"a\"] != 3 || out[\"b\"] != 3 {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
	}
}
