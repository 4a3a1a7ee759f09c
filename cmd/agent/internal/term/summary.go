package term

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"agent/orchestrator/gate"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/verify"
	"agent/verify/policy"
)

// A result must fit a screen or two; the record has all of it.
const (
	shownFindings = 20 // of one gate; --json has them all
	shownOutput   = 12 // last lines of the output of a gate that did not pass
)

// A summary prints the result of a run for people.
//
//	rejected (fail)  run 1k3mzq8a0v2c  /home/me/shop
//
//	  ✓ lint     pass      0.2s  ruff check over the workspace
//	  ✗ types    fail      1.9s  2 new, 3 old
//
//	types
//	  shop/report.py:12:5: arg-type Argument 1 to "total" …
//	      │ total(1, 2)
//	      https://mypy.readthedocs.io/en/stable/error_code_list.html#code-arg-type
//
//	patch: the patch failed: types: 2 findings
//	next: fix the patch and run again
type summary struct {
	Out     io.Writer
	Palette Palette
	columns int
	saw     string // the diff that is already shown above, with its gates
}

// Summary returns the printer of results on stdout.
func (c *Console) Summary() summary {
	columns, _ := c.Size(c.Stdout)
	s := summary{Out: c.Stdout, Palette: c.Palette(c.Stdout), columns: columns}
	if Terminal(c.Stdout) != nil {
		s.saw = c.saw
	}
	return s
}

// Document prints a run: how it ended, its gates with their findings, and the diff of what was promoted or proved.
func (s summary) Document(d run.Document) {
	s.head(d)
	if d.Command != nil {
		s.command(*d.Command)
	}
	// A run of one patch has one candidate; numbering it would raise a question.
	winner := winner(d)
	for i, c := range d.Candidates {
		if len(d.Candidates) > 1 && (winner < 0 || i == winner) {
			fmt.Fprintf(s.Out, "\ncandidate %d of %d: %s\n", i+1, len(d.Candidates), s.verdict(c.Verdict))
		}
		if (winner < 0 || i == winner) && (s.saw == "" || c.Diff != s.saw) {
			s.candidate(c)
		}
	}
	s.others(d, winner)
	s.critiques(d)
	// The diff of a refused patch is not shown: its sender has the patch, and the reasons should stay on the screen.
	switch {
	case d.Promotion != nil:
		s.promotion(*d.Promotion)
	case d.State == run.Done && len(d.Candidates) > 0:
		s.diff(d.Candidates[d.Deciding()].Diff)
	}
	s.commit(d)
	s.kept(d)
	s.next(d)
	s.caveat(d)
}

// commit names the commit that a run created.
func (s summary) commit(d run.Document) {
	if d.Commit == nil {
		return
	}
	text := fmt.Sprintf("commit %.12s", d.Commit.ID)
	if d.Commit.Branch != "" {
		text += " on " + CleanLine(d.Commit.Branch)
	}
	s.Line(text)
	if n := len(d.Commit.Besides); n > 0 {
		s.Line(s.Palette.Dim(fmt.Sprintf("  judged together with %s, not in it: %s", run.Count(n, "edited file"), CleanLine(strings.Join(d.Commit.Besides, ", ")))))
	}
}

// winner returns the index of the candidate that was promoted or proved, or -1.
func winner(d run.Document) int {
	diff := ""
	switch {
	case d.Promotion != nil:
		diff = d.Promotion.Diff
	case d.State == run.Done && len(d.Candidates) > 0:
		diff = d.Candidates[d.Deciding()].Diff
	}
	for i, c := range slices.Backward(d.Candidates) {
		if diff != "" && c.Diff == diff && c.Verdict == verify.Pass {
			return i
		}
	}
	return -1
}

// others prints the candidates that were not taken, one per line; --json has all of them.
func (s summary) others(d run.Document, winner int) {
	if winner < 0 || len(d.Candidates) == 1 {
		return
	}
	fmt.Fprintln(s.Out)
	for i, c := range d.Candidates {
		if i == winner {
			continue
		}
		text := fmt.Sprintf("  %s candidate %d  %-9s", mark(s.Palette, c.Verdict), i+1, c.Verdict)
		if at := slices.IndexFunc(c.Gates, func(g verify.Gate) bool { return g.Verdict != verify.Pass }); at >= 0 {
			text += s.Palette.Dim("  " + strings.TrimSuffix(c.Gates[at].Name+": "+gateNote(c.Gates[at]), ": "))
		}
		s.Line(text)
	}
}

// caveat names what no gate judged of a change that was promoted or proved. It is the last line: a user who reads only
// one line reads this one.
func (s summary) caveat(d run.Document) {
	text := gate.Caveat(d.Unproven)
	if text == "" || d.State != run.Promoted && d.State != run.Done {
		return
	}
	word := "proved"
	if d.Promotion != nil {
		word = "promoted"
	}
	s.wrap(s.Palette.Warn(word+", but") + " " + CleanLine(text))
}

// kept lists the proposals that the run left open.
func (s summary) kept(d run.Document) {
	for i, p := range d.Proposals {
		if i == 0 {
			fmt.Fprintln(s.Out)
		}
		s.Line(fmt.Sprintf("%s %d  %s  %s  %s", s.Palette.Bold("proposal"), p.ID, p.Kind, CleanLine(p.Path), s.Palette.Dim(Headline(p.Reason))))
	}
}

// Loop prints what a loop did, one iteration per line, and why it ended.
//
//	2 iterations, 1 promoted: all of 2 iterations done
//	  1  shop/stock.py  promoted  run 1k3mzq8a0v2c
//	  2  shop/tax.py    rejected  run 1k3mzq8b7x1d
func (s summary) Loop(r loop.Result) {
	// The overall result comes first; the runs were printed one by one.
	what := run.Count(len(r.Iterations), "iteration")
	s.Line(fmt.Sprintf("%s, %d promoted: %s", s.Palette.Bold(what), r.Promoted, CleanLine(r.Stopped)))
	for _, i := range r.Iterations {
		text := fmt.Sprintf("  %2d  %s  %s", i.N, CleanLine(i.Target), i.Outcome)
		if i.Run != "" {
			text += s.Palette.Dim("  run " + i.Run)
		}
		s.Line(text)
		for _, note := range i.Notes {
			s.Line("      " + s.Palette.Warn(CleanLine(note)))
		}
	}
	if len(r.WrapUp) > 0 {
		s.Line(s.Palette.Bold("what the loop promoted") + ", in all its processes")
	}
	for _, i := range r.WrapUp {
		s.Line(fmt.Sprintf("  %s  %s  %s", i.Run, CleanLine(i.Target), s.Palette.Dim(Headline(i.Why))))
	}
	switch {
	case r.Error != nil:
		s.Line("next: " + CleanLine(r.Error.Next))
	case r.Next != "":
		s.Line("next: " + CleanLine(r.Next))
	}
}

// head prints the outcome, the run and the workspace on one line.
func (s summary) head(d run.Document) {
	// The verdict is named only if it says more than the state does.
	text := s.Palette.Bold(strings.ReplaceAll(string(d.State), "_", " "))
	if d.Outcome == run.OutcomeAwaiting {
		text = s.Palette.Bold("awaiting approval")
	} else if d.Outcome == run.OutcomeUnchanged {
		text = s.Palette.Bold(d.Outcome)
	} else if d.Verdict != "" && d.Verdict != verify.Pass && string(d.Verdict) != string(d.State) {
		text += " (" + s.verdict(d.Verdict) + ")"
	}
	if d.Run != "" {
		text += "  run " + d.Run
	}
	fmt.Fprintln(s.Out, text+"  "+s.Palette.Dim(CleanLine(d.Workspace)))
}

// command prints how a command in a workbench ended, and which of its changes are in no patch.
func (s summary) command(c run.DocumentCommand) {
	how := fmt.Sprintf("exit code %d", c.Exit)
	if c.Signal != "" {
		how = CleanLine(c.Signal)
	}
	s.Line(s.Palette.Dim(fmt.Sprintf("%s: %s after %.1f s, which does not count", CleanLine(strings.Join(c.Args, " ")), how, c.Seconds)))
	for _, l := range c.Left {
		s.Line(s.Palette.Warn("left out ") + CleanLine(l.Path) + ": " + CleanLine(l.Reason))
	}
	if more := c.LeftCount - len(c.Left); more > 0 {
		s.Line(fmt.Sprintf("left out %d more", more))
	}
}

// verdict paints a verdict. Yellow means that no one is at fault.
func (s summary) verdict(v verify.Verdict) string {
	switch v {
	case verify.Pass:
		return s.Palette.Good(string(v))
	case verify.Infra, verify.Cancelled:
		return s.Palette.Warn(string(v))
	}
	return s.Palette.Bad(string(v))
}

// candidate prints the table of gates, then the findings of each.
func (s summary) candidate(c gate.Document) {
	if len(c.Gates)+len(c.Skipped) > 0 {
		fmt.Fprintln(s.Out)
	}
	// The table comes first, so that the result is visible at a glance; the details follow gate by gate.
	widest := len(verify.Timeout)
	for _, g := range c.Gates {
		_, word := GateWord(s.Palette, g, c.Unproven)
		widest = max(widest, len(word))
	}
	for _, g := range c.Gates {
		sign, word := GateWord(s.Palette, g, c.Unproven)
		s.Line(fmt.Sprintf("  %s %-8s %-*s %5.1fs  %s", sign, g.Name, widest, word, g.Seconds, s.Palette.Dim(gateNote(g))))
	}
	for _, skip := range c.Skipped {
		s.Line(s.Palette.Dim(fmt.Sprintf("  - %-8s skipped  %s", skip.Name, CleanLine(skip.Reason))))
	}
	if text := executed(c.Executed); text != "" {
		s.Line(s.Palette.Dim("    " + text))
	}
	for _, g := range c.Gates {
		s.gate(g)
	}
	for i, u := range c.Unproven {
		if i == 0 {
			fmt.Fprintln(s.Out)
		}
		s.wrap(s.Palette.Warn("not judged:") + " " + CleanLine(u.Reason))
	}
	for i, h := range c.Holds {
		if i == 0 {
			fmt.Fprintln(s.Out)
		}
		s.wrap(s.Palette.Warn(HoldWord(h)) + " " + CleanLine(h.Path) + ": " + Clean(h.Reason))
	}
}

// shownFiles bounds the number of files for which it is shown how many of their changed lines ran.
const shownFiles = 3

// executed says how many of the changed lines ran, and in which files not all did; "" if it was not measured.
func executed(list []verify.Execution) string {
	lines, ran := 0, 0
	var files []string
	for _, x := range list {
		lines, ran = lines+x.Lines, ran+x.Executed
		if x.Executed < x.Lines {
			files = append(files, fmt.Sprintf("%s %d of %d", CleanLine(x.Path), x.Executed, x.Lines))
		}
	}
	if lines == 0 {
		return ""
	}
	text := fmt.Sprintf("executed %d of %d changed lines", ran, lines)
	if more := len(files) - shownFiles; more > 0 {
		files = append(files[:shownFiles], fmt.Sprintf("%d more files", more))
	}
	if len(files) > 0 && len(list) > 1 {
		text += ": " + strings.Join(files, ", ")
	}
	return text
}

// HoldWord says what a hold asks for: an approval of its own, or only a look.
func HoldWord(h policy.Hold) string {
	if h.Block {
		return "needs approval (" + h.Kind + "):"
	}
	return "needs a look:"
}

// GateWord returns the mark of a gate and a word for its verdict. A gate that passes but did not judge everything does
// not get the mark of a pass; one in which no test ran does not get the word either.
func GateWord(p Palette, g verify.Gate, list []verify.Unproven) (sign, word string) {
	sign, word = mark(p, g.Verdict), string(g.Verdict)
	if g.Verdict != verify.Pass || !slices.ContainsFunc(list, func(u verify.Unproven) bool { return u.Gate == g.Name }) {
		return sign, word
	}
	if g.Name == "tests" && verify.NothingRan(list, g.Name) {
		word = NothingRan
	}
	return unprovenMark(p), word
}

// gateNote says in a few words what to know about a gate.
func gateNote(g verify.Gate) string {
	// In the order of what matters to the author of the patch.
	var parts []string
	count := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	// Only what is new was held against the patch. The rest is mentioned to explain why the tool itself prints more.
	count(len(g.Findings), "new")
	count(g.Old, "old")
	count(g.Fixed, "fixed")
	for _, text := range []string{g.Detail, g.Tool} {
		if text != "" {
			parts = append(parts, CleanLine(text))
		}
	}
	return strings.Join(parts, ", ")
}

// gate prints the findings of a gate, and the end of its output if it did not pass.
func (s summary) gate(g verify.Gate) {
	if len(g.Findings) > 0 {
		fmt.Fprintf(s.Out, "\n%s\n", s.Palette.Bold(g.Name))
	}
	helped := map[string]bool{}
	for i, f := range g.Findings {
		if i == shownFindings {
			fmt.Fprintf(s.Out, "  … and %d more: see `agent runs show --json`\n", len(g.Findings)-i)
			break
		}
		// The explanation of a rule is shown once.
		if helped[f.Help] {
			f.Help = ""
		}
		helped[f.Help] = true
		s.finding(f)
	}
	// The output of a passing program does not matter here.
	if g.Verdict == verify.Pass || g.Output == "" {
		return
	}
	fmt.Fprintf(s.Out, "\n%s\n", s.Palette.Bold("the end of what "+g.Name+" wrote"))
	lines := strings.Split(strings.TrimRight(g.Output, "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-shownOutput):] {
		s.Line("  │ " + CleanTabs(line))
	}
}

// finding prints one finding as file:line:column: rule message, a form that editors can jump to, followed by the line
// of source and what explains the rule.
func (s summary) finding(f verify.Finding) {
	// A finding may belong to no file, or to no line of it.
	at := CleanLine(f.File)
	if f.Line > 0 {
		at += fmt.Sprintf(":%d", f.Line)
	}
	if f.Column > 0 {
		at += fmt.Sprintf(":%d", f.Column)
	}
	if at != "" {
		at = s.Palette.Accent(at) + ": "
	}
	rule := CleanLine(f.Rule)
	if rule != "" {
		rule += " "
	}
	// A message of several lines is indented below its location.
	message := strings.ReplaceAll(Clean(strings.TrimSpace(f.Message)), "\n", "\n      ")
	if f.Fixable {
		message += s.Palette.Dim(" (fixable)")
	}
	fmt.Fprintf(s.Out, "  %s%s%s\n", at, s.Palette.Warn(rule), message)
	if f.Source != "" {
		for _, line := range strings.Split(strings.TrimRight(f.Source, "\n"), "\n") {
			s.Line("      │ " + CleanTabs(line))
		}
	}
	// Not cut at any width: a cut address leads nowhere.
	if f.Help != "" {
		fmt.Fprintf(s.Out, "      %s\n", s.Palette.Dim(CleanLine(f.Help)))
	}
}

// promotion lists the files that were written and shows the diff.
func (s summary) promotion(p run.DocumentPromotion) {
	fmt.Fprintln(s.Out)
	for _, f := range p.Files {
		name := CleanLine(f.Path)
		// A rename is read from left to right.
		if f.From != "" {
			name = CleanLine(f.From) + " → " + name
		}
		fmt.Fprintf(s.Out, "  %-7s %s\n", f.Op, name)
	}
	if s.saw == "" || p.Diff != s.saw {
		s.diff(p.Diff)
	}
}

// diff prints a diff in full: this is the end of the output, and a terminal scrolls.
func (s summary) diff(diff string) {
	fmt.Fprintln(s.Out)
	DiffView{Palette: s.Palette}.Print(s.Out, diff)
}

// next prints the error, if any, and what to do now.
func (s summary) next(d run.Document) {
	fmt.Fprintln(s.Out)
	// Every ending says what can be done now; a success names the way back.
	switch {
	case d.Outcome == run.OutcomeAwaiting && d.Error != nil: // not an error
		s.wrap(s.Palette.Warn(Clean(d.Error.Message)))
		s.wrap("next: " + Clean(d.Error.Next))
	case d.Error != nil:
		s.wrap(s.problem(d))
		if d.Error.Next != "" {
			s.wrap("next: " + Clean(d.Error.Next))
		}
	case d.State == run.Promoted && d.Promotion != nil && d.Promotion.ApprovedBy == "countdown":
		fmt.Fprintf(s.Out, "no answer: applied when the countdown ended\nnext: `agent undo %s` takes it back\n", d.Run)
	case d.State == run.Promoted:
		fmt.Fprintf(s.Out, "next: `agent undo %s` takes it back\n", d.Run)
	case d.State == run.Done && len(d.Candidates) == 0 && len(d.Proposals) > 0: // an undecided feature
		fmt.Fprintf(s.Out, "next: nothing was written; `agent sandbox run --proposal %d` writes the feature\n", d.Proposals[0].ID)
	case d.State == run.Done && len(d.Candidates) == 0:
		fmt.Fprintln(s.Out, "next: nothing was written; `agent proposals list` shows what is open")
	case d.Outcome == run.OutcomeUnchanged:
		fmt.Fprintln(s.Out, "next: nothing was written, and nothing needs to be: the command changed nothing that a patch can hold")
	case d.State == run.Rejected && len(d.Candidates) == 0: // a review
		fmt.Fprintln(s.Out, "next: nothing was found to change; say with --goal what you want, or use other words")
	case d.State == run.Done:
		fmt.Fprintf(s.Out, "next: nothing was written; `agent runs apply %s` writes it\n", d.Run)
	}
}

// problem returns the error of a run, with its kind if neither the head nor the message says it.
func (s summary) problem(d run.Document) string {
	kind, message := string(d.Error.Kind), Clean(d.Error.Message)
	if kind == string(d.State) || strings.HasPrefix(message, kind) {
		return message
	}
	return s.Palette.Bad(kind+":") + " " + message
}

// wrap prints a sentence, broken between words on a terminal.
func (s summary) wrap(text string) {
	if s.Palette.on {
		text = Fill(text, s.columns, 0)
	}
	fmt.Fprintln(s.Out, text)
}

// Line prints one line, cut to the width of a terminal.
func (s summary) Line(text string) {
	// A file or a pipe gets everything in full.
	if s.Palette.on {
		text = ansi.Truncate(text, s.columns, "…")
	}
	fmt.Fprintln(s.Out, strings.TrimRight(text, " "))
}

// Headline returns the beginning of a reason, for a line of its own.
func Headline(text string) string {
	// With the columns before it, about two lines of a narrow terminal.
	const most = 72
	// A reason begins with the gate, or says everything in one line.
	first, rest, _ := strings.Cut(text, "\n")
	line := []rune(CleanLine(strings.TrimSpace(first + " " + strings.SplitN(rest, "\n", 2)[0])))
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}
