package report

import (
	"fmt"
	"strings"
)

// A Look says how Text formats a report.
type Look struct {
	// Details is how many details of a row are written, 0 for none; Notes says whether these include notes.
	Details int
	Notes   bool
	// Mark colours the word of a status; nil leaves it plain.
	Mark func(s Status, word string) string
}

// number returns a score with two decimals, and the earlier one if it differs.
func (row Row) number() string {
	if row.Score == nil {
		return "   —"
	}
	text := fmt.Sprintf("%.2f", *row.Score)
	if row.Before != nil && *row.Before != *row.Score {
		text += fmt.Sprintf(" (%+.2f)", *row.Score-*row.Before)
	}
	return text
}

// Text returns the report for a terminal or a pipe: one line for each row, and below it what to do.
func (r Report) Text(look Look) string {
	mark := look.Mark
	if mark == nil {
		mark = func(_ Status, word string) string { return word }
	}
	var b strings.Builder
	for _, row := range r.Rows {
		// The word is padded before it is coloured.
		rest := strings.TrimRight(fmt.Sprintf("%-13s %-12s %s", row.Analyzer, row.number(), row.Summary), " ")
		fmt.Fprintf(&b, "%s %s\n", mark(row.Status, fmt.Sprintf("%-7s", row.Status)), rest)
		for _, why := range row.Unmeasured {
			fmt.Fprintf(&b, "        not measured: %s\n", why)
		}
		left, shown := row.More, 0
		for _, d := range row.Details {
			if shown >= look.Details || d.Status == Note && !look.Notes {
				left++
				continue
			}
			shown++
			fmt.Fprintf(&b, "        %s %s\n             %s\n", mark(d.Status, string(d.Status)), d.place(), "→ "+d.Next)
		}
		if left > 0 && look.Details > 0 {
			fmt.Fprintf(&b, "        and %d more; see all with --only %s\n", left, row.Analyzer)
		}
	}
	b.WriteString(r.total())
	return b.String()
}

// total returns the last line: the mean, and over how many rows.
func (r Report) total() string {
	n, applies := 0, 0
	for _, row := range r.Rows {
		if row.Status != None {
			applies++
		}
		if row.Score != nil {
			n++
		}
	}
	if r.Score == nil {
		return "no score: nothing was measured completely\n"
	}
	return fmt.Sprintf("score %.2f, the mean of %d of %d analyzers\n", *r.Score, n, applies)
}

// place returns the message with its file and line in front.
func (d Detail) place() string {
	switch {
	case d.File != "" && d.Line > 0:
		return fmt.Sprintf("%s:%d: %s", d.File, d.Line, d.Message)
	case d.File != "":
		return d.File + ": " + d.Message
	}
	return d.Message
}

// Markdown returns the report as a document, with all of its details.
func (r Report) Markdown() string {
	var b strings.Builder
	b.WriteString("# Report\n\n| analyzer | status | score | before | |\n|---|---|--:|--:|---|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.Analyzer, row.Status, decimals(row.Score), decimals(row.Before), escape(row.Summary))
	}
	fmt.Fprintf(&b, "\n%s", strings.ToUpper(r.total()[:1])+r.total()[1:])
	for _, row := range r.Rows {
		if len(row.Details)+len(row.Unmeasured) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", row.Analyzer)
		for _, why := range row.Unmeasured {
			fmt.Fprintf(&b, "- not measured: %s\n", escape(why))
		}
		for _, d := range row.Details {
			fmt.Fprintf(&b, "- **%s** %s — %s\n", d.Status, escape(d.place()), escape(d.Next))
		}
		if row.More > 0 {
			fmt.Fprintf(&b, "- and %d more\n", row.More)
		}
	}
	return b.String()
}

// decimals returns a score for a table.
func decimals(x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", *x)
}

// escape keeps text of a workspace from being read as Markdown or HTML.
func escape(s string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "|", "\\|", "&", "&amp;", "#", "\\#", "\n", " ", "@", "@\u200b").Replace(s)
}

// A Quoter sets text of strangers apart in a prompt. agent.Fence implements it.
type Quoter interface {
	Quote(label, text string) string
}

// Prompt returns the report for a model: what to do, the gravest first, within limit bytes of quotation. Everything
// that a workspace or a tool contributed is in the quotation; the text before it comes only from this package.
func (r Report) Prompt(q Quoter, limit int) string {
	var b strings.Builder
	b.WriteString("How the project stands, by analyzer: status and score from 0 to 1.\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "- %s: %s %s\n", row.Analyzer, row.Status, decimals(row.Score))
	}
	b.WriteString("What they found, the gravest first:\n")
	var lines []string
	for _, status := range []Status{Fail, Warn, Note} {
		for _, row := range r.Rows {
			for _, d := range row.Details {
				if d.Status == status {
					lines = append(lines, fmt.Sprintf("%s %s: %s; %s\n", d.Status, row.Analyzer, d.place(), d.Next))
				}
			}
			if status == Fail {
				for _, why := range row.Unmeasured {
					lines = append(lines, fmt.Sprintf("unknown %s: %s\n", row.Analyzer, why))
				}
			}
		}
	}
	var text strings.Builder
	for i, l := range lines {
		rest := fmt.Sprintf("[%d more]\n", len(lines)-i)
		if text.Len()+len(l)+len(rest) > limit {
			if text.Len()+len(rest) <= limit {
				text.WriteString(rest)
			}
			break
		}
		text.WriteString(l)
	}
	return b.String() + q.Quote("report", text.String()) + "\n"
}
