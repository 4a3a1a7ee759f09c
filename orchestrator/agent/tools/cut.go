package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxAnswer bounds how much of one answer a model is shown, in bytes; it can read the rest by range.
const MaxAnswer = 8000

// Keep returns what a model is shown of the answer to call n. If a text is longer than MaxAnswer, `read` with the
// number of the answer shows the rest.
func (b *Bench) Keep(n int, a Answer) Answer {
	if len(a.Text) <= MaxAnswer {
		return a
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.long == nil {
		b.long = map[int]string{}
	}
	b.long[n] = a.Text
	shown, next := Head(a.Text, 1, MaxAnswer)
	more := fmt.Sprintf("%d lines; read on by {\"answer\": %d, \"from\": %d}", lines(a.Text), n, next)
	if next > lines(a.Text) {
		more = "one line, of which this is the beginning"
	}
	if a.Head != "" {
		more = a.Head + "; " + more
	}
	a.Head, a.Text = more, shown
	return a
}

// answer returns an answer of which only a part was shown.
func (b *Bench) answer(n int) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, ok := b.long[n]
	return text, ok
}

// Head returns the whole lines of a text that fit into n bytes, from line from on (counted from 1), or a part of the
// first line if even that does not fit. next is the number of the line after them.
func Head(text string, from, n int) (shown string, next int) {
	rest := text
	for i := 1; i < from; i++ {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return "", from
		}
		rest = after
	}
	for next = from; rest != ""; next++ {
		line, after, _ := strings.Cut(rest, "\n")
		if len(shown)+len(line)+1 > n {
			if shown == "" { // one line is longer than everything that may be shown
				shown, next = clip(line, n)+" […]\n", next+1
			}
			break
		}
		shown, rest = shown+line+"\n", after
	}
	return shown, next
}

// lines counts the lines of a text.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// clip cuts s to n bytes at most, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
