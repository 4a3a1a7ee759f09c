package page

import (
	"fmt"
	"io"
	"strings"
)

// A Manual holds the header and footer data of a manual page.
type Manual struct {
	Name    string // agent-sandbox-run
	Section int
	Date    string // as 2006-01-02
	About   string // a line for the list of all pages
}

// Roff writes blocks as a manual page, with the macros of man(7).
func Roff(w io.Writer, m Manual, blocks []Block) {
	fmt.Fprintf(w, ".TH %s %d %q agent agent\n", strings.ToUpper(m.Name), m.Section, m.Date)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", escape(m.Name), roffText(m.About))
	after := Heading // the kind of the previous block
	for i, b := range blocks {
		switch b.Kind {
		case Heading:
			// man(7) has two levels of headings.
			macro := "SH"
			if b.Level > 2 {
				macro = "SS"
			}
			fmt.Fprintf(w, ".%s %s\n", macro, heading(b.Text))
		case Paragraph:
			if after != Heading {
				fmt.Fprintln(w, ".PP")
			}
			fmt.Fprintln(w, roffLine(b.Text))
		case Item:
			mark := b.Mark
			if mark == "-" || mark == "*" {
				mark = `\(bu`
			}
			fmt.Fprintf(w, ".IP %s 4\n%s\n", mark, roffLine(b.Text))
		case Entry:
			entry(w, b.Term, b.Text)
		case Verbatim:
			verbatim(w, strings.Split(b.Text, "\n"), after)
		case Example:
			if i == 0 || after != Example {
				verbatim(w, exampleLines(blocks[i:]), after)
			}
		case Table:
			for _, row := range b.Rows[1:] {
				entry(w, row[0], strings.Join(beside(b.Rows[0], row), "; "))
			}
		}
		after = b.Kind
	}
}

// heading returns a text in capitals, except for the escapes of roff.
func heading(text string) string {
	var b strings.Builder
	for _, s := range spans(text) {
		b.WriteString(s.text)
	}
	return escape(strings.ToUpper(b.String()))
}

// exampleLines returns the lines of the examples at the beginning of blocks.
func exampleLines(blocks []Block) []string {
	var lines []string
	for _, b := range blocks {
		if b.Kind != Example {
			break
		}
		if b.Text != "" {
			lines = append(lines, "# "+b.Text)
		}
		lines = append(lines, b.Term)
	}
	return lines
}

// entry writes a term and the text about it.
func entry(w io.Writer, term, text string) {
	if text == "" {
		text = "\\&"
	} else {
		text = roffLine(text)
	}
	fmt.Fprintf(w, ".TP\n%s\n%s\n", roffLine("**"+strings.ReplaceAll(term, "`", "")+"**"), text)
}

// verbatim writes lines as they are.
func verbatim(w io.Writer, lines []string, after Kind) {
	if after != Heading {
		fmt.Fprintln(w, ".PP")
	}
	fmt.Fprint(w, ".RS 4\n.nf\n")
	for _, line := range lines {
		if line = protect(escape(line)); line == "" {
			line = "\\&"
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprint(w, ".fi\n.RE\n")
}

// roffLine is a text that stands on a line of its own.
func roffLine(text string) string { return protect(roffText(text)) }

// protect keeps a line from being taken for a macro.
func protect(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

// roffText is a text with its styles.
func roffText(text string) string {
	var b strings.Builder
	for _, s := range spans(text) {
		switch {
		case s.code, s.bold:
			b.WriteString(`\fB` + escape(s.text) + `\fP`)
		default:
			b.WriteString(escape(s.text))
		}
	}
	return b.String()
}

// escape writes a text so that roff shows it as it is.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
}
