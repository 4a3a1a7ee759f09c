package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/kept"
	"agent/verify/verifytest"
)

// longSuites are workspaces with a test that does not end in time and has nothing to do with the program.
func longSuites() map[string]map[string]string {
	return map[string]map[string]string{
		"python": {
			"price.py": "def price(count):\n    return count * 3\n", "test_price.py": "from price import price\n\n\ndef test_price():\n    assert price(2) == 6\n",
			"test_long.py": "import time\n\n\ndef test_long():\n    time.sleep(900)\n",
		},
		"go": {
			"go.mod": "module m\n\ngo 1.24\n", "price.go": "package m\n\nfunc Price(count int) int {\n\treturn count * 3\n}\n",
			"price_test.go":     "package m\n\nimport \"testing\"\n\nfunc TestPrice(t *testing.T) {\n\tif Price(2) != 6 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
			"long/long_test.go": "package long\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestLong(t *testing.T) { time.Sleep(15 * time.Minute) }\n",
		},
		"node": {
			"package.json": "{\"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n", "price.js": "export function price(count) {\n  return count * 3;\n}\n",
			"price.test.js": "import assert from 'node:assert';\nimport test from 'node:test';\nimport { price } from './price.js';\n\ntest('price', () => assert.equal(price(2), 6));\n",
			"long.test.js":  "import test from 'node:test';\n\ntest('long', () => new Promise((end) => setTimeout(end, 900_000)));\n",
		},
	}
}

// narrowed checks that a fault in such a workspace, and an honest change if asked for, is judged by the tests near it.
func narrowed(t *testing.T, language, program string, honest bool) {
	t.Helper()
	files := longSuites()[language]
	runs := map[string]string{"python": ", when test_long.py::test_long was running", "go": ", when long/long_test.go::TestLong was running"}
	s := newSite(t, files).only(check.GateTests)
	s.config.Timeout = 15 * time.Second
	r := s.verify(t, map[string]string{program: strings.Replace(files[program], "count * 3", "count * 4", 1)})
	i := slices.IndexFunc(r.Gates, func(g Gate) bool { return g.Name == check.GateTests })
	if r.Verdict != Fail || i < 0 || len(r.Gates[i].Findings) != 1 || !strings.Contains(r.Gates[i].Detail, "only the test file that the patch is about ran, because the tests did not all finish within 15s before the patch"+runs[language]) {
		t.Errorf("%s, a fault: %+v", language, r)
	}
	if !honest {
		return
	}
	r = s.verify(t, map[string]string{program: strings.Replace(files[program], "count * 3", "3 * count", 1)})
	if r.Verdict != Pass || len(r.Holds) > 0 || !slices.ContainsFunc(r.Unproven, func(u Unproven) bool {
		return u.Kind == audit.NotRun && u.Part && strings.Contains(u.Reason, "the test file that the patch is about") && strings.Contains(u.Reason, "AGENT_TIMEOUT")
	}) {
		t.Errorf("%s, no fault: %+v", language, r)
	}
}

// If a suite does not end in time before a patch, the tests that the patch is about judge it, and the report says what did not run.
func TestALongSuiteIsJudgedByWhatThePatchIsAbout(t *testing.T) {
	t.Parallel()
	narrowed(t, "python", "price.py", false)
}

func TestLongSuitesOfEachLanguageAreJudgedByWhatThePatchIsAbout(t *testing.T) {
	t.Parallel()
	for language, program := range map[string]string{"python": "price.py", "go": "price.go", "node": "price.js"} {
		narrowed(t, language, program, true)
	}
}

// The gate remembers for a day that a suite does not end in time: it judges the next patch at once by the tests near it.
func TestThatASuiteIsLongIsRememberedForADay(t *testing.T) {
	t.Parallel()
	files := longSuites()["python"]
	s := newSite(t, files).only(check.GateTests)
	cache, boxes := verifytest.NewMemory(), &counter{Launcher: s.lab.Engine}
	cache.Rows[proofKey(s.lab)] = allProved()
	s.verifier.Cache, s.verifier.Boxes, s.config.Timeout = cache, boxes, 15*time.Second
	judge := func(why, with string, whole bool) {
		t.Helper()
		boxes.started = map[string]int{}
		r := s.verify(t, map[string]string{"price.py": strings.Replace(files["price.py"], "count * 3", with, 1)})
		i := slices.IndexFunc(r.Gates, func(g Gate) bool { return g.Name == check.GateTests })
		if i < 0 || !strings.Contains(r.Gates[i].Detail, "only the test file that the patch is about ran") || (r.Verdict == Pass) != (with != "count * 4") {
			t.Errorf("%s: %+v", why, r)
		}
		if got := boxes.started["baseline-"+check.GroupTests] > 0; got != whole {
			t.Errorf("%s: all tests ran on the base: %v; boxes %v", why, got, boxes.started)
		}
	}
	judge("first", "3 * count", true)
	judge("soon after", "count * 4", false)
	for key := range cache.Rows {
		if strings.HasPrefix(key, "long/") {
			cache.Rows[key] = []byte(`"` + time.Now().Add(-kept.LongFor).Format(time.RFC3339) + `"`)
		}
	}
	judge("a day after", "count * (2 + 1)", true)
}
