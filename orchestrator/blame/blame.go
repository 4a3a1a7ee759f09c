// Package blame tells what later changes of a file made of earlier ones: which
// version brought each of its lines, and whether a change can be taken back
// from under those that came after it.
//
// It is pure: texts and who promoted them in, answers out. Where these come from is
// its caller's concern. It refuses rather than guesses: a change that
// touches a later one is a Clash, never a text with marks in it.
package blame

import (
	"strings"

	"agent/orchestrator/edit/align"
)

// A Version is one state of a file.
type Version struct {
	Text string
	// Undo says that the version takes a change back: what it brings again was
	// brought by whoever brought it to version Back, the one before that change.
	Undo bool
	Back int
}

// Lines returns the lines of a text, each with its end. The last one may have
// none; an empty text has no lines.
func Lines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// Origins returns for each line of the last version the place of the version
// that brought it: the first since which it has stood in the file. The end of
// a line is no part of it, so whoever adds a line below one without an end does
// not become its author.
func Origins(versions []Version) []int {
	var origins []int
	// All are kept: an undo may go back to any of them.
	known, texts := make([][]int, len(versions)), make([][]string, len(versions))
	for i, v := range versions {
		texts[i] = strings.Split(strings.TrimSuffix(v.Text, "\n"), "\n")
		if v.Text == "" {
			texts[i] = nil
		}
		origins = make([]int, len(texts[i]))
		for j := range origins {
			origins[j] = i
		}
		// What stood there before wins over what an undo brings again.
		if v.Undo && v.Back < i {
			inherit(origins, texts[i], texts[v.Back], known[v.Back])
		}
		if i > 0 {
			inherit(origins, texts[i], texts[i-1], known[i-1])
		}
		known[i] = origins
	}
	return origins
}

// inherit gives the lines that repeat those of an earlier version their
// origins.
func inherit(origins []int, lines, earlier []string, known []int) {
	for j, k := range align.Lines(earlier, lines) {
		if k >= 0 {
			origins[j] = known[k]
		}
	}
}
