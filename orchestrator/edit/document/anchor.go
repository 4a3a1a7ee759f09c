package document

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/lex"
)

// anchorOf returns the anchor of core, lines without blank ones around them. The strategies ask about the same lines one after the
// other, so it keeps the last answer. It identifies the question by the address of the lines: comparing their text would cost what
// the answer saves.
func (d *Document) anchorOf(core []string) *anchor {
	q := &d.seen
	if q.first != &core[0] || q.n != len(core) {
		*q = anchor{first: &core[0], n: len(core)}
		if d.lookups++; d.lookups > ManyBlocks && !d.Unindexed {
			d.PreferIndex = true
		}
		if !d.PreferIndex {
			q.look(d, core)
		}
	}
	return q
}

// suits reports whether the anchor is complete for views of kind k: the loose views also see lines that are written with other
// characters.
func (q *anchor) suits(d *Document, k ViewKind) bool {
	return q.known && (k < Loose || q.plain && d.script() != scriptForms)
}

// look finds where the longest line occurs; it gives up if that is in many places.
//
// It skips a line that holds the text among other text, since that cannot be the line itself.
func (q *anchor) look(d *Document, core []string) {
	key := ""
	for i, s := range core {
		if s = lex.TrimSpace(s); len(s) > len(key) {
			key, q.line = s, i
		}
	}
	q.plain = lex.PlainUnicode(key) == key
	for at, tries := 0, 0; ; tries++ {
		if at = d.Index(at, key); at < 0 {
			q.known = true
			return
		}
		if len(q.at) == Rare || tries == 8*Rare {
			return
		}
		l := d.LineAt(at)
		if lex.TrimSpace(d.Raw(l)) == key {
			q.at = append(q.at, l)
		}
		at = int(d.Off[l+1])
	}
}

// nowhere reports whether s is certainly nowhere, whatever its space and blank lines. That holds for most refused blocks, and saves
// numbering the file for them.
func (d *Document) nowhere(s []string) bool {
	lo, hi := lex.Outer(s)
	if lo == hi {
		return false
	}
	q := d.anchorOf(s[lo:hi])
	around := func(at int) bool { return d.surrounded(s[lo:hi], q.line, at) }
	return q.suits(d, LooseFilled) && !slices.ContainsFunc(q.at, around)
}

// surrounded reports whether the lines around line i of core occur in this order around line at of the file, which equals line i,
// ignoring blank lines.
func (d *Document) surrounded(core []string, i, at int) bool {
	key := func(j int) string { return Loose.Key(core[j]) }
	return d.around(len(core), i, at, key, lex.Blank, func(line, key string) bool { return line == key })
}

// around reports whether the keys of the n lines around line i match the lines around line at of the file, in this order. It walks
// both ways, and skips empty keys and the lines of the file that skip accepts. same compares a line, without the space around it,
// with a key.
func (d *Document) around(n, i, at int, key func(int) string, skip func(string) bool, same func(line, key string) bool) bool {
	for _, step := range []int{-1, 1} {
		l := at + step
		for j := i + step; j >= 0 && j < n; j += step {
			k := key(j)
			if k == "" {
				continue
			}
			d.Work.Add(WorkLine)
			for ; l >= 0 && l < d.Len() && skip(d.Raw(l)); l += step {
				d.Work.Add(WorkLine)
			}
			if l < 0 || l >= d.Len() || !same(lex.TrimSpace(d.Raw(l)), k) {
				return false
			}
			l += step
		}
	}
	return true
}

// maxReads bounds how often the file is read through for the lines of one block: for a longer block a scan is cheaper.
const maxReads = 8

// codeAbsent reports whether s is certainly nowhere even without comments: the code of some line is not in the file at all, or
// nowhere next to that of the others. Searching for it costs far less than scanning the file for comments.
//
// The code of a line is the beginning of the line, whatever a scan makes of the rest. Only a comment of several lines could hide a
// line between two others, so codeAbsent reports false for a file that may have one.
func (d *Document) codeAbsent(s []string) bool {
	if d.PreferIndex || d.script() == scriptForms {
		return false
	}
	var code []string
	longest, plain, budget := 0, true, maxReads*len(d.Text)
	for _, l := range d.Lang.Code(s) {
		if l = Loose.Key(l); l == "" {
			continue
		}
		i := d.Index(0, l)
		if budget -= i; i < 0 || budget < 0 {
			return i < 0
		}
		if code = append(code, l); len(l) > len(code[longest]) {
			longest = len(code) - 1
		}
		plain = plain && !d.Lang.Comment(l)
	}
	spans := func(b [2]string) bool { return d.contains(b[0]) }
	if len(code) == 0 || !plain || slices.ContainsFunc(d.Lang.Block, spans) {
		return false
	}
	for at, tries := 0, 0; tries < Rare; tries++ {
		if at = d.Index(at, code[longest]); at < 0 {
			return true
		}
		l := d.LineAt(at)
		if strings.HasPrefix(lex.TrimSpace(d.Raw(l)), code[longest]) && d.codeAround(code, longest, l) {
			return false
		}
		at = int(d.Off[l+1])
	}
	return false
}

// codeAround reports whether the lines around line at of the file begin with those around line i of code, in this order, ignoring
// blank lines and comments.
func (d *Document) codeAround(code []string, i, at int) bool {
	skip := func(s string) bool { return lex.Blank(s) || d.Lang.Comment(s) }
	return d.around(len(code), i, at, func(j int) string { return code[j] }, skip, strings.HasPrefix)
}

// CodeOnce reports whether s certainly occurs at most once, ignoring comments: its longest line of code is in the file only once. A
// place that was found then needs no scan of the file for a second one.
func (d *Document) CodeOnce(s []string) bool {
	if d.script() == scriptForms {
		return false
	}
	longest := ""
	for _, l := range d.Lang.Code(s) {
		if l = Loose.Key(l); len(l) > len(longest) {
			longest = l
		}
	}
	i := d.Index(0, longest)
	return longest != "" && i >= 0 && d.Index(i+1, longest) < 0
}

// LacksLongestLine reports whether an ASCII file does not hold the longest line of s, even if that is a comment. Then s is about
// another text, and what remains of it without comments proves nothing.
func (d *Document) LacksLongestLine(s []string) bool {
	longest := ""
	for _, l := range s {
		if len(l) > len(longest) {
			longest = l
		}
	}
	return d.script() == scriptASCII && !d.contains(Loose.Key(longest))
}

// HasLine reports whether the file has the line s, which is not blank, ignoring the space around it and Unicode punctuation.
func (d *Document) HasLine(s string) bool {
	key := Loose.Key(s)
	if !d.Unindexed && (d.PreferIndex || d.script() == scriptForms) {
		return d.View(Loose).has(s)
	}
	for at := 0; ; {
		if at = d.Index(at, key); at < 0 {
			return false
		}
		l := d.LineAt(at)
		if lex.TrimSpace(d.Raw(l)) == key {
			return true
		}
		at = int(d.Off[l+1])
	}
}
