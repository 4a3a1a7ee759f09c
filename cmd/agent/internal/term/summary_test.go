package term

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
	"agent/verify"
	"agent/verify/policy"
)

func summarise(d run.Document, pal Palette, columns int) string {
	var out bytes.Buffer
	summary{Out: &out, Palette: pal, columns: columns}.Document(d)
	return out.String()
}

func TestResultsForPeople(t *testing.T) {
	t.Parallel()
	proved := termtest.Promoted()
	proved.State, proved.Promotion, proved.Candidates[0].Diff = run.Done, nil, termtest.Diff
	unattended := termtest.Promoted()
	unattended.State, unattended.Verdict, unattended.Promotion = run.Rejected, verify.Policy, nil
	unattended.Outcome = run.OutcomeAwaiting
	unattended.Error = &run.Problem{Kind: "policy", Message: "awaiting approval: there is no terminal and no --yes", Next: "apply it later: `agent runs apply 1k3mzq8a0v2c --yes`"}
	unchanged := run.Document{State: run.Rejected, Verdict: verify.Pass, Run: "1k3mzq8a0v2c", Workspace: "/w", Outcome: run.OutcomeUnchanged}
	unchanged.Command = &run.DocumentCommand{Args: []string{"sh", "-c", "exit\x1b[2J"}, Exit: -1, Signal: "SIGSEGV", Seconds: 2, LeftCount: 3, Left: []run.DocumentLeft{{Path: "li\nnk", Reason: "symbolic link"}}}
	executed := termtest.Promoted()
	executed.Command = &run.DocumentCommand{Args: []string{"claude", "-p", "add it"}, Exit: 1, Seconds: 12.34}
	for name, d := range map[string]run.Document{
		"unchanged": unchanged, "executed": executed,
		"rejected": termtest.Rejected(), "promoted": termtest.Promoted(), "proved": proved, "unattended": unattended,
		"no-engine": {State: run.Failed, Verdict: verify.Infra, Workspace: "/w", Error: &run.Problem{Kind: "infra", Message: "no engine", Next: "start one"}},
	} {
		termtest.Golden(t, "summary-"+name+".txt", summarise(d, Palette{}, 80))
	}
}

func TestResultsCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		text := summarise(termtest.Rejected(), Palette{on: on}, 80)
		for _, bad := range []string{"\x1b]0", "\x07"} {
			if strings.Contains(text, bad) {
				t.Errorf("painted %v: %q reaches the terminal", on, bad)
			}
		}
	}
	if text := summarise(termtest.Rejected(), Palette{}, 80); strings.Contains(text, "\x1b") {
		t.Error("an unpainted result holds an escape")
	}
}

func TestAPaintedResultFitsANarrowTerminal(t *testing.T) {
	t.Parallel()
	text := summarise(termtest.Rejected(), Palette{on: true}, 20)
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "│") && ansi.StringWidth(line) > 20 {
			t.Errorf("%q does not fit 20 columns", line)
		}
	}
}

func TestManyFindingsAreCut(t *testing.T) {
	t.Parallel()
	d := termtest.Rejected()
	for range 100 {
		d.Candidates[0].Gates[1].Findings = append(d.Candidates[0].Gates[1].Findings, verify.Finding{Message: "again"})
	}
	text := summarise(d, Palette{}, 80)
	if n := strings.Count(text, "again"); n >= 20 || !strings.Contains(text, "… and 83 more") {
		t.Errorf("%d findings are shown:\n%s", n, text)
	}
}

// The summary reports what a review left, and what can be done about it.
func TestSummariesNameWhatIsKept(t *testing.T) {
	t.Parallel()
	kept := []run.DocumentProposal{{ID: 7, Kind: run.Feature, Path: "a.py", Reason: "types\n\x1b[2Ja.py:1: wrong\nmore"}}
	for name, c := range map[string]struct {
		doc  run.Document
		want []string
	}{
		"an open feature":  {run.Document{State: run.Done, Verdict: verify.Pass, Proposals: kept}, []string{"proposal 7  FEATURE  a.py", "sandbox run --proposal 7"}},
		"a dropped one":    {run.Document{State: run.Done, Verdict: verify.Pass}, []string{"agent proposals list"}},
		"nothing to mend":  {run.Document{State: run.Rejected, Verdict: verify.Pass}, []string{"nothing was found to change"}},
		"one that goes on": {run.Document{State: run.Verifying}, nil},
	} {
		got := summarise(c.doc, Palette{}, 80)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		if strings.Contains(got, "\x1b") || c.want == nil && strings.Contains(got, "next:") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A reason is shown by its first words, however long it is.
func TestAHeadlineIsOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"it passed; skipped":             "it passed; skipped",
		"types\na.py:1: wrong\nand more": "types a.py:1: wrong",
		strings.Repeat("é", 100):         strings.Repeat("é", 72) + "…",
	} {
		if got := Headline(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A person who decides learns what waits for them and what is only shown.
func TestAHoldSaysWhatItAsksFor(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]policy.Hold{
		"needs approval (ci):": {Kind: policy.CI, Block: true}, "needs a look:": {Kind: policy.ChangedTest},
	} {
		if got := HoldWord(h); got != want {
			t.Errorf("%+v: %q", h, got)
		}
	}
}

// Sentences are broken at spaces, never inside a command, a word or a colour.
func TestTextIsBrokenAtSpaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text            string
		columns, indent int
		want            string
	}{
		{"", 10, 2, ""},
		{"one two", 10, 0, "one two"},
		{"one two  three four", 10, 0, "one two\nthree four"},
		{"one two three", 10, 4, "one\n    two\n    three"},
		{"then run `agent undo --yes` now", 12, 0, "then run\n`agent undo --yes`\nnow"},
		{"an`open one stays whole", 5, 0, "an`open one stays whole"},
		{"see https://example.org/a/long/path there", 12, 2, "see\n  https://example.org/a/long/path\n  there"},
		{"a line\nand another one", 11, 2, "a line\n  and\n  another\n  one"},
		{"\x1b[33mwarning:\x1b[m said", 13, 0, "\x1b[33mwarning:\x1b[m said"},
		{"数学 数学", 5, 0, "数学\n数学"},
	} {
		if got := Fill(c.text, c.columns, c.indent); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// What a person has just seen is not printed again on that terminal; into a file it is.
func TestAResultRepeatsNothingThatWasSeen(t *testing.T) {
	t.Parallel()
	d := termtest.Promoted()
	d.Candidates[0].Diff = d.Promotion.Diff
	open := termtest.Promoted()
	open.State, open.Verdict, open.Promotion, open.Outcome = run.Rejected, verify.Policy, nil, run.OutcomeAwaiting
	open.Candidates[0].Diff = d.Promotion.Diff
	p := termtest.NewPerson(t)
	var file bytes.Buffer
	for _, out := range []io.Writer{p.TTY, &file} {
		c := &Console{Getenv: func(string) string { return "" }, Stdout: out, Stderr: p.TTY}
		c.Saw(d.Promotion.Diff)
		c.Summary().Document(d)
		c.Summary().Document(open)
	}
	shown := p.Whole()
	for text, times := range map[string]int{"@@": 0, "✓ lint": 0, "promoted": 1, "modify": 1, "awaiting approval": 1} {
		if got := strings.Count(shown, text); (got == 0) != (times == 0) {
			t.Errorf("%q is shown %d times:\n%s", text, got, shown)
		}
	}
	if got := file.String(); !strings.Contains(got, "@@") || !strings.Contains(got, "lint") {
		t.Errorf("the file has\n%s", got)
	}
	other := &Console{Getenv: func(string) string { return "" }, Stdout: &file}
	other.Saw("another diff")
	if s := other.Summary(); s.saw != "" {
		t.Errorf("%q", s.saw)
	}
}
