package page

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/term"
)

const (
	margin     = 3  // columns before everything but headings
	termColumn = 30 // the maximum width of the column of terms
	narrowest  = 20 // columns that a text needs next to its term, or in a table
)

// Text writes blocks as a page that is width columns wide.
func Text(w io.Writer, blocks []Block, width int, palette term.Palette) {
	p := printer{w: w, width: max(width, narrowest+margin), palette: palette}
	for i, b := range blocks {
		// Related blocks are not separated: entries, examples and items of one list.
		if i > 0 && !(b.Kind == blocks[i-1].Kind && (b.Kind == Item || b.Kind == Entry || b.Kind == Example)) && blocks[i-1].Kind != Heading {
			fmt.Fprintln(w)
		}
		switch b.Kind {
		case Heading:
			p.paragraph("", "", "**"+strings.ReplaceAll(b.Text, "`", "")+"**")
		case Paragraph:
			p.paragraph(strings.Repeat(" ", margin), strings.Repeat(" ", margin), b.Text)
		case Item:
			first := strings.Repeat(" ", margin+2*b.Level) + b.Mark + " "
			p.paragraph(first, strings.Repeat(" ", len(first)), b.Text)
		case Entry:
			if i == 0 || blocks[i-1].Kind != Entry {
				p.entries(blocks[i:])
			}
		case Verbatim:
			for _, line := range strings.Split(b.Text, "\n") {
				fmt.Fprintln(w, strings.TrimRight(strings.Repeat(" ", margin+2)+line, " "))
			}
		case Example:
			if i == 0 || blocks[i-1].Kind != Example {
				p.examples(blocks[i:])
			}
		case Table:
			p.table(b.Rows)
		}
	}
}

// A printer writes blocks.
type printer struct {
	w       io.Writer
	width   int
	palette term.Palette
}

// paragraph wraps one text behind what stands before its first line and the others.
func (p printer) paragraph(first, rest, text string) {
	for i, line := range p.wrap(text, p.width-ansi.StringWidth(first)) {
		fmt.Fprintln(p.w, first+line)
		if i == 0 {
			first = rest
		}
	}
}

// wrap returns a text in lines of so many columns, a word that is longer alone in its own. Code
// stays in its backticks where it cannot be coloured.
func (p printer) wrap(text string, columns int) []string {
	lines, length := []string{""}, 0
	glue := "" // what stands between the words; "" where a style changes within one
	for _, s := range spans(text) {
		plain := p.palette.Bold("x") == "x"
		if s.code && plain {
			s.text = "`" + s.text + "`"
		}
		for i, word := range strings.Split(s.text, " ") {
			if i > 0 {
				glue = " "
			}
			if word == "" {
				continue
			}
			n := ansi.StringWidth(word)
			switch last := len(lines) - 1; {
			case length > 0 && glue == " " && length+1+n > columns:
				lines, length = append(lines, p.paint(s, word)), n
			case length > 0:
				lines[last], length = lines[last]+glue+p.paint(s, word), length+len(glue)+n
			default:
				lines[last], length = lines[last]+p.paint(s, word), n
			}
			glue = ""
		}
	}
	return lines
}

// paint gives a word its style.
func (p printer) paint(s span, word string) string {
	switch {
	case s.code:
		return p.palette.Accent(word)
	case s.bold:
		return p.palette.Bold(word)
	}
	return word
}

// entries prints terms with their texts in a column of their own. A term that is too long
// has its text below it.
func (p printer) entries(blocks []Block) {
	column := 0
	for _, b := range blocks {
		if b.Kind != Entry {
			break
		}
		if n := ansi.StringWidth(b.Term); n <= termColumn {
			column = max(column, n)
		}
	}
	indent := strings.Repeat(" ", margin+column+2)
	if p.width-len(indent) < narrowest {
		column, indent = 0, strings.Repeat(" ", margin+4)
	}
	for _, b := range blocks {
		if b.Kind != Entry {
			return
		}
		n := ansi.StringWidth(b.Term)
		first := strings.Repeat(" ", margin) + p.palette.Bold(b.Term)
		if n > column {
			fmt.Fprintln(p.w, first)
			first = indent
		} else {
			first += strings.Repeat(" ", column-n+2)
		}
		p.paragraph(first, indent, b.Text)
	}
}

// examples prints command lines with what they do; above it, where both do not fit in a line.
func (p printer) examples(blocks []Block) {
	column, longest := 0, 0
	var list []Block
	for _, b := range blocks {
		if b.Kind != Example {
			break
		}
		list, column, longest = append(list, b), max(column, ansi.StringWidth(b.Term)), max(longest, ansi.StringWidth(b.Text))
	}
	indent := strings.Repeat(" ", margin+2)
	for _, b := range list {
		switch {
		case b.Text == "":
			fmt.Fprintln(p.w, indent+b.Term)
		case len(indent)+column+len("  # ")+longest <= p.width:
			fmt.Fprintln(p.w, indent+b.Term+strings.Repeat(" ", column-ansi.StringWidth(b.Term)+2)+p.palette.Dim("# "+b.Text))
		default:
			fmt.Fprintln(p.w, indent+p.palette.Dim("# "+b.Text))
			fmt.Fprintln(p.w, indent+b.Term)
		}
	}
}

// table prints rows in columns, or one below the other where the columns would be too narrow.
func (p printer) table(rows [][]string) {
	widths := p.columns(rows)
	if widths == nil {
		p.list(rows)
		return
	}
	for i, row := range rows {
		if i == 0 && strings.Join(row, "") == "" {
			continue // a table without a head
		}
		tall, wrapped := 1, make([][]string, len(widths))
		for c := range widths {
			if c < len(row) {
				text := row[c]
				if i == 0 && text != "" {
					text = "**" + text + "**"
				}
				wrapped[c] = p.wrap(text, widths[c])
				tall = max(tall, len(wrapped[c]))
			}
		}
		for n := range tall {
			line := strings.Repeat(" ", margin)
			for c, width := range widths {
				cell := ""
				if n < len(wrapped[c]) {
					cell = wrapped[c][n]
				}
				line += cell + strings.Repeat(" ", max(0, width-ansi.StringWidth(cell))+2)
			}
			fmt.Fprintln(p.w, strings.TrimRight(line, " "))
		}
	}
}

// columns returns the widths of a table's columns, or nil where it does not fit. The widest
// give way first.
func (p printer) columns(rows [][]string) []int {
	var widths, words []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(widths) {
				widths, words = append(widths, 0), append(words, 0)
			}
			widths[c] = max(widths[c], p.length(cell))
			for _, line := range p.wrap(cell, 1) {
				words[c] = max(words[c], ansi.StringWidth(line))
			}
		}
	}
	for {
		total, widest := margin+2*(len(widths)-1), 0
		for c, n := range widths {
			total += n
			if n > widths[widest] {
				widest = c
			}
		}
		if total <= p.width {
			return widths
		}
		if widths[widest]--; widths[widest] < max(narrowest, words[widest]) {
			return nil
		}
	}
}

// length is the width of a cell in one line.
func (p printer) length(cell string) int {
	const endless = 1 << 20
	return ansi.StringWidth(p.wrap(cell, endless)[0])
}

// list prints each row by its first cell, and what the others say below it.
func (p printer) list(rows [][]string) {
	indent := strings.Repeat(" ", margin+4)
	for _, row := range rows[1:] {
		p.paragraph(strings.Repeat(" ", margin), indent, row[0])
		for _, said := range beside(rows[0], row) {
			p.paragraph(indent, indent+"  ", said)
		}
	}
}

// beside is what the cells of a row say of its first one, each behind its head where there are several.
func beside(head, row []string) (said []string) {
	for c, cell := range row {
		if c == 0 || cell == "" {
			continue
		}
		// A row may be longer than the head.
		if len(row) > 2 && c < len(head) && head[c] != "" {
			cell = head[c] + ": " + cell
		}
		said = append(said, cell)
	}
	return said
}
