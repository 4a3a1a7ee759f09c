package document

import (
	"strings"
)

// bars makes a text of lines divided by "|".
func bars(s string) []string { return strings.Split(s, "|") }
