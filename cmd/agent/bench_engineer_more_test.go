//go:build bench

package main

// moreShapes returns the other half of the programs: those with a second file that must change too, and with text.
func moreShapes() []shape {
	return []shape{
		{
			name: "discount", goal: "price takes the share of a discount as its second argument, at most half, and every caller says it: total gives none",
			other: []string{"price", "charge", "Price", "Charge", "discount", "rebate"},
			python: listing{
				code: "def price(cents: int) -> int:\n    \"\"\"What is asked for.\"\"\"\n    return cents\n",
				old:  "def price(cents: int) -> int:\n    \"\"\"What is asked for.\"\"\"\n    return cents", new: "def price(cents: int, discount: float) -> int:\n    \"\"\"What is asked for.\"\"\"\n    return round(cents * (1 - min(discount, 0.5)))",
				user: "from shop.core import price\n\n\ndef total(items: list[int]) -> int:\n    return sum(price(i) for i in items)\n", userOld: "    return sum(price(i) for i in items)", userNew: "    return sum(price(i, 0.0) for i in items)",
				test: "from shop.main import total\n\nassert price(100, 0.2) == 80\nassert price(100, 0.9) == 50\nassert total([1, 2]) == 3\n",
			},
			typescript: listing{
				code: "/** What is asked for. */\nexport function price(cents: number): number {\n  return cents;\n}\n",
				old:  "export function price(cents: number): number {\n  return cents;", new: "export function price(cents: number, discount: number): number {\n  if (discount === undefined) {\n    throw new TypeError(\"discount\");\n  }\n  return Math.round(cents * (1 - Math.min(discount, 0.5)));",
				user: "import { price } from \"./core.ts\";\n\nexport function total(items: number[]): number {\n  return items.reduce((sum, i) => sum + price(i), 0);\n}\n", userOld: "  return items.reduce((sum, i) => sum + price(i), 0);", userNew: "  return items.reduce((sum, i) => sum + price(i, 0), 0);",
				test: "import { total } from \"./main.ts\";\nassert.equal(core.price(100, 0.2), 80);\nassert.equal(core.price(100, 0.9), 50);\nassert.equal(total([1, 2]), 3);\n",
			},
			golang: listing{
				code: "package small\n\n// Price is what is asked for.\nfunc Price(cents int) int {\n\treturn cents\n}\n",
				old:  "func Price(cents int) int {\n\treturn cents", new: "func Price(cents int, discount float64) int {\n\treturn int(float64(cents)*(1-min(discount, 0.5)) + 0.5)",
				user: "package small\n\n// Total is what all cost.\nfunc Total(items []int) int {\n\tsum := 0\n\tfor _, i := range items {\n\t\tsum += Price(i)\n\t}\n\treturn sum\n}\n", userOld: "\tfor _, i := range items {\n\t\tsum += Price(i)", userNew: "\tfor _, i := range items {\n\t\tsum += Price(i, 0)",
				test: "func TestPrice(t *testing.T) {\n\tif Price(100, 0.2) != 80 || Price(100, 0.9) != 50 || Total([]int{1, 2}) != 3 {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
		{
			name: "unit", goal: "distance returns metres where it returned kilometres, and report, which shows kilometres, follows", other: []string{"distance", "length", "Distance", "Length", "report", "tell", "Report", "Tell"},
			python: listing{
				code: "def distance(steps: int) -> float:\n    \"\"\"How far so many steps lead.\"\"\"\n    return steps * 0.75 / 1000\n",
				old:  "    \"\"\"How far so many steps lead.\"\"\"\n    return steps * 0.75 / 1000", new: "    \"\"\"How many metres so many steps lead.\"\"\"\n    return steps * 0.75",
				user: "from shop.core import distance\n\n\ndef report(steps: int) -> str:\n    return f\"{distance(steps):.1f} km\"\n", userOld: "    return f\"{distance(steps):.1f} km\"", userNew: "    return f\"{distance(steps) / 1000:.1f} km\"",
				test: "from shop.main import report\n\nassert distance(4000) == 3000\nassert report(4000) == \"3.0 km\"\n",
			},
			typescript: listing{
				code: "/** How far so many steps lead. */\nexport function distance(steps: number): number {\n  return (steps * 0.75) / 1000;\n}\n",
				old:  "export function distance(steps: number): number {\n  return (steps * 0.75) / 1000;", new: "export function distance(steps: number): number {\n  return steps * 0.75;",
				user: "import { distance } from \"./core.ts\";\n\nexport function report(steps: number): string {\n  return `${distance(steps).toFixed(1)} km`;\n}\n", userOld: "  return `${distance(steps).toFixed(1)} km`;", userNew: "  return `${(distance(steps) / 1000).toFixed(1)} km`;",
				test: "import { report } from \"./main.ts\";\nassert.equal(core.distance(4000), 3000);\nassert.equal(report(4000), \"3.0 km\");\n",
			},
			golang: listing{
				code: "package small\n\n// Distance is how far so many steps lead.\nfunc Distance(steps int) float64 {\n\treturn float64(steps) * 0.75 / 1000\n}\n",
				old:  "func Distance(steps int) float64 {\n\treturn float64(steps) * 0.75 / 1000", new: "func Distance(steps int) float64 {\n\treturn float64(steps) * 0.75",
				user: "package small\n\nimport \"fmt\"\n\n// Report says it to people.\nfunc Report(steps int) string {\n\treturn fmt.Sprintf(\"%.1f km\", Distance(steps))\n}\n", userOld: "\treturn fmt.Sprintf(\"%.1f km\", Distance(steps))", userNew: "\treturn fmt.Sprintf(\"%.1f km\", Distance(steps)/1000)",
				test: "func TestDistance(t *testing.T) {\n\tif Distance(4000) != 3000 || Report(4000) != \"3.0 km\" {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
		{
			name: "slug", goal: "slug must make one dash of several spaces, and none at the ends", other: []string{"slug", "handle", "Slug", "Handle"},
			python: listing{
				code: "def slug(text: str) -> str:\n    lower = text.lower()\n    return lower.replace(\" \", \"-\")\n",
				old:  "    lower = text.lower()\n    return lower.replace(\" \", \"-\")", new: "    lower = text.lower()\n    return \"-\".join(lower.split())",
				test: "assert slug(\"A  small Thing \") == \"a-small-thing\"\nassert slug(\"\") == \"\"\n",
			},
			typescript: listing{
				code: "export function slug(text: string): string {\n  const lower = text.toLowerCase();\n  return lower.replaceAll(\" \", \"-\");\n}\n",
				old:  "  const lower = text.toLowerCase();\n  return lower.replaceAll(\" \", \"-\");", new: "  const lower = text.toLowerCase();\n  return lower.split(\" \").filter((w) => w !== \"\").join(\"-\");",
				test: "assert.equal(core.slug(\"A  small Thing \"), \"a-small-thing\");\nassert.equal(core.slug(\"\"), \"\");\n",
			},
			golang: listing{
				code: "package small\n\nimport \"strings\"\n\n// Slug makes a text fit for an address.\nfunc Slug(text string) string {\n\tlower := strings.ToLower(text)\n\treturn strings.ReplaceAll(lower, \" \", \"-\")\n}\n",
				old:  "\tlower := strings.ToLower(text)\n\treturn strings.ReplaceAll(lower, \" \", \"-\")", new: "\tlower := strings.ToLower(text)\n\treturn strings.Join(strings.Fields(lower), \"-\")",
				test: "func TestSlug(t *testing.T) {\n\tif Slug(\"A  small Thing \") != \"a-small-thing\" || Slug(\"\") != \"\" {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
		{
			name: "seconds", goal: "seconds must read minutes too: 1h30m are 5400, 45m are 2700", other: []string{"seconds", "elapsed", "Seconds", "Elapsed"},
			python: listing{
				code: "def seconds(text: str) -> int:\n    total, digits = 0, \"\"\n    for c in text:\n        if c.isdigit():\n            digits += c\n        elif c == \"h\":\n            total, digits = total + int(digits) * 3600, \"\"\n    return total\n",
				old:  "            total, digits = total + int(digits) * 3600, \"\"\n    return total", new: "            total, digits = total + int(digits) * 3600, \"\"\n        elif c == \"m\":\n            total, digits = total + int(digits) * 60, \"\"\n    return total",
				test: "assert seconds(\"2h\") == 7200\nassert seconds(\"1h30m\") == 5400\nassert seconds(\"45m\") == 2700\n",
			},
			typescript: listing{
				code: "export function seconds(text: string): number {\n  let total = 0;\n  for (const [, digits, unit] of text.matchAll(/(\\d+)([a-z])/g)) {\n    if (unit === \"h\") {\n      total += Number(digits) * 3600;\n    }\n  }\n  return total;\n}\n",
				old:  "      total += Number(digits) * 3600;\n    }", new: "      total += Number(digits) * 3600;\n    } else if (unit === \"m\") {\n      total += Number(digits) * 60;\n    }",
				test: "assert.deepEqual([\"2h\", \"1h30m\", \"45m\"].map(core.seconds), [7200, 5400, 2700]);\n",
			},
			golang: listing{
				code: "package small\n\n// Seconds reads a time such as 2h.\nfunc Seconds(text string) int {\n\ttotal, n := 0, 0\n\tfor _, c := range text {\n\t\tswitch {\n\t\tcase c >= '0' && c <= '9':\n\t\t\tn = n*10 + int(c-'0')\n\t\tcase c == 'h':\n\t\t\ttotal, n = total+n*3600, 0\n\t\t}\n\t}\n\treturn total\n}\n",
				old:  "\t\t\ttotal, n = total+n*3600, 0\n\t\t}", new: "\t\t\ttotal, n = total+n*3600, 0\n\t\tcase c == 'm':\n\t\t\ttotal, n = total+n*60, 0\n\t\t}",
				test: "func TestSeconds(t *testing.T) {\n\tif Seconds(\"2h\") != 7200 || Seconds(\"1h30m\") != 5400 || Seconds(\"45m\") != 2700 {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
		{
			name: "shorten", goal: "shorten must never return more than most characters, its dots included", other: []string{"shorten", "abridge", "Shorten", "Abridge", "most", "room"},
			python: listing{
				code: "def shorten(text: str, most: int) -> str:\n    if len(text) <= most:\n        return text\n    return text[:most] + \"...\"\n",
				old:  "        return text\n    return text[:most] + \"...\"", new: "        return text\n    if most <= 3:\n        return text[:most]\n    return text[: most - 3] + \"...\"",
				test: "assert shorten(\"short\", 9) == \"short\"\nassert shorten(\"a long text\", 6) == \"a l...\"\nassert shorten(\"a long text\", 2) == \"a \"\n",
			},
			typescript: listing{
				code: "export function shorten(text: string, most: number): string {\n  if (text.length <= most) {\n    return text;\n  }\n  return text.slice(0, most) + \"...\";\n}\n",
				old:  "    return text;\n  }\n  return text.slice(0, most) + \"...\";", new: "    return text;\n  }\n  if (most <= 3) {\n    return text.slice(0, most);\n  }\n  return text.slice(0, most - 3) + \"...\";",
				test: "assert.equal(core.shorten(\"short\", 9), \"short\");\nassert.equal(core.shorten(\"a long text\", 6), \"a l...\");\nassert.equal(core.shorten(\"a long text\", 2), \"a \");\n",
			},
			golang: listing{
				code: "package small\n\n// Shorten cuts a text.\nfunc Shorten(text string, most int) string {\n\tif len(text) <= most {\n\t\treturn text\n\t}\n\treturn text[:most] + \"...\"\n}\n",
				old:  "\t\treturn text\n\t}\n\treturn text[:most] + \"...\"", new: "\t\treturn text\n\t}\n\tif most <= 3 {\n\t\treturn text[:most]\n\t}\n\treturn text[:most-3] + \"...\"",
				test: "func TestShorten(t *testing.T) {\n\tif Shorten(\"short\", 9) != \"short\" || Shorten(\"a long text\", 6) != \"a l...\" || Shorten(\"a long text\", 2) != \"a \" {\n\t\tt.Fail()\n\t}\n}\n",
			},
		},
	}
}
