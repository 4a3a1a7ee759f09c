// Package blame tells what later changes of a file did to earlier ones: which version brought each of its lines, and
// whether a change can be taken back from under the changes after it.
//
// It is pure: it maps texts, and who promoted them, to answers; its caller provides them. It refuses rather than
// guesses: a change that touches a later one is a Clash, never a text with conflict markers.
package blame

import (
	"strings"

	"agent/orchestrator/edit/align"
)

// A Version is one state of a file.
type Version struct {
	Text string
	// Undo says that the version takes a change back: lines that it restores come from whoever brought them into
	// version Back, the one before that change.
	Undo bool
	Back int
}

// Lines returns the lines of a text, each with its line end. The last line may lack one; an empty text has no lines.
func Lines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// Origins returns for each line of the last version the index of the version that brought it: the first one since which
// it has stood in the file. The end of a line is not part of it: adding a line below one without an end does not change
// that line's author.
func Origins(versions []Version) []int {
	var origins []int
	// Keep all of them: an undo may go back to any.
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
		// A line from the version before wins over one that an undo restores.
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

// inherit gives lines that repeat lines of an earlier version their origins.
func inherit(origins []int, lines, earlier []string, known []int) {
	for j, k := range align.Lines(earlier, lines) {
		if k >= 0 {
			origins[j] = known[k]
		}
	}
}
