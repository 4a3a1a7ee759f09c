package explain

import (
	"strings"

	"agent/orchestrator/edit/parse"
)

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
