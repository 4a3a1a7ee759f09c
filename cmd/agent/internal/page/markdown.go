package page

import (
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// The lines of Markdown that start something.
var (
	headingLine = lazyregexp.New(`^(#{1,4}) +(.*)$`)
	itemLine    = lazyregexp.New(`^( *)([-*]|\d+\.) +(.*)$`)
	tableLine   = lazyregexp.New(`^\|.*\|\s*$`)
	ruleLine    = lazyregexp.New(`^\|[\s|:-]+\|\s*$`)
)

// Markdown reads the subset of Markdown that the topics are written in: headings, paragraphs, lists, tables, indented
// or fenced code, and comments, which it leaves out.
func Markdown(text string) []Block {
	r := reader{lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	for len(r.lines) > 0 {
		r.next()
	}
	return r.blocks
}

// A reader takes blocks from the remaining lines.
type reader struct {
	lines  []string
	blocks []Block
}

// next takes one block.
func (r *reader) next() {
	line := r.lines[0]
	switch {
	case strings.TrimSpace(line) == "", strings.HasPrefix(line, "<!--"):
		r.lines = r.lines[1:]
	case headingLine.MatchString(line):
		m := headingLine.FindStringSubmatch(line)
		r.blocks = append(r.blocks, Block{Kind: Heading, Level: len(m[1]), Text: m[2]})
		r.lines = r.lines[1:]
	case strings.HasPrefix(line, "```"):
		r.fence()
	case strings.HasPrefix(line, "    ") && !r.inItem():
		r.code()
	case tableLine.MatchString(line):
		r.table()
	case itemLine.MatchString(line):
		m := itemLine.FindStringSubmatch(line)
		r.lines[0] = m[3]
		r.blocks = append(r.blocks, Block{Kind: Item, Level: len(m[1]) / 2, Mark: m[2], Text: r.prose()})
	default:
		r.blocks = append(r.blocks, Block{Kind: Paragraph, Text: r.prose()})
	}
}

// inItem reports whether an indented line is an item below another one.
func (r *reader) inItem() bool {
	return len(r.blocks) > 0 && r.blocks[len(r.blocks)-1].Kind == Item && itemLine.MatchString(r.lines[0])
}

// prose joins the lines up to an empty one, or to one that begins something.
func (r *reader) prose() string {
	words := []string{strings.TrimSpace(r.lines[0])}
	for r.lines = r.lines[1:]; len(r.lines) > 0; r.lines = r.lines[1:] {
		line := r.lines[0]
		if strings.TrimSpace(line) == "" || itemLine.MatchString(line) || headingLine.MatchString(line) || tableLine.MatchString(line) || strings.HasPrefix(line, "```") {
			break
		}
		words = append(words, strings.TrimSpace(line))
	}
	return strings.Join(words, " ")
}

// fence takes code between two fences.
func (r *reader) fence() {
	var code []string
	for r.lines = r.lines[1:]; len(r.lines) > 0 && !strings.HasPrefix(r.lines[0], "```"); r.lines = r.lines[1:] {
		code = append(code, r.lines[0])
	}
	r.lines = r.lines[min(1, len(r.lines)):]
	r.blocks = append(r.blocks, Block{Kind: Verbatim, Text: strings.Join(code, "\n")})
}

// code takes indented code, with the empty lines in it.
func (r *reader) code() {
	var code []string
	for ; len(r.lines) > 0 && (strings.HasPrefix(r.lines[0], "    ") || r.lines[0] == ""); r.lines = r.lines[1:] {
		code = append(code, strings.TrimPrefix(r.lines[0], "    "))
	}
	r.blocks = append(r.blocks, Block{Kind: Verbatim, Text: strings.TrimRight(strings.Join(code, "\n"), "\n")})
}

// table takes the rows of a table.
func (r *reader) table() {
	var rows [][]string
	for ; len(r.lines) > 0 && tableLine.MatchString(r.lines[0]); r.lines = r.lines[1:] {
		if ruleLine.MatchString(r.lines[0]) && len(rows) > 0 {
			continue
		}
		rows = append(rows, cells(r.lines[0]))
	}
	r.blocks = append(r.blocks, Block{Kind: Table, Rows: rows})
}

// cells splits a row; a bar behind a backslash belongs to its cell.
func cells(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar)
	var list []string
	for _, cell := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|") {
		list = append(list, strings.ReplaceAll(strings.TrimSpace(cell), bar, "|"))
	}
	return list
}
