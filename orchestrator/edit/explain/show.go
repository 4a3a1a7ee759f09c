package explain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/problem"
)

// What a refusal quotes of the file at most. A SEARCH longer than that shows
// its beginning and its end.
const (
	shown      = 100     // lines of the place that was probably meant
	shownOther = 30      // lines of a place beside it
	shownBytes = 6 << 10 // bytes of one place
	shownWidth = 1000    // bytes of one line
)

// Excerpt shows lines [lo, hi) with their numbers, exactly as they are
// after the bar, so that they can be copied.
func Excerpt(d *document.Document, lo, hi int) string { return excerptUpTo(d, shown, lo, hi) }

// excerptUpTo is excerpt with a bound on the lines. A long range loses its
// middle, a long line its end.
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

// excerptIn is the excerpt of a spot with its surroundings, lines [lo, hi):
// those around it have a colon for the bar.
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

// Around is the excerpt of one line, from 1, with the two before it and the
// one after: enough to see what a parser stumbled over, which mostly stands
// before the place that it names.
func Around(d *document.Document, line int) string {
	return excerptIn(d, spot{from: line - 1, to: line}, max(0, line-3), min(d.Len(), line+1))
}

// writeLines writes lines [lo, hi) with their numbers before a bar.
// The bar has one space after it, whatever the line begins with: what is right
// of it can be copied as a column.
func writeLines(d *document.Document, b *strings.Builder, lo, hi int, bar rune) {
	for i := lo; i < hi; i++ {
		s := d.Line(i)
		if len(s) > shownWidth {
			s = problem.Clip(s, shownWidth) + "…"
		}
		fmt.Fprintf(b, "%6d %c %s\n", i+1, bar, printable(s))
	}
}

// fitting returns how lines [lo, hi) are cut to most lines and shownBytes:
// those of [head, tail) are left out. head is tail when all fit.
//
// Lines are taken from both ends in turn, since an author knows a piece of
// code by how it begins and ends.
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

// legible reports whether lines [lo, hi) can be copied from their excerpt:
// all of them are shown, none is cut, all are UTF-8.
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

// span names lines [lo, hi), from 0, to a reader who counts from 1.
func span(lo, hi int) string {
	if hi-lo < 2 {
		return fmt.Sprintf("line %d", lo+1)
	}
	return fmt.Sprintf("lines %d to %d", lo+1, hi)
}

// cutAround shortens a line to about width bytes around byte at, so that what
// is there stays in sight.
//
// A third of the width goes before at: what comes after a difference tells
// more about it than what leads up to it, which both lines have in common.
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

// visible shows space and characters that look like others by signs and
// code points: a tab as ⇥, a space as ·, a carriage return as ␍.
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

// A spot is a place of the file as a refusal shows it: lines [lo, hi), from
// 0, that SEARCH stands for, and [from, to) around them, which are nowhere
// else in the file when alone is set.
type spot struct {
	lo, hi   int
	from, to int
	alone    bool
}

// printable returns text without bytes that are not UTF-8.
func printable(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
