package explain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/problem"
)

// Bounds on what a refusal quotes of the file. A longer SEARCH shows its beginning and its end.
const (
	shown      = 100     // lines of the place that was probably meant
	shownOther = 30      // lines of a further place
	shownBytes = 6 << 10 // bytes of one place
	shownWidth = 1000    // bytes of one line
)

// Excerpt shows lines [lo, hi) with their numbers. The text after the bar is exact, so it can be copied.
func Excerpt(d *document.Document, lo, hi int) string { return excerptUpTo(d, shown, lo, hi) }

// excerptUpTo is like Excerpt with a bound on the lines. It omits the middle of a long range and the end of a long line.
func excerptUpTo(d *document.Document, most, lo, hi int) string {
	lo, hi = max(0, lo), min(d.Len(), hi)
	var b strings.Builder
	head, tail := fitting(d, lo, hi, most)
	writeLines(d, &b, lo, head, '|')
	if head < tail {
		fmt.Fprintf(&b, "%6s | … %d more lines\n", "", tail-head)
	}
	writeLines(d, &b, tail, hi, '|')
	return b.String()
}

// excerptIn returns the excerpt of a spot within lines [lo, hi). The lines around the spot have a colon in place of the bar.
func excerptIn(d *document.Document, q spot, lo, hi int) string {
	var b strings.Builder
	if lo < q.from {
		writeLines(d, &b, max(lo, q.from-shownOther), q.from, ':')
	}
	b.WriteString(Excerpt(d, q.from, q.to))
	if q.to < hi {
		writeLines(d, &b, q.to, min(hi, q.to+shownOther), ':')
	}
	return b.String()
}

// Around returns the excerpt of one line, from 1, with the two before it and the one after. That is enough to see what a parser
// failed on, which is mostly before the place that it names.
func Around(d *document.Document, line int) string {
	return excerptIn(d, spot{from: line - 1, to: line}, max(0, line-3), min(d.Len(), line+1))
}

// writeLines writes lines [lo, hi) with their numbers before a bar. One space follows the bar, whatever the line begins with, so
// the text to the right of it can be copied as a column.
func writeLines(d *document.Document, b *strings.Builder, lo, hi int, bar rune) {
	for i := lo; i < hi; i++ {
		s := d.Line(i)
		if len(s) > shownWidth {
			s = problem.Clip(s, shownWidth) + "…"
		}
		fmt.Fprintf(b, "%6d %c %s\n", i+1, bar, printable(s))
	}
}

// fitting returns how lines [lo, hi) are reduced to most lines and shownBytes: lines [head, tail) are left out. head equals tail if
// all fit.
//
// It takes lines from both ends in turn, since an author recognizes a piece of code by how it begins and ends.
func fitting(d *document.Document, lo, hi, most int) (head, tail int) {
	head, tail = lo, hi
	size := 0
	for n := 0; head < tail && n < most; n++ {
		i := head
		if n%2 == 1 {
			i = tail - 1
		}
		if size += 10 + min(len(d.Line(i)), shownWidth); size > shownBytes && n > 1 {
			break
		}
		if i == head {
			head++
		} else {
			tail--
		}
	}
	return head, tail
}

// legible reports whether lines [lo, hi) can be copied from their excerpt: all of them are shown, none is shortened, all are UTF-8.
func legible(d *document.Document, most, lo, hi int) bool {
	if head, tail := fitting(d, lo, hi, most); head < tail {
		return false
	}
	for i := lo; i < hi; i++ {
		if s := d.Line(i); len(s) > shownWidth || !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

// span names lines [lo, hi), from 0, for a reader who counts from 1.
func span(lo, hi int) string {
	if hi-lo < 2 {
		return fmt.Sprintf("line %d", lo+1)
	}
	return fmt.Sprintf("lines %d to %d", lo+1, hi)
}

// cutAround shortens a line to about width bytes around byte at, so that the text there stays visible.
//
// A third of the width goes before at: the text after a difference explains it better than the text before it, which both lines
// have in common.
func cutAround(s string, at, width int) string {
	if len(s) <= width {
		return s
	}
	lo := max(0, min(at-width/3, len(s)-width))
	for lo > 0 && !utf8.RuneStart(s[lo]) {
		lo--
	}
	out := problem.Clip(s[lo:], width)
	if lo+len(out) < len(s) {
		out += "…"
	}
	if lo > 0 {
		out = "…" + out
	}
	return out
}

// visible replaces space and characters that look like others with signs and code points: a tab with ⇥, a space with ·, a carriage
// return with ␍.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteRune('⇥')
		case r == ' ':
			b.WriteRune('·')
		case r == '\r':
			b.WriteRune('␍')
		case r < utf8.RuneSelf && unicode.IsPrint(r):
			b.WriteRune(r)
		case unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != utf8.RuneError:
			fmt.Fprintf(&b, "%c (%U)", r, r)
		default:
			fmt.Fprintf(&b, "(%U)", r)
		}
	}
	return b.String()
}

// A spot is a place of the file as a refusal shows it: lines [lo, hi), from 0, that SEARCH stands for, and [from, to) around them,
// which occur nowhere else in the file if alone is set.
type spot struct {
	lo, hi   int
	from, to int
	alone    bool
}

// printable returns text with bytes that are not UTF-8 replaced by U+FFFD.
func printable(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
