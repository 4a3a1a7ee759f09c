// Package page lays out what people read, help pages and topics, as text of a terminal's width and as manual pages. It
// knows no command; it receives the content as blocks.
package page

import (
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A Kind says what a block is.
type Kind int

// The kinds of blocks.
const (
	Heading   Kind = iota // Text, of Level 1 for the title
	Paragraph             // Text
	Item                  // of a list: Mark and Text, Level 0 for the outermost
	Entry                 // Term, and Text about it
	Verbatim              // Text, with its lines unchanged
	Example               // Term is a command line, Text what it does
	Table                 // Rows, the first of which is the header
)

// A Block is one part of a page. Text, Term and the cells of Rows may hold code in backticks, **bold** words and
// [links](FILE), but not in Verbatim and Example.
type Block struct {
	Kind  Kind
	Level int
	Mark  string
	Term  string
	Text  string
	Rows  [][]string
}

// A span is a piece of text in one style.
type span struct {
	text string
	bold bool
	code bool
}

var (
	inline = lazyregexp.New("`[^`]+`|\\*\\*[^*]+\\*\\*|\\[[^\\]]+\\]\\([^)\\s]+\\)")
	link   = lazyregexp.New(`^\[([^\]]+)\]\(([^)\s]+)\)$`)
)

// spans takes the markup out of a text.
func spans(text string) []span {
	var list []span
	for len(text) > 0 {
		at := inline.FindStringIndex(text)
		if at == nil {
			return append(list, span{text: text})
		}
		if at[0] > 0 {
			list = append(list, span{text: text[:at[0]]})
		}
		list = append(list, marked(text[at[0]:at[1]])...)
		text = text[at[1]:]
	}
	return list
}

// marked is one piece of markup. A link to a topic becomes the command that shows it.
func marked(text string) []span {
	switch text[0] {
	case '`':
		return []span{{text: text[1 : len(text)-1], code: true}}
	case '*':
		return []span{{text: text[2 : len(text)-2], bold: true}}
	}
	m := link.FindStringSubmatch(text)
	target, _, _ := strings.Cut(m[2], "#")
	switch topic, ok := strings.CutSuffix(target, ".md"); {
	case strings.Contains(m[2], "://"):
		return append(spans(m[1]), span{text: " <" + m[2] + ">"})
	case ok && strings.Contains(topic, "/"), target == "":
		return spans(m[1])
	case ok:
		return []span{{text: "agent help " + topic, code: true}}
	}
	return spans(m[1])
}
