package verify

import (
	"strings"
	"testing"

	"agent/verify/check"
)

// Whether node itself strips types from a file depends on its version, and so does the node that `env node` finds.
func TestTestsRunOnTheNodeThatAWorkspaceAsksFor(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"package.json":  `{"engines": {"node": ">=22.18"}, "scripts": {"test": "node --test && env node cli.cjs"}}`,
		"one.ts":        "export const one = (n: number): number => n + 1;\n",
		"a.test.mjs":    "import test from \"node:test\";\nimport assert from \"node:assert\";\nimport { one } from \"./one.ts\";\n\ntest(\"one\", () => assert.equal(one(1), 2));\n",
		"tool/main.mjs": "import { one } from \"../one.ts\";\n\nif (one(0) < 0) process.exit(1);\n",
		"cli.cjs":       "import(\"./tool/main.mjs\");\n",
	}
	s := newSite(t, files).only(check.GateTests)
	r := s.verify(t, map[string]string{"one.ts": strings.Replace(files["one.ts"], "n + 1", "1 + n", 1)})
	expect(t, r, check.Pass)
	if g := find(t, r, check.GateTests); !strings.Contains(g.Detail, "node: 1 passed") || !strings.Contains(g.Detail, "test script: 1 passed") || len(r.Executed) != 1 || r.Executed[0].Executed != 1 {
		t.Errorf("%s; executed %+v", g.Detail, r.Executed)
	}
	r = s.verify(t, map[string]string{"one.ts": strings.Replace(files["one.ts"], "n + 1", "n - 2", 1)})
	expect(t, r, check.Fail, check.GateTests)
	if g := find(t, r, check.GateTests); len(g.Findings) != 2 {
		t.Errorf("%+v", g.Findings)
	}
}
