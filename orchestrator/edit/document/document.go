// Package document holds the text of one file as lines, and finds where given lines occur in it.
//
// It owns the ways in which lines are compared, called views, which range from the exact line to its code alone; the indexes that
// make this cheap, each built when first needed; and the bound on the comparisons for one response. It knows nothing of blocks and
// decides nothing: if there are several places, it returns several.
package document

import (
	"bytes"
	"slices"
	"strings"

	"agent/orchestrator/edit/lex"

	"golang.org/x/text/unicode/norm"
)

// A Document is the text of one file, divided into lines without copying them. It is built once per file; the structures that the
// strategies use for lookups are built when first needed.
//
// Lines are numbered from 0 here, and from 1 wherever a person or a model sees a number. Line i is Text[Off[i]:Off[i+1]], including
// its end. Dividing a file thus costs four bytes per line, and copying an untouched part is one slice.
//
// Three things can be looked up. Each costs more than the one before and is used only for what the one before left open: a
// substring of the text, which needs no preparation; a line by its number in a view; a run of tokens.
type Document struct {
	Path        string
	Text        string // without the byte order mark
	Mark        string // the byte order mark, or ""
	Sep         byte   // the byte that ends a line: '\n', or '\r' if the file has no '\n' at all
	Off         []int32
	EOL         string // the most frequent line end, for added lines
	Lang        *lex.Language
	body        string // "\n" + the lines, each ended by "\n": the text that Exact searches; "" until needed
	PreferIndex bool   // many blocks: one index of all lines is cheaper than a search for each
	Work        *Work  // the comparisons that are left; nil for a text in which no block is looked up
	Unindexed   bool   // too many short lines for any index, or one too long: only a search of the text finds anything
	LongLine    bool   // a line that is too long is the reason for Unindexed
	seen        anchor // the anchor of the last block that was looked up
	Explained   int    // number of problems that were explained
	lookups     int    // number of blocks that were looked up: a block of many pieces counts once per piece

	frequency *byteFrequency // which bytes are rare in the file; nil until the first search of the text
	written   script
	indentBy  byte           // the result of IndentChar; 0 if not known yet
	steps     map[byte][]int // the widths of a level, by the character of the indentation
	views     [viewKinds]*view
	Words     *WordView
	parts     *lex.Scanned
}

// New divides text into lines. A file whose only line ends are lone carriage returns is divided at those; in any other file a lone
// one is content.
//
// It never decodes the text: bytes that are not UTF-8 are compared and copied like all others. A "\r" before a "\n" is part of the
// line end; a "\r" elsewhere is part of the line.
func New(path string, text []byte) *Document {
	d := &Document{Path: path, Sep: '\n', Lang: lex.LanguageOf(path)}
	if rest, ok := bytes.CutPrefix(text, []byte(lex.BOM)); ok {
		text, d.Mark = rest, lex.BOM
	}
	var b strings.Builder
	b.Grow(len(text) + 2)
	b.WriteByte('\n')
	b.Write(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		b.WriteByte('\n')
	}
	framed := b.String()
	d.Text = framed[1 : 1+len(text)]
	returns := strings.IndexByte(d.Text, '\r') >= 0
	if returns && strings.IndexByte(d.Text, '\n') < 0 {
		d.Sep = '\r'
	}
	d.EOL = d.dominantEnd(returns)
	if !returns {
		d.body = framed
	}
	d.Cut()
	d.LongLine = d.longest() > maxLine
	d.Unindexed = d.LongLine || lex.Crowded(d.Len(), len(d.Text))
	return d
}

// maxLine bounds the bytes of a line that is compared in any way other than exactly: each such comparison takes the line as a
// whole, and makes a copy or a token list of it. Only generated files have longer lines.
const maxLine = 1 << 17

// longest returns the length of the longest line, including its end.
func (d *Document) longest() int {
	n := 0
	for i := range d.Len() {
		n = max(n, int(d.Off[i+1]-d.Off[i]))
	}
	return n
}

// FreeIndexes drops everything that can be rebuilt from the text, to make room for another document. Cut rebuilds the lines; the
// rest is rebuilt when needed.
func (d *Document) FreeIndexes() {
	d.Off, d.views, d.Words, d.parts, d.seen = nil, [viewKinds]*view{}, nil, nil, anchor{}
}

// Cut computes where the lines begin, unless that is known.
func (d *Document) Cut() {
	if d.Off != nil {
		return
	}
	d.Off = make([]int32, 1, 2+strings.Count(d.Text, string(d.Sep)))
	for at := 0; at < len(d.Text); {
		if i := strings.IndexByte(d.Text[at:], d.Sep); i >= 0 {
			at += i + 1
		} else {
			at = len(d.Text)
		}
		d.Off = append(d.Off, int32(at))
	}
}

// dominantEnd returns the line end of most lines, or "\n" if there are none; returns tells whether the file has any carriage
// return.
func (d *Document) dominantEnd(returns bool) string {
	if d.Sep == '\r' {
		return "\r"
	}
	if returns && 2*strings.Count(d.Text, "\r\n") > strings.Count(d.Text, "\n") {
		return "\r\n"
	}
	return "\n"
}

// Len returns the number of lines.
func (d *Document) Len() int { return len(d.Off) - 1 }

// LineAt returns the line, from 0, that holds byte at of the text.
func (d *Document) LineAt(at int) int {
	i, found := slices.BinarySearch(d.Off, int32(at))
	if !found {
		i--
	}
	return i
}

// Raw returns line i, from 0, with its end.
func (d *Document) Raw(i int) string { return d.Text[d.Off[i]:d.Off[i+1]] }

// Line returns line i, from 0, without its end.
func (d *Document) Line(i int) string {
	s := d.Raw(i)
	return s[:len(s)-len(d.End(i))]
}

// End returns the end of line i: "" for a last line without a newline.
func (d *Document) End(i int) string {
	s := d.Raw(i)
	switch {
	case s == "" || s[len(s)-1] != d.Sep:
		return ""
	case d.Sep == '\n' && strings.HasSuffix(s, "\r\n"):
		return "\r\n"
	}
	return s[len(s)-1:]
}

// PlainEnds reports whether lines [lo, hi) end in "\n" alone, as the lines of a response are assumed to; the last line of the file
// may have no end.
func (d *Document) PlainEnds(lo, hi int) bool {
	return d.Sep == '\n' && !strings.Contains(d.Text[d.Off[lo]:d.Off[hi]], "\r\n")
}

// EndNear returns the line end for a new line between lo and hi: that of the first replaced line, else of the line before, else of
// the file.
//
// In a file of mixed line ends the neighbours are the better guide: tools that write both kinds write them in runs.
func (d *Document) EndNear(lo, hi int) string {
	for _, i := range []int{lo, lo - 1} {
		if i >= 0 && i < d.Len() && (i < hi || i == lo-1) && d.End(i) != "" {
			return d.End(i)
		}
	}
	return d.EOL
}

// Plain returns the text as Exact searches it: every line ended by one "\n", and one "\n" in front, so that a match of whole lines
// needs no further check.
//
// For a file without carriage returns that is the copy that New made; only other files are rewritten. The standard library's
// substring search, which reads gigabytes per second, searches it.
func (d *Document) Plain() string {
	if d.body != "" {
		return d.body
	}
	t := d.Text
	switch {
	case d.Sep == '\r':
		t = strings.ReplaceAll(t, "\r", "\n")
	case strings.Contains(t, "\r\n"):
		t = strings.ReplaceAll(t, "\r\n", "\n")
	}
	if t != "" && !strings.HasSuffix(t, "\n") {
		t += "\n"
	}
	d.body = "\n" + t
	return d.body
}

// An anchor is where a block may be, derived from one of its lines: the longest, which is the most likely to be missing from the
// file and is rarely in it twice.
//
// Anchors settle most blocks without an index: one substring search finds the few lines of the file that equal that line, and only
// their surroundings are compared. An index costs as much as many such searches. It pays off for many blocks, and is needed if one
// text has several forms or the line is frequent.
type anchor struct {
	first *string // the address of the block's lines and their number: the question
	n     int
	known bool  // line and at are set, and at is complete
	plain bool  // the line has one form only
	line  int   // the line of the block that was looked up
	at    []int // the lines of the file that equal it, ignoring the space around it
}

// A script classifies the characters of a file, as far as matching needs it.
type script int8

const (
	scriptUnread script = iota
	scriptASCII
	scriptPlain // others too, but none that the loose views replace
	scriptForms // one line may be written in several forms
)

// script returns the file's script. Only the first call reads the text.
func (d *Document) script() script {
	if d.written == scriptUnread {
		switch {
		case lex.ASCII(d.Text):
			d.written = scriptASCII
		case !norm.NFC.IsNormalString(d.Text), strings.ContainsFunc(d.Text, func(r rune) bool { return lex.PlainForm(r) != "" }):
			d.written = scriptForms
		default:
			d.written = scriptPlain
		}
	}
	return d.written
}

// Index returns the first position of s in the text at or after byte at, or -1.
func (d *Document) Index(at int, s string) int {
	if s == "" {
		return at
	}
	if d.frequency == nil {
		d.frequency = newByteFrequency(d.Text)
	}
	i := d.frequency.index(d.Text, at, s, d.Work)
	end := i
	if i < 0 {
		end = len(d.Text)
	}
	d.Work.Add((end - at) / workSwift)
	return i
}

// contains reports whether s is anywhere in the text.
func (d *Document) contains(s string) bool { return d.Index(0, s) >= 0 }

// ManyBlocks is the number of blocks for a file from which an index of its lines is cheaper than reading it through for each block.
const ManyBlocks = 16
