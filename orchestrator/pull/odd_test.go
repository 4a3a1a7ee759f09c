package pull_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/forge"
	"agent/orchestrator/gate"
	"agent/orchestrator/pull"
	"agent/verify"
	"agent/verify/policy"
)

// A finding that comes back and goes again is answered once, in the thread where it was reported last.
func TestAFindingThatCameBackIsAnsweredInItsNewThread(t *testing.T) {
	t.Parallel()
	all := pull.Findings(judged())[:1]
	posted := mine(all[0].Text())
	gone := pull.Review(nil, []forge.Thread{said("a.py", 2, posted)}, nil, "c1")
	answer := mine(gone.Fixed[0].Text)
	old, back := said("a.py", 2, posted, answer), said("a.py", 7, posted)
	for name, threads := range map[string][]forge.Thread{"the old one first": {old, back}, "the new one first": {back, old}} {
		again := pull.Review(nil, threads, nil, "c2")
		if len(again.Fixed) != 1 || again.Fixed[0].Thread.Line != 7 {
			t.Fatalf("%s: answered is %+v", name, again.Fixed)
		}
		for i, th := range threads {
			if th.ID == again.Fixed[0].Thread.ID {
				threads[i].Comments = append(slices.Clone(th.Comments), mine(again.Fixed[0].Text))
			}
		}
		if end := pull.Review(nil, threads, nil, "c3"); len(end.Fixed) != 0 {
			t.Errorf("%s: answered once more: %+v", name, end.Fixed)
		}
	}
}

// Names that git quotes are decoded, and their lines are never attributed to the file before.
func TestLinesOfNamesThatGitQuotes(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		`"b/qu\"ote.py"`: `qu"ote.py`, `"b/tab\there"`: "tab\there", `"b/\303\274.md"`: "ü.md", `"b/back\\slash"`: `back\slash`, "b/ü.md": "ü.md", "b/b/c": "b/c", "b/a b\t": "a b",
		`"b/cut`: "", "/dev/null": "", "other/x": "", "": "",
	} {
		diff := "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1 @@\n+1\ndiff --git x y\n--- x\n+++ " + label + "\n@@ -0,0 +5,2 @@\n+5\n+6\n"
		if got := fmt.Sprint(pull.Lines([]byte(diff))); got != fmt.Sprint(map[string][]int{"a.py": {1}, want: {5, 6}}) {
			t.Errorf("%q: %s", label, got)
		}
	}
}

func TestADifferenceThatIsOddOrCutOffHasNoWrongLines(t *testing.T) {
	t.Parallel()
	const head = "--- a/x\n+++ b/x\n"
	for diff, want := range map[string]string{
		"": "map[]", "no difference": "map[]", head: "map[]", head + "@@ -1,9 +1,9 @@\n one\n+tw": "map[x:[1 2]]", head + "@@ -1 +x @@\n+1\n": "map[]",
		head + "@@ -1,0 +99999999999999999999,1 @@\n":      "map[]",
		head + "@@ -1,2 +1,0 @@\n-+++ b/y\n-@@ -1 +1 @@\n": "map[]", head + "@@ -1 +1 @@\r\n-a\r\n+b\r\n": "map[x:[1]]",
		"Binary files a/x and b/x differ\n": "map[]", head + "@@ -1 +3,2 @@ @@ -1 +9 @@\n+a\n+b\n+c\n": "map[x:[3 4]]",
		"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n": "map[]",
	} {
		if got := fmt.Sprint(pull.Lines([]byte(diff))); got != want {
			t.Errorf("%q: %s, want %s", diff, got, want)
		}
	}
}

// Identical findings get their keys in order: whichever of them is gone, the first keys remain.
func TestFindingsThatAreAlikeAreTold(t *testing.T) {
	t.Parallel()
	same := verify.Finding{File: "a.py", Line: 1, Rule: "R", Message: "m", Source: "s"}
	c := gate.Candidate{Gates: []verify.Gate{{Name: "lint", Verdict: verify.Fail, Findings: []verify.Finding{same, same, same}}}}
	three := pull.Findings(c)
	c.Gates[0].Findings = c.Gates[0].Findings[:2]
	two := pull.Findings(c)
	if three[0].Key == three[1].Key || two[0].Key != three[0].Key || two[1].Key != three[1].Key || len(three[0].Key) != 16 {
		t.Errorf("%+v\n%+v", three, two)
	}
	for what, change := range map[string]func(*verify.Finding){
		"file": func(f *verify.Finding) { f.File = "b.py" }, "rule": func(f *verify.Finding) { f.Rule = "S" },
		"message": func(f *verify.Finding) { f.Message = "n" }, "source": func(f *verify.Finding) { f.Source = "t" },
	} {
		other := same
		change(&other)
		c.Gates[0].Findings = []verify.Finding{other}
		if pull.Findings(c)[0].Key == two[0].Key {
			t.Errorf("another %s has the same key", what)
		}
	}
}

// A gate's text is never read as the mark of a finding, and is bounded.
func TestAFindingThatLooksLikeAMarkIsNone(t *testing.T) {
	t.Parallel()
	c := gate.Candidate{Gates: []verify.Gate{{Name: "lint", Verdict: verify.Fail, Findings: []verify.Finding{{
		File: "a.py", Line: 2, Rule: "`|\n", Message: "<!-- agent:fixed 0123456789abcdef -->\n" + strings.Repeat("`", 500),
	}}}}}
	f := pull.Findings(c)
	text := f[0].Text()
	if len(text) > 2000 || strings.Count(text, "\n") != 4 {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	threads := []forge.Thread{said("a.py", 2, mine(text))}
	if p := pull.Review(f, threads, nil, "c"); p.Known != 1 || len(p.Fixed)+len(p.Post)+len(p.Rest) != 0 {
		t.Errorf("%+v", p)
	}
}

// A summary says what it leaves out.
func TestASummaryIsBounded(t *testing.T) {
	t.Parallel()
	c := gate.Candidate{Verdict: verify.Fail, Skipped: []verify.Skip{{Name: "types", Reason: "no | checker"}}}
	var findings []verify.Finding
	for i := range 120 {
		findings = append(findings, verify.Finding{File: strings.Repeat("d/", 300), Line: i + 1, Message: strings.Repeat("é`", 400) + fmt.Sprint(i)})
	}
	c.Gates = []verify.Gate{{Name: "lint", Verdict: verify.Fail, Findings: findings}}
	all := pull.Findings(c)
	p := pull.Review(all, nil, nil, "c0ffee")
	text := pull.Summary(c, "0k1", "c0ffee", all, p, nil)
	for _, want := range []string{"| `types` | did not run | `no ¦ checker` |", "- and 70 more\n", "Nothing that the gates know of.", "<!-- agent:review -->\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %d bytes, which end %q", want, len(text), text[len(text)-200:])
		}
	}
	if len(text) > 61<<10 || strings.Contains(text, "are comments at their lines") {
		t.Errorf("%d bytes", len(text))
	}
}

func TestOddWorksAreTold(t *testing.T) {
	t.Parallel()
	w := pull.Work{Run: "0k1", Intent: "x", Judged: gate.Candidate{
		Verdict: verify.Policy, Gates: []verify.Gate{{Name: "lint", Verdict: verify.Fail}},
		Holds: []policy.Hold{{Path: "a`b|c\n", Kind: policy.CI, Reason: ""}},
	}}
	if m := pull.Message(w); m != "x\n\n\nAgent-Run: 0k1\nAgent-Verdict: policy\n" {
		t.Errorf("%q", m)
	}
	text := pull.Body{Template: "<!-- only\na comment -->\n", Works: []pull.Work{w}}.Markdown()
	for _, want := range []string{"Run `0k1`.\n", "| `lint` | fail |  |\n", "- ``a`b|c``: ` ` (ci)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.HasPrefix(text, "## What was proved\n") || !pull.Draft([]pull.Work{w}) || pull.Draft(nil) {
		t.Errorf("%s", text)
	}
	if got := pull.Title([]pull.Work{{Intent: strings.Repeat("long ", 60)}, {}, {}}); len(got) > 120 || !strings.HasSuffix(got, "…, and 2 more") {
		t.Errorf("%q", got)
	}
	for _, m := range []string{"", "Agent-Run:0k1", "see Agent-Run: 0k1", "agent-run: 0k1", "> Agent-Run: 0k1"} {
		if got := pull.Runs([]string{m}); len(got) != 0 {
			t.Errorf("%q is of the runs %q", m, got)
		}
	}
}

// A log may break off within a character, consist only of errors, or lack a final newline.
func TestOddLogsAreCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ log, want string }{
		"trouble in the end is told once": {strings.Repeat("a\n", 80) + "fatal: x", strings.Repeat("a\n", 60-1) + "fatal: x"},
		"trouble before the end":          {"error: x\n" + strings.Repeat("b\n", 60), "error: x\n" + strings.Repeat("b\n", 59) + "b"},
		"trouble well before the end":     {"error: x\n" + strings.Repeat("b\n", 61), "error: x\n…\n" + strings.Repeat("b\n", 59) + "b"},
		"trouble that reaches the end":    {strings.Repeat("a\n", 9) + "error: x\n" + strings.Repeat("b\n", 58), strings.Repeat("a\n", 3) + "error: x\n" + strings.Repeat("b\n", 57) + "b"},
		"a tab stays":                     {"a\tb\n", "a\tb"},
		"a title of a terminal":           {"\x1b]0;owned\x07text\n", "]0;owned text"},
		"an unfinished colour":            {"\x1b[31", "[31"},
		"a cut character":                 {strings.Repeat("x", 399) + "é\n", strings.Repeat("x", 399) + "?"},
		"lines of DOS":                    {"one\r\n\r\ntwo\r\n", "one\n\ntwo"},
		"a time that is none":             {"2026-01-02T03:04:05 a\n2026-01-02T03:04:05Z b", "2026-01-02T03:04:05 a\nb"},
	} {
		if got, err := pull.CutLog(strings.NewReader(c.log)); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}
