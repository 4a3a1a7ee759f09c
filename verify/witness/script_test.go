package witness

import (
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/checktest"
)

// scriptTexts has files and what their witnesses must contain; nil if they get none.
var scriptTexts = map[string]struct {
	runner, text string
	says         []string
}{
	"node": {
		NodeTests, "import nodeTest from 'node:test';\nimport { strictEqual as same, ok } from 'node:assert';\nnodeTest('a', () => ok(1));\n",
		[]string{"nodeTest(", "await t.test(", "t.todo();", "  ok("},
	},
	"a list of variables": {
		NodeTests, "var test = require('node:test')\n  , assert = require('assert')\n\ntest('a', function () { assert.equal(1, 1) })\n",
		[]string{"test(", "assert.equal("},
	},
	"a module of assertions": {
		NodeTests, "const { it } = require('node:test');\nconst chai = require('chai');\nconst { expect } = chai;\nit('a', () => expect(1).to.equal(1));\n",
		[]string{"it(", "expect(", ".to.equal("},
	},
	"functions of another module": {
		NodeTests, "const { test } = require('./helper');\nconst assert = require('assert');\ntest('a', () => assert.ok(1));\n", nil,
	},
	"nothing asserted": {
		NodeTests, "const test = require('node:test');\ntest('a', () => {});\n", nil,
	},
	"asserted inside": {
		NodeTests, "const test = require('node:test');\ntest('a', () => { const assert = require('assert'); assert.ok(1); });\n", nil,
	},
	"a method of tests": {
		NodeTests, "const test = require('node:test');\ntest('a', (t) => t.assert.ok(1));\n", nil,
	},
	"some alone": {
		MochaLike, "const assert = require('assert');\ndescribe.only('a', () => { it('b', () => assert.ok(1)); });\n", nil,
	},
	"from a source": {
		MochaLike, "const assert = require('assert');\nit('b', () => assert.ok(1));\n//# sourceMappingURL=a.js.map\n", nil,
	},
	"suites": {
		MochaLike, "const assert = require('assert');\ndescribe('a', () => { it('b', () => assert.ok(1)); });\n",
		[]string{"\ndescribe(", "\n  it(", "assert.ok("},
	},
	"none": {
		MochaLike, "const assert = require('assert');\nit('b', () => assert.ok(1));\n", []string{"\nit(", "assert.ok("},
	},
	"vitest": {
		VitestLike, "import { it as check, expect } from 'vitest';\ncheck('b', () => expect(1).toBe(1));\n", []string{"\ncheck(", "expect(", ".toBe("},
	},
	"vitest, types": {
		VitestLike, "describe('a', () => { it('b', () => { const n: number = 1; expect(n).not.toBe(2); }); });\n", []string{"\nit(", ".not.toBe("},
	},
	"jest": {
		JestLike, "test('b', async () => { await expect(f()).rejects.toThrow(); });\n", []string{"\ntest(", "async () => {", ".rejects.toThrow("},
	},
	"some in focus": {
		JestLike, "fit('b', () => expect(1).toBe(1));\ntest('c', () => expect(1).toBe(1));\n", nil,
	},
	"another global": {
		MochaLike, "const assert = require('assert');\nconst it = require('./it');\nit('b', () => assert.ok(1));\n", nil,
	},
	"an import in a text": {
		MochaLike, "const f = `\nimport { it } from './it';\nimport { expect } from 'other';\n`;\nit('b', () => assert.ok(f));\n", []string{"\nit("},
	},
	"should": {
		MochaLike, "require('chai').should();\nsuite('a', () => { test('b', () => { (1).should.equal(1); }); });\n",
		[]string{"\nsuite(", "\n  test(", ").should.equal("},
	},
}

func TestWitnessesOfScriptsUseWhatTheirFilesDo(t *testing.T) {
	t.Parallel()
	for name, c := range scriptTexts {
		set := &Set{}
		set.AppendScripts(NewDraw(), checktest.View(map[string]string{"a.js": c.text}), c.runner, []string{"a.js"}, 3)
		if len(c.says) == 0 {
			if !set.Empty() {
				t.Errorf("%s: %s", name, set.Changes().Changes[0].After)
			}
			continue
		}
		if set.Empty() {
			t.Errorf("%s: none", name)
			continue
		}
		text, added := strings.CutPrefix(string(set.Changes().Changes[0].After), c.text)
		if !added {
			t.Errorf("%s: it is not behind the text: %s", name, text)
		}
		for _, part := range c.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in %s", name, part, text)
			}
		}
		fails := 0
		for _, w := range set.tests {
			if w.Fails {
				fails++
			}
			if !set.Titles("suite > "+w.Name) || !set.Titles(w.Name+" #2") || set.Titles("a "+w.Name+" b") {
				t.Errorf("%s: %q is not known by its title", name, w.Name)
			}
		}
		if passes := len(set.tests) - fails; fails == 0 || passes < fails {
			t.Errorf("%s: %d fail and %d pass", name, fails, passes)
		}
	}
}

func TestWhatIsSaidOfWitnessesIsHidden(t *testing.T) {
	t.Parallel()
	set := &Set{tests: []Test{{Place: "a.js", Name: "sums last rows", Fails: true}}, titles: map[string]int{"sums last rows": 0}}
	const shown = "✔ one (1 ms)\n✖ two (1 ms)\n  Error: two\n      at a.js:1\n\n✔ three (1 ms)\n"
	hidden := "✖ sums last rows (1 ms) # TO" + "DO\n  Error: sums\n\n      at a.js:9\n  }\n\n"
	if got := set.Hide("✔ one (1 ms)\n" + hidden + "✖ two (1 ms)\n  Error: two\n      at a.js:1\n\ntest at a.js:9:1\n" + hidden + "✔ three (1 ms)\n"); got != shown {
		t.Errorf("%s", got)
	}
	if got := (*Set)(nil).Hide(shown); got != shown {
		t.Errorf("%s", got)
	}
}

func TestWitnessesToBeDoneCount(t *testing.T) {
	t.Parallel()
	set := &Set{todo: true, tests: []Test{{"a.js", "sums last rows", true}, {"a.js", "keeps first rows", false}}, titles: map[string]int{"sums last rows": 0, "keeps first rows": 1}}
	for name, c := range map[string]struct {
		failing, passing string
		want             check.Witness
	}{
		"as drawn":    {"xfailed", "skipped", check.Witness{}},
		"all passed":  {"skipped", "skipped", check.Witness{Passed: 1}},
		"all failed":  {"xfailed", "xfailed", check.Witness{Failed: 1}},
		"told as had": {"passed", "passed", check.Witness{Passed: 1}},
	} {
		c.want.Place, c.want.Failing, c.want.Passing = "a.js", 1, 1
		others, seen := set.Take([]check.TestResult{
			{ID: "a.js::other", Outcome: "xfailed"}, {ID: "a.js::s > sums last rows", Outcome: c.failing}, {ID: "a.js::s > keeps first rows", Outcome: c.passing},
		})
		if len(others) != 1 || others[0].Outcome != "xfailed" || len(seen) != 1 || seen[0] != c.want {
			t.Errorf("%s: %+v %+v", name, others, seen)
		}
	}
}
