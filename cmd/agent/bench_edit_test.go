//go:build bench

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/edit"
)

// benchEdit times fifty blocks on a file of 10,000 lines with each strategy that ignores some difference, and fifty
// that are refused. The reference searches the same file for as many texts, which is the least that any search does.
func benchEdit(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "def part_%d(items):\n    total_%d = 0\n    for item in items:\n        total_%d += item.count\n    return total_%d\n", i, i, i, i)
	}
	before := []byte(b.String())
	reference := median(t, 9, func() {
		for i := range 50 {
			bytes.Contains(before, fmt.Appendf(nil, "total_%d was never here", 40*i))
		}
	})
	for _, c := range []struct {
		name            string
		search, replace string // %[1]d is the number of the function
		applies         bool
	}{
		{"exact", "    total_%[1]d = 0\n", "    total_%[1]d = 1\n", true},
		{"loosest by lines", "total_%[1]d = 0\n\nfor item in items:\n", "total_%[1]d = 1\n\nfor item in items:\n", true},
		{"elided", "def part_%[1]d(items):\n    # ...\n    return total_%[1]d\n", "def part_%[1]d(items):\n    # ...\n    return total_%[1]d + 1\n", true},
		{"reflowed", "def part_%[1]d(\n        items):\n    total_%[1]d = 0\n", "def part_%[1]d(items):\n    total_%[1]d = 1\n", true},
		{"refused", "    total_%[1]d = 7\n    for item in items:\n", "    total_%[1]d = 8\n    for item in items:\n", false},
	} {
		var blocks []edit.Block
		for i := range 50 {
			blocks = append(blocks, edit.Block{Search: fmt.Sprintf(c.search, 40*i), Replace: fmt.Sprintf(c.replace, 40*i)})
		}
		took := median(t, 9, func() {
			if _, _, err := edit.ApplyBlocks("a.py", before, blocks); (err == nil) != c.applies {
				t.Fatalf("%s: %v", c.name, err)
			}
		})
		row("edit, 50 blocks on 10,000 lines, "+c.name, took, reference, "50 ms", took <= 50*time.Millisecond)
	}
}
