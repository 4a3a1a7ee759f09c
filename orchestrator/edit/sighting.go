package edit

import (
	"slices"
	"strings"
)

// A sighting is where a block may stand, told by one of its lines: the longest
// line of code, which is the likeliest to be missing from the file, and
// seldom stands in it twice.
//
// It is how most blocks are settled without an index: one search for a
// substring finds the few lines of the file that equal that one, and only
// around them is anything compared. An index costs as much as many such
// searches; it pays for many blocks, and it is needed where one text has
// several forms or the line is frequent.
type sighting struct {
	first *string // where the block's lines are kept, and how many they are: the question
	n     int
	known bool  // line and at are set, and at is complete
	plain bool  // the line has one form only
	line  int   // the line of the block that was looked for
	at    []int // the lines of the file that equal it, space around it aside
	lacks int8  // whether the block stands nowhere: 0 not known, 1 no, 2 yes
}

// sight looks for lines without blank ones around them. Each strategy asks
// of the same lines, so the last answer is kept.
func (d *document) sight(core []string) *sighting {
	q := &d.seen
	if q.first != &core[0] || q.n != len(core) {
		*q = sighting{first: &core[0], n: len(core)}
		if d.asks++; d.asks > manyBlocks {
			d.busy = true
		}
		if !d.busy {
			q.look(d, core)
		}
	}
	return q
}

// suits reports whether the sighting is complete for views of kind k: the
// loose ones see lines that are written with other characters too.
func (q *sighting) suits(d *document, k viewKind) bool {
	return q.known && (k < loose || q.plain && d.script() != scriptForms)
}

// lacks reports whether s certainly stands nowhere, however its space,
// punctuation and comments are taken. It is so for most blocks that are refused,
// and spares them every other search.
func (d *document) lacks(s []string) bool {
	lo, hi := outer(s)
	if lo == hi {
		return false
	}
	q := d.sight(s[lo:hi])
	if q.lacks == 0 {
		if q.lacks = 1; q.lacking(d, s[lo:hi]) {
			q.lacks = 2
		}
	}
	return q.lacks == 2
}

// lacking answers lacks: some line of code is not in the file at all, or
// those around the line that was looked for are others. Comments may be passed
// over; but a block of which the longest line is a comment that a file of ASCII
// does not hold is about another text.
func (q *sighting) lacking(d *document, core []string) bool {
	longest := ""
	for _, s := range core {
		if len(s) > len(longest) {
			longest = s
		}
	}
	if d.lang.comment(longest) && d.script() == scriptASCII && !strings.Contains(d.text, loose.key(longest)) {
		return true
	}
	if !q.suits(d, loose) {
		return d.view(loose).lacks(core)
	}
	return !slices.ContainsFunc(q.at, func(at int) bool { return d.surrounded(core, q.line, at) })
}

// look sets where the longest line of code stands; it gives up when that is
// in many places.
//
// A line that holds the text among other text is left at its end, since it
// cannot be the line itself.
func (q *sighting) look(d *document, core []string) {
	key := ""
	for i, s := range core {
		if s = trimSpace(s); len(s) > len(key) && !d.lang.comment(s) {
			key, q.line = s, i
		}
	}
	if key == "" {
		return
	}
	q.plain = plainUnicode(key) == key
	for at, tries := 0, 0; ; tries++ {
		i := strings.Index(d.text[at:], key)
		if i < 0 {
			q.known = true
			return
		}
		if len(q.at) == rare || tries == 8*rare {
			return
		}
		l := d.lineAt(at + i)
		if trimSpace(d.raw(l)) == key {
			q.at = append(q.at, l)
		}
		at = int(d.off[l+1])
	}
}

// surrounded reports whether the lines of code around line i of core stand
// in this order around line at of the file, which equals it: what every
// strategy that goes line by line asks at the least.
func (d *document) surrounded(core []string, i, at int) bool {
	passed := func(key string) bool { return key == "" || d.lang.comment(key) }
	for _, step := range []int{-1, 1} {
		l := at + step
		for j := i + step; j >= 0 && j < len(core); j += step {
			key := loose.key(core[j])
			if passed(key) {
				continue
			}
			for l >= 0 && l < d.len() && passed(trimSpace(d.raw(l))) {
				l += step
			}
			if l < 0 || l >= d.len() || trimSpace(d.raw(l)) != key {
				return false
			}
			l += step
		}
	}
	return true
}

// A script is what characters a file is written in, as far as matching cares.
type script int8

const (
	scriptUnread script = iota
	scriptASCII
	scriptPlain // others too, but none that the loose views take for another
	scriptForms // one line may be written in several forms
)

// script returns the file's script, reading it at the first call only.
func (d *document) script() script {
	if d.written == scriptUnread {
		switch {
		case ascii(d.text):
			d.written = scriptASCII
		case strings.ContainsFunc(d.text, func(r rune) bool { return plainForm(r) != "" }):
			d.written = scriptForms
		default:
			d.written = scriptPlain
		}
	}
	return d.written
}
