package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
)

// scripts is a workspace with an old fault for each tool, none of which a patch must answer for.
var scripts = map[string]string{
	"package.json":      `{"type": "commonjs", "scripts": {"test": "node --test"}}`,
	"lib/area.js":       "'use strict';\nconst pi = 3;\nmodule.exports = { area: (r) => pi * r * r, round: (n) => n };\n",
	"lib/old.js":        "'use strict';\nmodule.exports = { old: () => neverDeclared };\nconst frozen = 1;\nfrozen = 2;\n",
	"area.test.js":      "const test = require('node:test');\nconst assert = require('node:assert');\nconst { area, round } = require('./lib/area');\n\ntest('area', () => assert.strictEqual(area(2), 12));\ntest('round', () => assert.ok(round(1)));\ntest('old', () => assert.ok(false));\n",
	"web/tsconfig.json": `{"compilerOptions": {"strict": true}}`,
	"web/double.ts":     "export const double = (n: number): number => 2 * n;\nexport const old: string = 1;\n",
	"web/app.ts":        "import { double } from './double';\n\nexport const total = double(21);\n",
	"web/app.css":       "a {\n  width: 10px;\n}\n",
}

func TestFaultsInScriptsAreHeldAndOldOnesAreNot(t *testing.T) {
	t.Parallel()
	s := newSite(t, scripts)
	r := s.verify(t, map[string]string{
		"web/double.ts": "export const double = (n: string): string => n + n;\nexport const old: string = 1;\n",
		"lib/area.js":   "'use strict';\nmodule.exports = { area: (r) => pi * r * r + 1 };\n",
		"web/app.css":   "a {\n  width: 10pixels;\n}\n",
	})
	var got []string
	for _, name := range []string{check.GateLint, check.GateTypes, check.GateTests} {
		g := find(t, r, name)
		if g.Old == 0 {
			t.Errorf("%s has no old finding", name)
		}
		for _, f := range g.Findings {
			got = append(got, fmt.Sprintf("%s %s:%d", f.Rule, f.File, f.Line))
		}
	}
	slices.Sort(got)
	if want := []string{
		"TS2305 area.test.js:3", "TS2345 web/app.ts:3", "correctness/noUnknownUnit web/app.css:2",
		"test-failed area.test.js:6", "test-failed lib/area.js:2", "undeclared-name lib/area.js:2",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r = s.verify(t, map[string]string{
		"lib/area.js": strings.Replace(scripts["lib/area.js"], "pi = 3", "pi = 3.0", 1),
		"web/app.ts":  scripts["web/app.ts"] + "export const twice: number = double(total);\n",
		"lib/old.js":  scripts["lib/old.js"] + "// The order matters.\nmodule.exports.more = neverDeclared;\n",
	})
	expect(t, r, check.Pass)
}
