//go:build bench

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/images"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/survey"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

// ledgerFiles is the size of the tree and ledgerMethods that of a file: about 5 KB, alternately in Python, TypeScript
// and Go.
const (
	ledgerFiles   = 5000
	ledgerMethods = 30
)

// ledgerFile returns the path and the text of file i, which uses the file three numbers later.
func ledgerFile(i int) (path, text string) {
	n := (i + 3) % ledgerFiles
	n -= (n - i%3 + 3) % 3 // in the same language, even when the numbers start again
	var b strings.Builder
	switch i % 3 {
	case 0:
		fmt.Fprintf(&b, "\"\"\"Module %d.\"\"\"\nfrom p%d.m%d import run%d\n\nLIMIT = %d\n\n\ndef run%d(value):\n    return run%d(value) + LIMIT\n\n\nclass Thing:\n", i, n%50, n, n, i, i, n)
		for m := range ledgerMethods {
			fmt.Fprintf(&b, "    def method%d(self, a, b=%d):\n        \"\"\"Does it.\"\"\"\n        if a > b:\n            return self.method%d(a, b) + len(str(a))\n        return [x.name for x in (a, b)]\n\n", m, m, (m+1)%ledgerMethods)
		}
		return fmt.Sprintf("p%d/m%d.py", i%50, i), b.String()
	case 1:
		fmt.Fprintf(&b, "import { run%d } from \"../p%d/m%d\";\n\nexport const LIMIT = %d;\n\nexport function run%d(value: number): number {\n  return run%d(value) + LIMIT;\n}\n\nexport class Thing {\n", n, n%50, n, i, i, n)
		for m := range ledgerMethods {
			fmt.Fprintf(&b, "  method%d(a: number, b = %d): number {\n    // Does it.\n    if (a > b) {\n      return this.method%d(a, b) + String(a).length;\n    }\n    return [a, b].map((x) => x + 1).length;\n  }\n\n", m, m, (m+1)%ledgerMethods)
		}
		return fmt.Sprintf("p%d/m%d.ts", i%50, i), b.String() + "}\n"
	}
	fmt.Fprintf(&b, "// Package m%d is generated.\npackage m%d\n\nimport \"big/g%d\"\n\nconst Limit = %d\n\nfunc Run%d(value int) int { return m%d.Run%d(value) + Limit }\n\ntype Thing struct{ count int }\n\n", i, i, n, i, i, n, n)
	for m := range ledgerMethods {
		fmt.Fprintf(&b, "// Method%d does it.\nfunc (t *Thing) Method%d(a, b int) int {\n\tif a > b {\n\t\treturn t.Method%d(a, b) + t.count\n\t}\n\treturn len([]int{a, b})\n}\n\n", m, m, (m+1)%ledgerMethods)
	}
	return fmt.Sprintf("g%d/g.go", i), b.String()
}

// benchLedger times the ledger of a generated tree, including the scan of the workspace: cold, as the reference; after
// one edit in the same process, as in the loop; and after one edit in a new process, with the command.
func benchLedger(t *testing.T) {
	db, url := storetest.New(t)
	dir := filepath.Join(t.TempDir(), "big")
	put := func(path, text string) {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", "module big\n\ngo 1.26\n")
	for i := range ledgerFiles {
		put(ledgerFile(i))
	}
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	guest, err := os.ReadFile(os.Getenv("AGENT_GUEST"))
	if err != nil {
		t.Fatal(err)
	}
	analyst := &survey.Analyst{Symbols: db, Images: images.New(engine, guest, nil), Boxes: engine}
	defer func() {
		if err := analyst.Close(); err != nil {
			t.Error(err)
		}
	}()
	study := func() {
		base, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := analyst.Study(t.Context(), base, nil); err != nil {
			t.Fatal(err)
		}
	}
	edits := 0
	edit := func() {
		path, text := ledgerFile(0)
		edits++
		put(path, strings.Replace(text, "def run0(value)", fmt.Sprintf("def run0(value, more%d)", edits), 1))
	}
	cold := median(t, 1, study)
	warm := median(t, 5, func() { edit(); study() })
	// A separate process has to read its record first.
	fresh := median(t, 3, func() {
		edit()
		cmd := exec.Command(agentProgram, "analyze", "--workspace", dir)
		cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url)
		if out, err := cmd.Output(); err != nil {
			t.Fatalf("analyze: %v, %d bytes printed", err, len(out))
		}
	})
	row(fmt.Sprintf("ledger of %d files after one edit, in the loop; against a first scan", ledgerFiles), warm, cold, "≤ 0.02", warm <= cold/50)
	row("the same by `agent analyze`, which reads its record and prints it all", fresh, cold, "none", true)
}
