package analyze

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/orchestrator/report"
)

// aDocument returns a report with more details than are shown by default.
func aDocument() Document {
	half := 0.5
	doc := Document{Workspace: "/shop", Snapshot: "d1", Fast: true}
	row := report.Row{Analyzer: "tests", Status: report.Fail, Score: &half, Summary: "3 passed", Details: []report.Detail{}, Unmeasured: []string{}}
	for i := range 8 {
		row.Details = append(row.Details, report.Detail{Status: report.Fail, File: "t.py", Line: i + 1, Message: "it fails", Next: "fix it"})
	}
	doc.Report = report.Report{Score: &half, Rows: []report.Row{row, {Analyzer: "build", Status: report.Unknown, Details: []report.Detail{}, Unmeasured: []string{"nothing ran"}}}}
	return doc
}

// A person sees a few details in colour, a pipe the same ones without colour, and a program all of them.
func TestAReportIsPrintedForWhoReadsIt(t *testing.T) {
	t.Parallel()
	p := cmdlinetest.NewPerson(t, map[string]string{"PAGER": "cat"})
	c := command{p.Line}
	if err := c.printReport(t.Context(), aDocument(), false, false, false); err != nil {
		t.Fatal(err)
	}
	p.Sees(t, "and 3 more", 1)
	if shown := ansi.Strip(p.Screen()); !strings.Contains(shown, "fail    tests") || !strings.Contains(shown, "not measured: nothing ran") {
		t.Errorf("%s", shown)
	}
	for name, s := range map[string]struct {
		named, markdown, asJSON bool
		has, hasNot             string
	}{
		"a pipe":   {false, false, false, "and 3 more; see all with --only tests", "\x1b"},
		"named":    {true, false, false, "t.py:8: it fails", "more;"},
		"markdown": {false, true, false, "## tests\n\n- **fail** t.py:1: it fails — fix it\n", "\x1b"},
		"json":     {false, false, true, `"analyzer": "build"`, "—"},
	} {
		line := cmdlinetest.Unattended("")
		var out bytes.Buffer
		line.Stdout = &out
		if err := (command{line}).printReport(t.Context(), aDocument(), s.named, s.markdown, s.asJSON); err != nil || !strings.Contains(out.String(), s.has) || strings.Contains(out.String(), s.hasNot) {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
		if s.asJSON {
			var doc map[string]any
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc["fast"] != true || doc["workspace"] != "/shop" || len(doc["analyzers"].([]any)) != 2 {
				t.Errorf("%v: %v", err, doc)
			}
		}
	}
}
