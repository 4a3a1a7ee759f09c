package problem

import (
	"strings"
)

func fill(c rune, n int) string { return strings.Repeat(string(c), n) }
