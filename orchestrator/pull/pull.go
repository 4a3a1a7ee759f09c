// Package pull words what the agent says in a pull request: the messages of its commits, its title and body, and the
// comments on its lines; it also finds which of those are already there. It is pure: it contacts no forge and reads no
// repository.
//
// Text from a workspace, a tool or a model stands in code spans and fences, where it mentions no one, links nowhere and
// closes nothing.
package pull

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify"
)

// The bounds of these texts.
const (
	maxSubject = 72       // of a commit's first line
	maxTitle   = 120      // of a pull request
	maxBody    = 60 << 10 // GitHub takes 65536 characters
	maxSpan    = 300      // of a text from outside on one line
	maxListed  = 50       // of items of one kind
	runTrailer = "Agent-Run: "
)

// A Work is one run whose change is a commit.
type Work struct {
	Run    string
	Intent string // what the run was for
	// Model is what found the change, Cost what that took; "" if unknown.
	Model, Cost string
	Judged      gate.Candidate
	// Again says why it was judged once more for the pull request, or "" if the files were those on which the run
	// proved it.
	Again string
}

// Subject returns the purpose of a change on one line of at most maxSubject bytes.
func Subject(intent string) string { return subject(intent, maxSubject) }

// Title returns the title of a pull request for works, in their order.
func Title(works []Work) string {
	if len(works) == 0 {
		return ""
	}
	title := subject(works[0].Intent, maxTitle)
	if n := len(works) - 1; n > 0 {
		title = subject(fmt.Sprintf("%s, and %d more", subject(works[0].Intent, maxTitle-20), n), maxTitle)
	}
	return title
}

// IssueTitle returns the title of a pull request for an issue, whose own title is a text from outside.
func IssueTitle(number int, title string) string {
	return subject(fmt.Sprintf("Resolve #%d: %s", number, title), maxTitle)
}

// subject returns the first line of a text, cut at a word.
func subject(text string, most int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.Join(strings.Fields(strings.Map(printable, strings.ToValidUTF8(text, "?"))), " ")
	if len(text) <= most {
		return cmp.Or(text, "change by the agent")
	}
	cut := strings.ToValidUTF8(text[:most-len("…")], "")
	if at := strings.LastIndex(cut, " "); at > most/2 {
		cut = cut[:at]
	}
	return cut + "…"
}

// printable drops characters that move a cursor or hide text.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// Message returns the message of a work's commit.
func Message(w Work) string {
	var b strings.Builder
	b.WriteString(Subject(w.Intent) + "\n\n")
	passed, _ := judged(w.Judged)
	if len(passed) > 0 {
		b.WriteString("Proved by " + strings.Join(passed, ", ") + ".\n")
	}
	for _, u := range first(w.Judged.Unproven) {
		b.WriteString("Not proved: " + line(u.Reason) + "\n")
	}
	fmt.Fprintf(&b, "\n%s%s\nAgent-Verdict: %s\n", runTrailer, w.Run, w.Judged.Verdict)
	if w.Model != "" {
		b.WriteString("Agent-Model: " + line(w.Model) + "\n")
	}
	return b.String()
}

// Runs lists the runs that messages of commits name in their trailers, in order.
func Runs(messages []string) (runs []string) {
	for _, m := range messages {
		for text := range strings.Lines(m) {
			if run, ok := strings.CutPrefix(strings.TrimSpace(text), runTrailer); ok {
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// judged returns the names of the gates that passed, and of the others.
func judged(c gate.Candidate) (passed, other []string) {
	for _, g := range c.Gates {
		if g.Verdict == verify.Pass {
			passed = append(passed, g.Name)
		} else {
			other = append(other, g.Name)
		}
	}
	return passed, other
}

// first returns the beginning of a list that may be long.
func first[T any](list []T) []T { return list[:min(len(list), maxListed)] }

// line returns a text from outside on one line, as plain as possible.
func line(text string) string {
	text = strings.Join(strings.Fields(strings.Map(printable, strings.ToValidUTF8(text, "?"))), " ")
	if len(text) > maxSpan {
		text = strings.ToValidUTF8(text[:maxSpan], "") + "…"
	}
	return text
}

// Span returns a text from outside as a code span of Markdown that nothing in the text can end.
func Span(text string) string {
	text = line(text)
	if text == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longest(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// Fence returns a text from outside as a fenced block of Markdown, cut to most bytes.
func Fence(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return printable(r)
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "\n…"
	}
	ticks := strings.Repeat("`", max(longest(text)+1, 3))
	return ticks + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks + "\n"
}

// longest returns the length of the longest sequence of backticks.
func longest(text string) (most int) {
	n := 0
	for _, r := range text {
		if n++; r != '`' {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// A Body is the description of a pull request.
type Body struct {
	// Template is the project's own text, which comes first, unchanged.
	Template string
	// Issue is the number of the issue that it resolves and closes; 0 for none.
	Issue int
	Works []Work
	// Left lists parts of the repository that no gate saw, such as a submodule.
	Left []string
}

// comment matches a comment of Markdown, with which templates instruct the person who fills them in.
var comment = lazyregexp.New(`(?s)<!--.*?-->`)

// Markdown returns the body as text.
func (d Body) Markdown() string {
	var b strings.Builder
	if text := strings.TrimSpace(comment.ReplaceAllString(d.Template, "")); text != "" {
		b.WriteString(text + "\n\n")
	}
	if d.Issue != 0 {
		fmt.Fprintf(&b, "Closes #%d\n\n", d.Issue)
	}
	b.WriteString("## What was proved\n\nEach commit was judged in throwaway containers against the files before it.\n\n")
	for _, w := range d.Works {
		w.write(&b)
	}
	d.unproven(&b)
	if holds := d.holds(); len(holds) > 0 {
		b.WriteString("## What a person should look at\n\n" + strings.Join(holds, "") + "\n")
	}
	return cut(b.String(), maxBody)
}

// write describes one commit.
func (w Work) write(b *strings.Builder) {
	fmt.Fprintf(b, "### %s\n\nRun `%s`", Span(w.Intent), w.Run)
	if w.Model != "" {
		b.WriteString(", change by " + Span(w.Model))
	}
	if w.Cost != "" {
		b.WriteString(", cost " + Span(w.Cost))
	}
	b.WriteString(".\n")
	if w.Again != "" {
		b.WriteString("It was judged again for this pull request: " + line(w.Again) + ".\n")
	}
	b.WriteString("\n| gate | verdict | |\n|---|---|---|\n")
	for _, g := range first(w.Judged.Gates) {
		fmt.Fprintf(b, "| %s | %s | %s |\n", cell(g.Name), g.Verdict, cell(g.Detail))
	}
	for _, s := range first(w.Judged.Skipped) {
		fmt.Fprintf(b, "| %s | did not run | %s |\n", cell(s.Name), cell(s.Reason))
	}
	b.WriteString("\n")
}

// cell returns a text from outside as a cell of a table.
func cell(text string) string {
	if text == "" {
		return ""
	}
	return strings.ReplaceAll(Span(text), "|", "¦")
}

// unproven lists what no gate judged, and also says so if there is nothing.
func (d Body) unproven(b *strings.Builder) {
	b.WriteString("## What was not proved\n\n")
	n := 0
	for _, w := range d.Works {
		for _, u := range first(w.Judged.Unproven) {
			fmt.Fprintf(b, "- %s\n", Span(u.Reason))
			n++
		}
	}
	for _, text := range first(d.Left) {
		fmt.Fprintf(b, "- %s\n", Span(text))
		n++
	}
	if n == 0 {
		b.WriteString("Nothing that the gates know of.\n")
	}
	b.WriteString("\n")
}

// holds lists what a person should see, each once.
func (d Body) holds() (list []string) {
	for _, w := range d.Works {
		for _, h := range first(w.Judged.Holds) {
			text := fmt.Sprintf("- %s: %s (%s)\n", Span(h.Path), Span(h.Reason), h.Kind)
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}

// Draft reports whether a pull request of works should begin as a draft because a part of them was not proved.
func Draft(works []Work) bool {
	return slices.ContainsFunc(works, func(w Work) bool { return len(w.Judged.Unproven) > 0 || w.Judged.Verdict != verify.Pass })
}

// cut cuts a text that is too long at the end of a line.
func cut(text string, most int) string {
	const end = "\n\nThis is not all: the rest is in the record.\n"
	if len(text) <= most {
		return text
	}
	text = text[:most-len(end)]
	return text[:strings.LastIndex(text, "\n")+1] + end
}
