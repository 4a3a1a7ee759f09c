package edit_test

import (
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit"
)

// large returns a Python file of n functions with five lines each.
func large(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "def part_%d(items):\n    total_%d = 0\n    for item in items:\n        total_%d += item.count\n    return total_%d\n", i, i, i, i)
	}
	return b.String()
}

// BenchmarkApply measures one block by each strategy, and refusals, on a file of 10,000 lines. Its throughput counts the bytes of the
// file.
func BenchmarkApply(b *testing.B) {
	before := large(2000)
	for _, c := range []struct {
		name, search, replace string
		ok                    bool
	}{
		{"exact", "    total_900 = 0\n", "    total_900 = 1\n", true},
		{"stripped", "    total_900 = 0  \n", "    total_900 = 1\n", true},
		{"normalised", "    total_900 = 0\n\n    for item in items:\n", "    total_900 = 1\n\n    for item in items:\n", true},
		{"indentation", "total_900 = 0\n", "total_900 = 1\n", true},
		{"reflowed", "def part_900(\n        items):\n    total_900 = 0\n", "def part_900():\n    total_900 = 0\n", true},
		{"elided", "def part_900(items):\n    # ...\n    return total_900\n", "def part_900():\n    # ...\n    return total_900\n", true},
		{"ambiguous", "    for item in items:\n", "    for item in all:\n", false},
		{"not found", "    total_900 = 5\n    for item in items:\n", "    total_900 = 1\n", false},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(before)))
			for b.Loop() {
				_, _, err := edit.ApplyBlocks("a.py", []byte(before), []edit.Block{{Search: c.search, Replace: c.replace}})
				if (err == nil) != c.ok {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFiftyBlocks measures fifty blocks of one kind on a file of 10,000 lines: blocks that need the loosest line strategy, reflowed
// or elided blocks, and blocks that match nowhere.
func BenchmarkFiftyBlocks(b *testing.B) {
	before := large(2000)
	for _, c := range []struct {
		name, search, replace string // %[1]d is the number of a function
		ok                    bool
	}{
		{"loosest", "total_%[1]d = 0\n\nfor item in items:\n", "total_%[1]d = 1\n\nfor item in items:\n", true},
		{"reflowed", "def part_%[1]d(\n        items):\n    total_%[1]d = 0\n", "def part_%[1]d():\n    total_%[1]d = 0\n", true},
		{"elided", "def part_%[1]d(items):\n    # ...\n    return total_%[1]d\n", "def part_%[1]d():\n    # ...\n    return total_%[1]d\n", true},
		{"not found", "    total_%[1]d = 5\n    for item in items:\n", "    total_%[1]d = 1\n    for item in items:\n", false},
	} {
		var blocks []edit.Block
		for i := range 50 {
			blocks = append(blocks, edit.Block{Search: fmt.Sprintf(c.search, 40*i), Replace: fmt.Sprintf(c.replace, 40*i)})
		}
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(before)))
			for b.Loop() {
				if _, _, err := edit.ApplyBlocks("a.py", []byte(before), blocks); (err == nil) != c.ok {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParse measures reading a response of one mebibyte in each form. It is refused at the end, since it names no existing file.
func BenchmarkParse(b *testing.B) {
	body := strings.Repeat("    total += item.count * 2 < 3\n", 1<<20/32/2)
	for name, response := range map[string]string{
		"tags":    "<EDIT file=\"x.py\">\n<SEARCH>\n" + body + "</SEARCH>\n<REPLACE>\n" + body + "</REPLACE>\n</EDIT>\n",
		"markers": "x.py\n<<<<<<< SEARCH\n" + body + "=======\n" + body + ">>>>>>> REPLACE\n",
		"diff":    "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n" + strings.ReplaceAll(body, "    total", "-    total") + strings.ReplaceAll(body, "    total", "+    total"),
		"json":    `[{"path":"x.py","action":"modify","content":"` + strings.ReplaceAll(body+body, "\n", `\n`) + `"}]`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(response)))
			for b.Loop() {
				if _, _, err := edit.Apply(fuzzed(), []byte(response), ""); err == nil {
					b.Fatal("a file that is not there was edited")
				}
			}
		})
	}
}
