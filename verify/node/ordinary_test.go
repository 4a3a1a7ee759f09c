package node

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// An ordinary suite has files in addition to those of a runner's suite, and the number of places that are witnessed.
type ordinary struct {
	name      string
	files     map[string]string
	witnessed int
}

// nodeOrdinary are the ordinary suites for node's own runner.
var nodeOrdinary = []ordinary{
	{"as it is", nil, 1},
	{"modules and strict", map[string]string{"b.test.mjs": "import { describe, it, before } from 'node:test';\nimport { strictEqual, ok as fine } from 'node:assert/strict';\nbefore(() => {});\ndescribe('b', () => {\n  it('is', () => strictEqual(1, 1));\n  it('fails', () => fine(0));\n});\n"}, 2},
	{"a hook that fails", map[string]string{"b.test.js": "const { test, beforeEach } = require('node:test');\nconst assert = require('node:assert');\nbeforeEach(() => { throw new Error('no'); });\ntest('b', () => assert.ok(1));\n"}, 1},
	{"a hook behind all that fails", map[string]string{"b.test.js": "const { test, after } = require('node:test');\nconst assert = require('node:assert');\nafter(() => { throw new Error('no'); });\ntest('b', () => assert.ok(1));\n"}, 2},
	{"an exit status of its own", map[string]string{"b.test.js": "const { test } = require('node:test');\nconst assert = require('node:assert');\ntest('b', () => { assert.ok(1); process.exitCode = 3; });\n"}, 2},
	{"an error behind the tests", map[string]string{"b.test.js": "const { test } = require('node:test');\nconst assert = require('node:assert');\ntest('b', () => { assert.ok(1); setTimeout(() => { throw new Error('late'); }, 50); });\n"}, 2},
	{"an exit at the end", map[string]string{"b.test.js": "const { test } = require('node:test');\nconst assert = require('node:assert');\ntest('b', () => assert.ok(1)).then(() => process.exit(0));\n"}, 1},
	{"no tests", map[string]string{"b.test.js": "console.log(1);\n"}, 1},
	{"todo, skip and only", map[string]string{"b.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\ntest.todo('later');\ntest.skip('never', () => {});\ntest('b', { todo: true }, () => assert.ok(0));\n", "c.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\ntest.only('b', () => assert.ok(1));\n"}, 2},
	{"mocked timers", map[string]string{"b.test.js": "const { test, mock } = require('node:test');\nconst assert = require('node:assert');\nmock.timers.enable();\ntest('b', () => assert.ok(1));"}, 2},
	{"concurrent, old style", map[string]string{"b.test.js": "var test = require('node:test')\n  , assert = require('assert')\n\ntest('b', { concurrency: true }, async function (t) {\n  await t.test('in', function () { assert.equal(1, 2) })\n  await t.test('out', async () => assert.rejects(async () => { throw new Error('x') }))\n})\n// the end"}, 2},
	{"in functions", map[string]string{"b.test.js": "(function () {\n  const test = require('node:test');\n  const assert = require('node:assert');\n  test('b', () => assert.ok(1));\n})();\n"}, 1},
}

// TestOrdinarySuitesOfScriptsAreAsWithoutWitnesses runs each suite with witnesses and without.
func TestOrdinarySuitesOfScriptsAreAsWithoutWitnesses(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(suites)) {
		s := suites[name]
		t.Run(name, func(t *testing.T) {
			b := installedBench(t, s.files)
			for i, o := range s.ordinary {
				if i%4 != 0 && os.Getenv("AGENT_TEST_FORGERIES") == "" {
					continue
				}
				cs := verifytest.Change(t, b.View.Base, o.files)
				on := b
				on.View = check.NewView(b.View.Base, cs)
				if err := b.Box.Apply(t.Context(), cs); err != nil {
					t.Fatal(err)
				}
				run := func(only []string) check.Outcome {
					on.Only = only
					out := s.check.Run(t.Context(), on)
					checktest.Sweep(t, b)
					return out
				}
				first, second := run(nil), run(nil)
				var all []string
				for _, r := range first.Tests {
					all = append(all, r.ID)
				}
				without := run(all)
				// It names that run's report.
				first.Blocked = strings.Replace(first.Blocked, "-again.json", ".json", 1)
				// Which file ends first, and is mentioned, is a matter of chance.
				first.Blocked, _, _ = strings.Cut(first.Blocked, ": PASS ")
				without.Blocked, _, _ = strings.Cut(without.Blocked, ": PASS ")
				// A file that a script names may run twice if it is also asked for.
				without.Tests = slices.DeleteFunc(without.Tests, func(r check.TestResult) bool {
					return strings.HasSuffix(r.ID, " #2") && !slices.Contains(all, r.ID)
				})
				if err := b.Box.Apply(t.Context(), cs.Reverse()); err != nil {
					t.Fatal(err)
				}
				if g := s.check.Judge(first, second, check.Diff{Sources: check.NewSources(on.View)}); g.Verdict != check.Pass && first.Blocked == "" {
					t.Errorf("%s: %s %s %+v\n%s", o.name, g.Verdict, g.Detail, g.Findings, second.Output)
				}
				// The order in which files end is a matter of chance.
				for _, list := range [][]check.TestResult{first.Tests, without.Tests} {
					slices.SortStableFunc(list, func(a, b check.TestResult) int { return strings.Compare(a.ID, b.ID) })
				}
				drawn := 0
				for _, w := range first.Witnesses {
					if w.AsDrawn() {
						drawn++
					}
				}
				if drawn != o.witnessed || !slices.Equal(first.Tests, without.Tests) || first.Blocked != without.Blocked || len(without.Tests) == 0 {
					t.Errorf("%s: %d drawn, want %d: %+v\nwith    %q %+v\nwithout %q %+v\n%s", o.name, drawn, o.witnessed, first.Witnesses, first.Blocked, first.Tests, without.Blocked, without.Tests, first.Output)
				}
				for _, line := range strings.Split(second.Output, "\n") {
					if strings.Contains(line, "t.todo") {
						t.Errorf("%s: it is seen: %s", o.name, line)
					}
				}
			}
		})
	}
}
