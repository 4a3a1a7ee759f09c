package edit

import (
	"bytes"
	"slices"
	"strings"

	"agent/orchestrator/edit/lex"
)

// A document is the text of one file, cut into lines without copying them.
// It is built once a file; what the strategies look up is built when first asked for.
//
// Lines are numbered from 0 here, and from 1 wherever a person or a model
// sees a number. Line i is text[off[i]:off[i+1]], its end included, so that
// cutting a file costs four bytes a line, and copying an untouched part is
// one slice.
//
// Three things can be looked up, each dearer than the one before and asked
// only of what the one before left open: a substring of the text, which needs
// no preparation; a line by its number in a view; a run of tokens.
type document struct {
	path string
	text string // without the byte order mark
	mark string // the byte order mark, or ""
	sep  byte   // what ends a line: '\n', or '\r' when the file has no '\n' at all
	off  []int32
	eol  string // the most frequent line end, for lines that are added
	lang *lex.Language
	body string   // "\n" + the lines, each ended by "\n": what Exact searches; "" until asked for
	busy bool     // many blocks: one index of all lines is cheaper than a search for each
	work *work    // what may still be compared; nil for a text that no block is looked for in
	thin bool     // too many short lines for any index: only what a search of the text finds is found
	seen sighting // the last block that was looked for
	told int      // problems that were explained
	asks int      // how many were: a block of many pieces is as many blocks

	seldom   *rarity // which bytes it has seldom; nil until a text is looked for
	written  script
	indentBy byte           // the answer of indentChar; 0 not known
	steps    map[byte][]int // the widths of a level, by the character of the indentation
	views    [viewKinds]*view
	words    *wordView
	parts    *lex.Scanned
}

// newDocument cuts text into lines. A file whose only line ends are lone
// carriage returns is cut at those; anywhere else a lone one is content.
//
// The text is never decoded: bytes that are not UTF-8 are compared and
// copied like all others. A "\r" before a "\n" is part of the line's end; a
// "\r" elsewhere is part of the line.
//
// The text is copied once, with a newline before and after it: in a file
// with plain ends that copy is what Exact searches as well.
func newDocument(path string, text []byte) *document {
	d := &document{path: path, sep: '\n', lang: lex.LanguageOf(path)}
	if rest, ok := bytes.CutPrefix(text, []byte(lex.BOM)); ok {
		text, d.mark = rest, lex.BOM
	}
	var b strings.Builder
	b.Grow(len(text) + 2)
	b.WriteByte('\n')
	b.Write(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		b.WriteByte('\n')
	}
	framed := b.String()
	d.text = framed[1 : 1+len(text)]
	returns := strings.IndexByte(d.text, '\r') >= 0
	if returns && strings.IndexByte(d.text, '\n') < 0 {
		d.sep = '\r'
	}
	d.eol = d.dominantEnd(returns)
	if !returns {
		d.body = framed
	}
	d.cut()
	d.thin = lex.Crowded(d.len(), len(d.text))
	return d
}

// shed gives up what can be made again from the text, so that another document
// has room; cut makes the lines again, and the rest comes when it is asked for.
func (d *document) shed() {
	d.off, d.views, d.words, d.parts, d.seen = nil, [viewKinds]*view{}, nil, nil, sighting{}
}

// cut fills in where the lines begin, unless it is known.
func (d *document) cut() {
	if d.off != nil {
		return
	}
	d.off = make([]int32, 1, 2+strings.Count(d.text, string(d.sep)))
	for at := 0; at < len(d.text); {
		if i := strings.IndexByte(d.text[at:], d.sep); i >= 0 {
			at += i + 1
		} else {
			at = len(d.text)
		}
		d.off = append(d.off, int32(at))
	}
}

// dominantEnd returns the line end that most lines have, "\n" for none;
// returns tells whether the file has any carriage return.
func (d *document) dominantEnd(returns bool) string {
	if d.sep == '\r' {
		return "\r"
	}
	if returns && 2*strings.Count(d.text, "\r\n") > strings.Count(d.text, "\n") {
		return "\r\n"
	}
	return "\n"
}

// len returns the number of lines.
func (d *document) len() int { return len(d.off) - 1 }

// lineAt returns the line, from 0, that holds byte at of the text.
func (d *document) lineAt(at int) int {
	i, found := slices.BinarySearch(d.off, int32(at))
	if !found {
		i--
	}
	return i
}

// raw returns line i, from 0, with its end.
func (d *document) raw(i int) string { return d.text[d.off[i]:d.off[i+1]] }

// line returns line i, from 0, without its end.
func (d *document) line(i int) string {
	s := d.raw(i)
	return s[:len(s)-len(d.end(i))]
}

// end returns what ends line i: "" for a last line without a newline.
func (d *document) end(i int) string {
	s := d.raw(i)
	switch {
	case s == "" || s[len(s)-1] != d.sep:
		return ""
	case d.sep == '\n' && strings.HasSuffix(s, "\r\n"):
		return "\r\n"
	}
	return s[len(s)-1:]
}

// plainEnds reports whether lines [lo, hi) end in "\n" alone, as those of a
// response are taken to end; the last line of the file may have no end.
func (d *document) plainEnds(lo, hi int) bool {
	return d.sep == '\n' && !strings.Contains(d.text[d.off[lo]:d.off[hi]], "\r\n")
}

// endNear returns the line end that a new line between lo and hi takes: that
// of the first line replaced, else of the line before, else of the file.
//
// In a file of mixed ends the neighbours are the better guide: tools that
// write both kinds write them in runs.
func (d *document) endNear(lo, hi int) string {
	for _, i := range []int{lo, lo - 1} {
		if i >= 0 && i < d.len() && (i < hi || i == lo-1) && d.end(i) != "" {
			return d.end(i)
		}
	}
	return d.eol
}

// plain returns the text as Exact searches it: every line ended by one "\n",
// and one "\n" in front, so that a hit on whole lines needs no further check.
//
// For a file without carriage returns that is the copy that newDocument made;
// only other files are rewritten. It is searched with the standard library's
// substring search, which reads gigabytes a second.
func (d *document) plain() string {
	if d.body != "" {
		return d.body
	}
	t := d.text
	switch {
	case d.sep == '\r':
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

// findExact returns up to limit first lines at which the lines s stand, byte
// for byte but for the line ends.
//
// Each hit is a run of whole lines, since the needle begins and ends with a
// newline. More than limit places need not be known: two are already too
// many.
func (d *document) findExact(s []string, limit int) []int {
	if len(s) == 0 {
		return nil
	}
	v := d.view(whole)
	if d.busy {
		hits, _ := v.find(s, limit)
		return hits
	}
	if hits, ok := v.sighted(s, limit); ok {
		return hits
	}
	body, needle := d.plain(), "\n"+strings.Join(s, "\n")+"\n"
	var hits []int
	at, line := 0, 0
	for len(hits) < limit {
		i := strings.Index(body[at:], needle)
		if i < 0 {
			d.work.add(len(body) - at)
			break
		}
		d.work.add(i)
		line += strings.Count(body[at:at+i], "\n")
		hits = append(hits, line)
		at, line = at+i+1, line+1 // the next hit may overlap this one
	}
	return hits
}

// manyBlocks is how many blocks a file takes before an index of its lines
// is cheaper than reading it through for each.
const manyBlocks = 16
