package explain

import (
	"strings"

	"agent/orchestrator/edit/parse"
)

// bars splits a text into lines at "|".
func bars(s string) []string { return strings.Split(s, "|") }

// pairs returns an operation for each "search>replace" text, with lines split at "|".
func pairs(blocks ...string) []*parse.Operation {
	var ops []*parse.Operation
	for i, b := range blocks {
		s, r, _ := strings.Cut(b, ">")
		op := &parse.Operation{Block: i + 1, Kind: parse.OpEdit, Path: "a.py", Search: bars(s)}
		if r != "" {
			op.Replace = bars(r)
		}
		ops = append(ops, op)
	}
	return ops
}

func fill(c rune, n int) string { return strings.Repeat(string(c), n) }
