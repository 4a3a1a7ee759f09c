package term

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Fill breaks the lines of a text at spaces, so that they fit into so many columns, and indents what follows a break.
// It keeps a wider word whole, and also text between backquotes: a command or an address is there to be copied.
func Fill(text string, columns, indent int) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		var pieces []string
		open := false
		for _, word := range strings.Fields(line) {
			if open {
				pieces[len(pieces)-1] += " " + word
			} else {
				pieces = append(pieces, word)
			}
			open = open != (strings.Count(word, "`")%2 == 1)
		}
		lines = append(lines, fill(pieces, columns, indent))
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// fill joins pieces by spaces, or by line ends where a line would be too wide.
func fill(pieces []string, columns, indent int) string {
	var b strings.Builder
	at := indent
	for i, piece := range pieces {
		width := ansi.StringWidth(piece)
		switch {
		case i == 0:
		case at+1+width > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(piece)
		at += width
	}
	return b.String()
}

// PrintJSON prints v as one document.
func PrintJSON(w io.Writer, v any) error {
	// A diff is full of < and &; escaped they would be unreadable and
	// no safer.
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Print collects what show writes and sends it to w at once, so that
// an error half-way leaves no half of an answer.
func Print(w io.Writer, show func(io.Writer) error) error {
	// A table or a run is small; a result that may be large is streamed
	// instead, see sql.
	var text bytes.Buffer
	if err := show(&text); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}

// PrintJSONLine prints v as one line of JSON.
//
// The loop prints one document a line, as they come; a reader need not wait for
// the end. Code and diffs stay legible, since nothing is escaped for HTML.
func PrintJSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
