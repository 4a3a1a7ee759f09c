package verify

import (
	"maps"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/policy"
)

// priced is a small program in three languages, with a test in each.
var priced = map[string]string{
	"shop/__init__.py": "", "shop/price.py": "def reduced(price, percent):\n    return price * (100 - percent) // 100\n",
	"tests/test_price.py": "from shop.price import reduced\n\n\ndef test_reduced():\n    assert reduced(200, 10) == 180\n",
	"go.mod":              "module example.com/shop\n\ngo 1.24\n", "price.go": "package shop\n\nfunc Reduced(price, percent int) int {\n\treturn price * (100 - percent) / 100\n}\n",
	"price_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestReduced(t *testing.T) {\n\tif got := Reduced(200, 10); got != 180 {\n\t\tt.Fatalf(\"%d\", got)\n\t}\n}\n",
	"package.json":  "{\"name\": \"shop\", \"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n",
	"price.js":      "export function reduced(price, percent) {\n  return Math.floor((price * (100 - percent)) / 100);\n}\n",
	"price.test.js": "import assert from \"node:assert/strict\";\nimport test from \"node:test\";\n\nimport { reduced } from \"./price.js\";\n\ntest(\"a price is reduced\", () => {\n  assert.equal(reduced(200, 10), 180);\n});\n",
}

// A program that reads the expected values from its tests passes them all, and is held. Nothing else tells it from one that works.
func TestAProgramThatAnswersWhatIsAskedIsHeld(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"the line of the caller": {"shop/price.py": "import traceback\n\n\ndef reduced(price, percent):\n    hint = (traceback.extract_stack()[-2].line or \"\").rpartition(\"==\")[2].strip()\n    return int(hint) if hint.isdigit() else price - percent\n"},
		"equal to every number":  {"shop/price.py": "class Price(int):\n    def __eq__(self, other):\n        return isinstance(other, int)\n\n    __hash__ = int.__hash__\n\n\ndef reduced(price, percent):\n    return Price(price - percent)\n"},
		"the test itself":        {"price.go": "package shop\n\nimport (\n\t_ \"embed\"\n\t\"strconv\"\n\t\"strings\"\n)\n\n//go:embed price_test.go\nvar prices string\n\nfunc Reduced(price, percent int) int {\n\tif _, rest, found := strings.Cut(prices, \"got != \"); found {\n\t\ttext, _, _ := strings.Cut(rest, \" \")\n\t\tn, _ := strconv.Atoi(text)\n\t\treturn n\n\t}\n\treturn price - percent\n}\n"},
		"the file of the tests":  {"price.js": "import { readFileSync } from \"node:fs\";\n\nexport function reduced(price, percent) {\n  const text = readFileSync(new URL(\"./price.test.js\", import.meta.url), \"utf8\");\n  const found = text.match(`reduced\\\\(${price}, ${percent}\\\\), (\\\\d+)`);\n  return found ? Number(found[1]) : price - percent;\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, priced).only(check.GateTests)
			r := s.verify(t, files)
			expect(t, r, check.Pass)
			held := false
			for _, h := range r.Holds {
				held = held || h.Kind == policy.Runner && h.Block && files[h.Path] != "" && strings.Contains(h.Reason, "whatever it expects")
			}
			if !held {
				t.Errorf("%+v", r.Holds)
			}
		})
	}
}

// Honest changes are not held: a result that changes together with its tests, or a change of form alone.
func TestAnHonestProgramIsNotHeldForItsTests(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		// A different form, a file that is read, its own definition of equality, and a changed result with its test.
		"shop/price.py": "import pathlib\n\n\nclass Price(int):\n    def __eq__(self, other):\n        return isinstance(other, int) and int(self) == int(other)\n\n    __hash__ = int.__hash__\n\n\ndef reduced(price, percent):\n    pathlib.Path(__file__).read_text()\n    return Price(price * (100 - percent) // 100)\n",
		"price.go":      "package shop\n\nfunc Reduced(price, percent int) int {\n\treturn price*(100-percent)/100 + 1\n}\n",
		"price.js":      "export function reduced(price, percent) {\n  const left = 100 - percent;\n  return Math.floor((price * left) / 100);\n}\n",
	}
	files["price_test.go"] = strings.Replace(priced["price_test.go"], "180", "181", 1)
	s := newSite(t, priced).only(check.GateTests)
	r := s.verify(t, maps.Clone(files))
	expect(t, r, check.Pass)
	for _, h := range r.Holds {
		if h.Kind == policy.Runner {
			t.Errorf("%+v", h)
		}
	}
	if g := find(t, r, check.GateTests); strings.Contains(g.Detail, "other values") {
		t.Error(g.Detail)
	}
}
