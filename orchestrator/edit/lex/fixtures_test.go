package lex

import (
	"strings"
)

// bars splits a text into lines at "|".
func bars(s string) []string { return strings.Split(s, "|") }
