package explain

import (
	"strings"

	"agent/orchestrator/edit/parse"
)

// bars makes a text of lines divided by "|".
func bars(s string) []string { return strings.Split(s, "|") }

// pairs makes operations of "search>replace" texts, lines divided by "|".
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
