package cmdline

import (
	"strings"
)

// Nearest returns the candidate that differs from word in at most a third of its letters and one more, or one that
// begins with word, or "".
func Nearest(word string, candidates []string) string {
	// A third of the letters may be wrong, and one more: enough for a typo, too little for another word.
	best, bestAt := "", len([]rune(word))/3+1
	for _, c := range candidates {
		if word != "" && strings.HasPrefix(c, word) {
			return c
		}
		if d := distance(word, c); d <= bestAt {
			best, bestAt = c, d-1
		}
	}
	return best
}

// distance returns the Levenshtein distance of a and b: the minimum number of letters to insert, delete or replace.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	row := make([]int, len(rb)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range ra {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range rb {
			cost := diagonal
			if x != y {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(rb)]
}
