package sarif

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"agent/cmd/agent/internal/term"
	"agent/verify"
)

// FuzzSarif writes findings with arbitrary text, and reads them with another program's types. A tool's text stays text,
// in one result of its own.
func FuzzSarif(f *testing.F) {
	f.Add("a.py", 1, 2, "F401", "unused", "https://x/y", "import os")
	f.Add("../a b%.py", -1, 1<<40, "", "[x](http://y) {0} \x1b[31m\x00", "javascript:x", "\xff")
	f.Add("", 0, 0, "\xff", "\u202e", "::", "]]>")
	f.Fuzz(func(t *testing.T, file string, line, column int, rule, message, help, source string) {
		d := oneGate(verify.Gate{Name: "lint", Verdict: verify.Fail, Tool: "ruff 0.16.1", Findings: []verify.Finding{{
			File: file, Line: line, Column: column, Rule: rule, Message: message, Help: help, Source: source,
		}}})
		var text bytes.Buffer
		if err := term.PrintJSON(&text, New(d)); err != nil {
			t.Fatal(err)
		}
		var r sarif.Report
		if err := json.Unmarshal(text.Bytes(), &r); err != nil || len(r.Runs) != 1 || len(r.Runs[0].Results) != 1 {
			t.Fatalf("%v\n%s", err, &text)
		}
		if strings.ContainsAny(text.String(), "\x00\x1b") {
			t.Errorf("%q", &text)
		}
	})
}
