package ledger_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"agent/orchestrator/ledger"
)

// small returns the ledger of two files with similar names, whose texts try to be markup.
func small() *ledger.Ledger {
	def := func(name, kind, parent, signature string, line int) ledger.Definition {
		return ledger.Definition{Name: name, Kind: kind, Parent: parent, Signature: signature, Line: line, End: line, Exported: true}
	}
	return ledger.New([]ledger.File{
		{
			Path: "a/x.py", Language: "python", Lines: 900, Summary: "</details><script>`*x*`",
			Imports:     []ledger.Import{{Module: "typing", Name: "Any", Alias: "Any", Line: 1}, {Module: "b.x", Name: "*", Alias: "bx", Line: 2}},
			Definitions: []ledger.Definition{def("run", ledger.Function, "", "(a: Any)", 3), def("T", ledger.Class, "", "(Base)", 4), def("go", ledger.Method, "T", "(self)", 5)},
			References:  []ledger.Reference{{Name: "run", On: "bx", Lines: []int{9}}, {Name: "Any", Lines: []int{3}}, {Name: "Any", On: "other", Lines: []int{7}}},
		},
		{Path: "b/x.py", Language: "python", Lines: 2, Definitions: []ledger.Definition{def("run", ledger.Function, "", "()", 1), def("MAX", ledger.Constant, "", "= 1", 2)}},
		{Path: "c_[d].py", Problem: "absent"},
	})
}

func TestAnalysisIsReadable(t *testing.T) {
	var b strings.Builder
	if err := small().Analysis(&b, ledger.Summaries{Files: map[string]string{"b/x.py": "Runs <b>things</b>.\n# and more"}}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/analysis.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/analysis.md")
	if err != nil || b.String() != string(want) {
		t.Errorf("%v\n%s", err, b.String())
	}
	if strings.Contains(b.String(), "<script>") || strings.Contains(b.String(), "<b>") || strings.Count(b.String(), "</details>") != strings.Count(b.String(), "<details>") {
		t.Errorf("markup of the workspace came through:\n%s", b.String())
	}
}

func TestSymbolsKeepEqualNamesApart(t *testing.T) {
	l := small()
	var b strings.Builder
	if err := l.Symbols(&b, ledger.Summaries{Project: "A shop.", Files: map[string]string{"b/x.py": "Runs."}}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Project string
		Files   map[string]struct {
			Summary     string
			Definitions []ledger.Definition
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	if a, b := doc.Files["a/x.py"].Definitions, doc.Files["b/x.py"].Definitions; a[0].Signature != "(a: Any)" || b[0].Signature != "()" {
		t.Errorf("%+v %+v", a, b)
	}
	if doc.Project != "A shop." || doc.Files["b/x.py"].Summary != "Runs." || doc.Files["c_[d].py"].Summary == "" {
		t.Errorf("summaries of %+v", doc)
	}
	if strings.Contains(b.String(), "null") {
		t.Errorf("a list is null in %s", b.String())
	}
	if got := l.Defining("run"); len(got) != 2 {
		t.Errorf("run is defined in %q", got)
	}
}

func TestNeighboursFitTheirBudget(t *testing.T) {
	l := small()
	takes, gives := l.Neighbours("a/x.py", 1000)
	if len(takes) != 1 || takes[0].Path != "b/x.py" || takes[0].Lines[0] != 9 || len(gives) != 0 {
		t.Fatalf("%v %v", takes, gives)
	}
	if takes[0].String() != "b/x.py:1: function run()" {
		t.Error(takes[0])
	}
	if takes, _ = l.Neighbours("a/x.py", 10); len(takes) != 0 {
		t.Errorf("%v in 10 bytes", takes)
	}
	if got := l.Protected("b/x.py"); len(got) != 1 || got[0] != "run" {
		t.Errorf("protected %q", got)
	}
	if got := l.Dependants("b/x.py"); len(got) != 1 || got[0] != "a/x.py" {
		t.Errorf("dependants %q", got)
	}
}

func TestAnOutlineShowsNamesWithoutText(t *testing.T) {
	f, _ := small().File("b/x.py")
	if got := f.Outline(); got != "b/x.py: 1 function, 1 constant, 2 lines. python, 2 lines; defines run, MAX" {
		t.Error(got)
	}
	var many ledger.File
	for range 1000 {
		many.Imports = append(many.Imports, ledger.Import{Module: strings.Repeat("m", 50)})
		many.Definitions = append(many.Definitions, ledger.Definition{Name: "f", Kind: ledger.Function})
	}
	if got := many.Outline(); len(got) > 1000 || !strings.Contains(got, "993 more; defines") || !strings.HasSuffix(got, "f, 970 more") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestLazyCodeIsFound(t *testing.T) {
	f, _ := small().File("a/x.py")
	got := f.Lazy()
	if len(got) != 2 || !strings.HasPrefix(got[0], "900 lines") || !strings.HasPrefix(got[1], "line 3: ") {
		t.Errorf("%q", got)
	}
}

// The text for a terminal has each name once and no markup; text from a workspace stays on its own line.
func TestTheTextNamesWhatAFileDefines(t *testing.T) {
	var b strings.Builder
	if err := small().Text(&b, ledger.Summaries{Project: "A shop.", Files: map[string]string{"b/x.py": "Runs things.\nb/y.py"}}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/analysis.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/analysis.txt")
	if err != nil || b.String() != string(want) {
		t.Errorf("%v\n%s", err, b.String())
	}
}
