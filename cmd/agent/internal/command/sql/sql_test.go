package sql

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/store/query"
)

// aResult returns a result with everything that can be difficult.
func aResult() ([]query.Column, [][]*string) {
	text := func(s string) *string { return &s }
	return []query.Column{
			{Name: "run", Type: "text"},
			{Name: "seconds", Type: "double precision"},
			{Name: "promoted", Type: "boolean"},
			{Name: "edits", Type: "jsonb"},
			{Name: "run", Type: "text"},
			{Name: "price", Type: "numeric(10,2)"},
		}, [][]*string{
			{text("1k3"), text("10.5"), text("t"), text(`{"block": 1}`), text("say \"hi\", you\nthere"), text("1.50")},
			{text("1k4 \x1b[2J"), text("NaN"), text("false"), nil, nil, nil},
		}
}

func printRows(t *testing.T, p rowPrinter, columns []query.Column, rows [][]*string) {
	t.Helper()
	if err := p.head(columns); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := p.row(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
}

func TestCSVIsReadBackAsItWas(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	columns, rows := aResult()
	printRows(t, &csvRows{w: csv.NewWriter(&out)}, columns, rows)
	got, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"run", "seconds", "promoted", "edits", "run", "price"},
		{"1k3", "10.5", "t", `{"block": 1}`, "say \"hi\", you\nthere", "1.50"},
		{"1k4 \x1b[2J", "NaN", "false", "", "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONKeepsTypesAndOrder(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	columns, rows := aResult()
	printRows(t, &jsonRows{w: &out}, columns, rows)
	termtest.Golden(t, "sql.json", out.String())
	var got []map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"run": "1k3", "seconds": 10.5, "promoted": true, "edits": map[string]any{"block": 1.0}, "run_2": "say \"hi\", you\nthere", "price": 1.5},
		{"run": "1k4 \x1b[2J", "seconds": "NaN", "promoted": false, "edits": nil, "run_2": nil, "price": nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnEmptyResultIsStillADocument(t *testing.T) {
	t.Parallel()
	columns, _ := aResult()
	var asJSON, asCSV, asTable bytes.Buffer
	printRows(t, &jsonRows{w: &asJSON}, columns, nil)
	printRows(t, &csvRows{w: csv.NewWriter(&asCSV)}, columns, nil)
	printRows(t, &tableRows{w: &asTable}, columns, nil)
	if asJSON.String() != "[]\n" || asCSV.String() != "run,seconds,promoted,edits,run,price\n" || !strings.HasPrefix(asTable.String(), "run  seconds") {
		t.Errorf("got %q, %q, %q", &asJSON, &asCSV, &asTable)
	}
}

func TestTablesAlign(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	columns, rows := aResult()
	printRows(t, &tableRows{w: &out}, columns, rows)
	termtest.Golden(t, "sql-table.txt", out.String())
	if strings.Contains(out.String(), "\x1b") {
		t.Error("an escape sequence reaches the terminal")
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{10, 20, 80} {
		var out bytes.Buffer
		head, rows := aResult()
		printRows(t, &tableRows{w: &out, columns: columns}, head, rows)
		for _, line := range strings.Split(out.String(), "\n") {
			if w := ansi.StringWidth(line); w > columns {
				t.Errorf("%d cells in a terminal of %d: %q", w, columns, line)
			}
		}
	}
}

func TestLongResultsArePrintedWhileTheyCome(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &tableRows{w: &out}
	if err := p.head([]query.Column{{Name: "n", Type: "integer"}}); err != nil {
		t.Fatal(err)
	}
	for i := range measuredRows + 1 {
		n := fmt.Sprint(i)
		if err := p.row([]*string{&n}); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(out.String(), "\n"); got != measuredRows+2 {
		t.Errorf("%d lines before the end, want %d", got, measuredRows+2)
	}
}

func TestEveryViewHasANewestRow(t *testing.T) {
	t.Parallel()
	views := []query.View{
		{Name: "v_a", Columns: []query.Column{{Name: "run", Type: "text"}, {Name: "since", Type: "timestamp with time zone"}, {Name: "until", Type: "date"}, {Name: "n", Type: "integer"}}},
		{Name: "v_b", Columns: []query.Column{{Name: "gate", Type: "text"}}},
	}
	for name, want := range map[string]string{
		"v_a": "select * from v_a order by since desc nulls last, run desc, n desc limit 101", "v_b": "select * from v_b limit 101",
	} {
		if got, err := newest(views, name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
