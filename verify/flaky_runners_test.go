package verify

import (
	"path"
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/room"
	"agent/verify/verifytest"
)

// coins has, for each check of tests, a workspace in which one test tosses a coin and others do not, and the ID of that test.
var coins = map[string]struct {
	id    string
	files map[string]string
}{
	golang.TestsName: {"coin/coin_test.go::TestCoin/toss", map[string]string{
		"go.mod": "module example.com/coin\n\ngo 1.24\n", "coin/coin.go": "// Package coin tosses.\npackage coin\n",
		"coin/coin_test.go":   "package coin\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestCoin(t *testing.T) {\n\tt.Run(\"toss\", func(t *testing.T) {\n\t\tif _, err := os.Stat(\"/tmp/heads\"); err != nil {\n\t\t\tt.Error(\"tails\")\n\t\t}\n\t})\n}\n\nfunc TestTwo(t *testing.T) {}\n",
		"other/other_test.go": "package other\n\nimport \"testing\"\n\nfunc TestCoin(t *testing.T) {}\n",
	}},
	node.TestsName: {"web/coin.test.mjs::coin > toss", map[string]string{
		"web/coin.test.mjs":  "import test from \"node:test\";\nimport assert from \"node:assert\";\nimport fs from \"node:fs\";\n\ntest(\"coin\", async (t) => {\n  await t.test(\"toss\", () => assert.ok(fs.existsSync(\"/tmp/heads\"), \"tails\"));\n  await t.test(\"two\", () => assert.ok(true));\n});\n",
		"web/other.test.mjs": "import test from \"node:test\";\n\ntest(\"other\", () => {});\n",
	}},
}

func TestEveryRunnersFlakyTestIsShownAndNotHeldAgainstThePatch(t *testing.T) {
	t.Parallel()
	for name, c := range coins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"notes.txt": "one\n"}
			for p, text := range c.files {
				files[p] = text
			}
			s := newSite(t, files)
			m, cache := &mint{Launcher: s.lab.Engine, heads: heads, started: map[string]int{}}, verifytest.NewMemory()
			cache.Rows[proofKey(s.lab)] = allProved()
			s.verifier = &Verifier{Boxes: m, Cache: cache}
			r := s.only(check.GateTests).verify(t, map[string]string{"notes.txt": "two\n"})
			expect(t, r, check.Pass)
			g := find(t, r, check.GateTests)
			want := c.id + ": flaky: failed 1 of 3 times before the patch: "
			if g.Old != 1 || len(g.OldFindings) != 1 || !strings.HasPrefix(g.OldFindings[0].Message, want) {
				t.Errorf("%d old: %+v, want %q", g.Old, g.OldFindings, want)
			}
			if n := m.started["repeat-tests"]; n != 2+maxRepeats {
				t.Errorf("%d boxes for repeats", n)
			}
		})
	}
}

// A test that the patch breaks fails every time with the patch, whatever the runner.
func TestABrokenTestStaysTheFaultOfThePatch(t *testing.T) {
	t.Parallel()
	for file, change := range map[string][2]string{
		"coin/coin.go": {"package coin\n", "package coin\n\n// One is one.\nfunc One() int { return 1 }\n"},
		"web/one.mjs":  {"export const one = 1;\n", "export const one = 2;\n"},
	} {
		t.Run(path.Ext(file), func(t *testing.T) {
			t.Parallel()
			files := map[string]string{file: change[0], "go.mod": "module example.com/coin\n\ngo 1.24\n"}
			if path.Ext(file) == ".go" {
				files[file] = "package coin\n\n// One is one.\nfunc One() int { return 1 }\n"
				change[1] = strings.Replace(files[file], "return 1", "return 2", 1)
				files["coin/coin_test.go"] = "package coin\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Error(One())\n\t}\n}\n"
			} else {
				files["web/one.test.mjs"] = "import test from \"node:test\";\nimport assert from \"node:assert\";\nimport { one } from \"./one.mjs\";\n\ntest(\"one\", () => assert.equal(one, 1));\n"
			}
			r := newSite(t, files).only(check.GateTests).verify(t, map[string]string{file: change[1]})
			expect(t, r, check.Fail, check.GateTests)
			if g := find(t, r, check.GateTests); len(g.Findings) != 1 || g.Findings[0].Rule != compare.RuleTestFailed {
				t.Errorf("%+v", g.Findings)
			}
		})
	}
}

func TestTestsThatAreAskedForAreRunAlone(t *testing.T) {
	t.Parallel()
	for name, c := range coins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := checktest.NewBench(t, c.files, sandbox.Limits{Tmp: room.Tmp})
			b.Only = []string{c.id}
			out := checkNamed(name).Run(t.Context(), b)
			if out.Verdict != "" || out.Blocked != "" {
				t.Fatalf("%+v", out)
			}
			var ran []string
			for _, r := range out.Tests {
				ran = append(ran, r.ID)
			}
			file, _, _ := strings.Cut(c.id, "::")
			if !slices.Contains(ran, c.id) || slices.ContainsFunc(ran, func(id string) bool { return !strings.HasPrefix(id, file+"::") }) {
				t.Errorf("asked for %s, ran %q", c.id, ran)
			}
			b.Only = []string{"nowhere/a.test.js::x", "nowhere/a_test.go::TestX"}
			if name == node.TestsName {
				if out := checkNamed(name).Run(t.Context(), b); len(out.Tests) > 0 {
					t.Errorf("asked for none of it, ran %+v", out.Tests)
				}
			}
		})
	}
}

func TestEveryCheckOfTestsCanRepeatSome(t *testing.T) {
	t.Parallel()
	for _, c := range checks() {
		if c.Gate == check.GateTests && !c.Repeats {
			t.Errorf("%s repeats no test", c.Name)
		}
	}
}
