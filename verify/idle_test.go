package verify

import (
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/smoke"
	"agent/verify/verifytest"
)

// Programs that do something, and what patches make of them.
const (
	report = "import sys\n\nRATES = {\"a\": 1, \"b\": 2}\n\n\ndef total(name: str) -> int:\n    rate = RATES[name]\n    return rate * 3\n\n\n" +
		"def main() -> None:\n    for name in RATES:\n        value = total(name)\n        sys.stdout.write(f\"{name}: {value}\\n\")\n\n\n" + starts
	starts = "if __name__ == \"__main__\":\n    main()\n"
	worker = "import time\n\n\ndef main() -> None:\n    while True:\n        time.sleep(0.1)\n\n\n" + starts
	serves = "import http.server\n\n\ndef main() -> None:\n    http.server.HTTPServer((\"\", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()\n\n\n" + starts
	quits  = "import sys\n\nsys.exit(0)\n"
)

// A patch is held if its program ends well and does less than before, but not if the program does its work in another way.
func TestAProgramThatDoesNothingAnyMoreIsHeld(t *testing.T) {
	t.Parallel()
	change := strings.NewReplacer
	for name, c := range map[string]struct {
		before, after string
		rule, says    string // "" for a pass
	}{
		"all of it is gone":       {report, quits, smoke.RuleIdle, "main.py printed something before the patch; now it ends with status 0 and no output"},
		"it ends first":           {report, change("RATES =", "sys.exit(0)\nRATES =").Replace(report), smoke.RuleIdle, "does little of what it did"},
		"it ends before its work": {report, change("    for name", "    sys.exit(0)\n    for name").Replace(strings.ReplaceAll(report, "RATES = {", "NAMES = [\"a\", \"b\"]\nMORE = len(NAMES)\nMOST = MORE\nLEAST = MOST\nRATES = {")), smoke.RuleIdle, "it ends with status 0 and no output"},
		"it ends first, and says": {report, change("RATES =", "print(\"ok\")\nsys.exit(0)\nRATES =").Replace(report), smoke.RuleIdle, "does little of what it did"},
		"its main part is empty":  {report, change("    for name", "    return\n    for name").Replace(report), smoke.RuleIdle, "does little of what it did"},
		"nothing calls it":        {report, change("    main()\n", "    pass\n").Replace(report), smoke.RuleIdle, "does little of what it did"},
		"a worker that ends":      {worker, quits, smoke.RuleIdle, "main.py kept running before the patch; now it ends at once with status 0"},
		"a loop that never turns": {worker, change("while True", "while not time").Replace(worker), smoke.RuleIdle, "kept running"},
		"a server that ends":      {serves, quits, smoke.RuleEnded, "kept running"},
		"it is quiet now":         {report, change("sys.stdout.write(f\"{name}: {value}\\n\")", "len(f\"{name}: {value}\\n\")").Replace(report), "", ""},
		"it says less":            {report, change("{name}: {value}", "{value}").Replace(report), "", ""},
		"it says another thing":   {"print(\"a long greeting\")\n", "print(\"hi\")\n", "", ""},
		"it was quiet":            {"import sys\n\nsys.path\n", quits, "", ""},
		"it failed":               {"raise SystemExit(\"no key\")\n", "raise SystemExit(\"\")\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"main.py": c.before})
			cache := verifytest.NewMemory()
			cache.Rows[proofKey(s.lab)] = allProved()
			s.verifier = &Verifier{Boxes: s.lab.Engine, Cache: cache}
			g := find(t, s.only(check.GateSmoke).verify(t, map[string]string{"main.py": c.after}), check.GateSmoke)
			if c.rule == "" {
				if g.Verdict != check.Pass || len(g.Findings) > 0 {
					t.Errorf("%s: %+v", g.Verdict, g)
				}
				return
			}
			if g.Verdict != check.Policy || len(g.Findings) != 1 || g.Findings[0].Rule != c.rule || !strings.Contains(g.Findings[0].Message, c.says) {
				t.Fatalf("%s: %+v", g.Verdict, g)
			}
			if kinds := Approvals([]Gate{g}); len(kinds) != 1 || kinds[0] != policy.Idle {
				t.Errorf("approved by %q", kinds)
			}
		})
	}
}

// A program that is gone says nothing about another one that is found in its place.
func TestAnotherProgramIsNoSmallerOne(t *testing.T) {
	t.Parallel()
	base := check.Outcome{Ending: &check.Ending{Command: []string{"/usr/bin/python3", "main.py"}, Wrote: 100}}
	for file, want := range map[string]check.Verdict{"main.py": check.Policy, "tool.py": check.Pass, "moved.py": check.Policy} {
		now := check.Outcome{Ending: &check.Ending{Command: []string{"/usr/bin/python3", file}, Does: &check.Does{}}}
		d := check.Diff{}
		if file == "moved.py" {
			d.Moved = map[string]string{"main.py": file}
		}
		if g := smoke.Program.Judge(base, now, d); g.Verdict != want {
			t.Errorf("%s: %+v", file, g)
		}
	}
}
