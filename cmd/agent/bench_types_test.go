//go:build bench

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// typedFiles is the number of files in the tree whose types are checked.
const typedFiles = 500

// typedFile returns the text of module i, which uses three earlier ones.
func typedFile(i int) string {
	var b strings.Builder
	b.WriteString("\"\"\"Module.\"\"\"\n\nfrom __future__ import annotations\n\nfrom dataclasses import dataclass, field\n")
	var used []int
	for _, n := range []int{i / 2, i / 3, i - 1} {
		if n >= 0 && n < i && (len(used) == 0 || n != used[0]) {
			used = append(used, n)
			fmt.Fprintf(&b, "from m%d import Item%d, total%d\n", n, n, n)
		}
	}
	fmt.Fprintf(&b, "\n\n@dataclass\nclass Item%d:\n    name: str\n    count: int = 1\n    prices: dict[str, float] = field(default_factory=dict)\n", i)
	for m := range 5 {
		fmt.Fprintf(&b, "\n    def price%d(self, key: str, more: float = %d) -> float:\n        return self.prices.get(key, more) * self.count\n", m, m)
	}
	fmt.Fprintf(&b, "\n\ndef total%d(items: list[Item%d]) -> float:\n    return sum(item.price1(key) for item in items for key in sorted(item.prices))\n", i, i)
	for _, n := range used {
		fmt.Fprintf(&b, "\n\ndef both%d(a: list[Item%d], b: Item%d) -> float:\n    return total%d(a) + b.price2(\"a\")\n", n, n, i, n)
	}
	return b.String()
}

// typedTree writes the tree.
func typedTree(t *testing.T) (dir string) {
	dir = t.TempDir()
	for i := range typedFiles {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("m%d.py", i)), []byte(typedFile(i)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// benchTypes times the types gate on a change of one line when mypy knows the workspace from an earlier run, against
// the same tree at a place that it has never seen. The findings of the unpatched tree are known in both.
func benchTypes(t *testing.T) {
	_, url := storetest.New(t)
	patch := filepath.Join(t.TempDir(), "patch.xml")
	edit := "<EDIT file=\"m250.py\">\n<SEARCH>\n    count: int = 1\n</SEARCH>\n<REPLACE>\n    count: int = 2\n</REPLACE>\n</EDIT>\n"
	if err := os.WriteFile(patch, []byte(edit), 0o644); err != nil {
		t.Fatal(err)
	}
	gate := func(dir string) time.Duration {
		cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", dir, "--patch", patch, "--no-promote", "--json")
		cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url)
		out, err := cmd.Output()
		var doc run.Document
		if err == nil {
			err = json.Unmarshal(out, &doc)
		}
		if err != nil {
			t.Fatalf("run: %v\n%s", err, out)
		}
		for _, g := range doc.Candidates[0].Gates {
			if g.Name == "types" {
				return time.Duration(g.Seconds * float64(time.Second))
			}
		}
		t.Fatalf("no types gate:\n%s", out)
		return 0
	}
	known := typedTree(t)
	gate(known)
	var warm, cold []time.Duration
	for range 3 {
		cold = append(cold, gate(typedTree(t)))
		warm = append(warm, gate(known))
	}
	figure, reference := middle(warm), middle(cold)
	row("types, 500 files, one line, warm / cold", figure, reference, "≤ 0.20", figure*5 <= reference)
}
