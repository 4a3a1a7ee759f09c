package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/survey"
)

// reader names the scanner of these tests.
const reader = "scanner 1"

// symbols reads the files of the ledger, with their documents in a normalized form.
func symbols(t *testing.T, db *store.DB, dir string) map[string]string {
	t.Helper()
	sums, err := db.SymbolSums(t.Context(), dir, reader)
	must(t, err)
	files, err := db.Symbols(t.Context(), dir, reader, append(slices.Collect(maps.Keys(sums)), "never.py"))
	must(t, err)
	got := map[string]string{}
	for path, f := range files {
		var doc any
		must(t, json.Unmarshal(f.Doc, &doc))
		text, err := json.Marshal(doc)
		must(t, err)
		got[path] = f.SHA256 + " " + string(text)
	}
	return got
}

func TestOnlyChangedFilesOfTheLedgerAreReplaced(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	if got := symbols(t, a, shop); len(got) != 0 {
		t.Errorf("at first there are %v", got)
	}
	files := map[string]survey.SymbolFile{
		"a.py": {SHA256: "s1", Doc: []byte(`{"n":1}`)}, "b.py": {SHA256: "s2", Doc: []byte(`{"n":2}`)}, "c é.py": {SHA256: "s3", Doc: []byte(`{"n":3}`)},
	}
	must(t, a.SaveSymbols(t.Context(), shop, reader, files, nil))
	must(t, a.SaveSymbols(t.Context(), "/other", reader, files, nil))
	must(t, b.SaveSymbols(t.Context(), shop, reader, map[string]survey.SymbolFile{"b.py": {SHA256: "s4", Doc: []byte(`{"n":4}`)}}, []string{"c é.py", "d.py", "\xff\x00"}))
	if d := cmp.Diff(map[string]string{"a.py": `s1 {"n":1}`, "b.py": `s4 {"n":4}`}, symbols(t, a, shop)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if got := symbols(t, a, "/other"); len(got) != 3 {
		t.Errorf("another workspace has %v", got)
	}
}

// A file that another scanner read is absent until this scanner has read it too.
func TestScannersAreToldApart(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	file := func(sum string) map[string]survey.SymbolFile {
		return map[string]survey.SymbolFile{"a.py": {SHA256: sum, Doc: []byte("{}")}}
	}
	must(t, db.SaveSymbols(t.Context(), shop, "scanner 0", file("s0"), nil))
	if got := symbols(t, db, shop); len(got) != 0 {
		t.Errorf("another scanner's are %v", got)
	}
	must(t, db.SaveSymbols(t.Context(), shop, reader, file("s1"), nil))
	if got := symbols(t, db, shop); fmt.Sprint(got) != "map[a.py:s1 {}]" {
		t.Errorf("got %v", got)
	}
	old, err := db.SymbolSums(t.Context(), shop, "scanner 0")
	must(t, err)
	if len(old) != 0 {
		t.Errorf("the old row is still there: %v", old)
	}
}

// A model's summary takes precedence over the scanner's, and counts as outdated once the file changes.
func TestSummariesAreKeptByFile(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	must(t, db.SaveSymbols(t.Context(), shop, reader, map[string]survey.SymbolFile{
		"a.py": {SHA256: "s1", Doc: []byte(`{"language":"python","lines":3,"summary":"Own words.","definitions":[{"name":"f"}]}`)},
		"b.py": {SHA256: "s2", Doc: []byte(`{"summary":"Own words."}`)},
		"c.py": {SHA256: "s3", Doc: []byte(`{"problem":"over 1 MiB","lines":"x","definitions":7}`)},
	}, nil))
	said := map[string]survey.Summary{"": {Text: "A shop.", Model: "m/1"}, "a.py": {SHA256: "s1", Text: "Sells\x00.", Model: "m/1"}, "d.py": {SHA256: "s4", Text: "Old.", Model: "m/1"}}
	must(t, db.SaveSummaries(t.Context(), shop, said, nil))
	must(t, db.SaveSummaries(t.Context(), shop, said, nil))
	must(t, db.SaveSummaries(t.Context(), shop, map[string]survey.Summary{"b.py": {SHA256: "s1", Text: "Buys.", Model: "m/2"}}, []string{"d.py", "b.py"}))
	got, err := db.Summaries(t.Context(), shop)
	must(t, err)
	if d := cmp.Diff(map[string]survey.Summary{
		"": {Text: "A shop.", Model: "m/1"}, "a.py": {SHA256: "s1", Text: "Sells\uFFFD.", Model: "m/1"}, "b.py": {SHA256: "s1", Text: "Buys.", Model: "m/2"},
	}, got); d != "" {
		t.Errorf("summaries (-want +got):\n%s", d)
	}
	want(t, db, `select path, language, lines, definitions, summary, described_by, outdated, problem from v_analysis order by path nulls first`,
		"∅|∅|∅|0|A shop.|m/1|false|∅", "a.py|python|3|1|Sells\uFFFD.|m/1|false|∅", "b.py|∅|∅|0|Buys.|m/2|true|∅", "c.py|∅|∅|0|∅|∅|∅|over 1 MiB")
}

func TestALedgerOfManyFilesIsKept(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	files := map[string]survey.SymbolFile{}
	doc := []byte(`{"language":"go","definitions":["` + strings.Repeat("x", 10_000) + `"]}`)
	for i := range 500 { // several batches, the last one incomplete
		files[fmt.Sprintf("f%04d.go", i)] = survey.SymbolFile{SHA256: fmt.Sprint(i), Doc: doc}
	}
	must(t, db.SaveSymbols(t.Context(), shop, reader, files, nil))
	got, err := db.Symbols(t.Context(), shop, reader, slices.Collect(maps.Keys(files)))
	must(t, err)
	for path, f := range files {
		if got[path].SHA256 != f.SHA256 || len(got[path].Doc) < len(doc) {
			t.Fatalf("%s is %s with %d bytes", path, got[path].SHA256, len(got[path].Doc))
		}
	}
	if len(got) != len(files) {
		t.Errorf("%d files, want %d", len(got), len(files))
	}
}

func TestSymbolsAreRowsForAReader(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	must(t, db.SaveSymbols(t.Context(), shop, reader, map[string]survey.SymbolFile{
		"a.py": {SHA256: "s1", Doc: []byte(`{"language":"python","definitions":[
			{"name":"Shop","kind":"class","parent":"","line":3,"signature":"class Shop"},
			{"name":"sell","kind":"method","parent":"Shop","line":9,"signature":"sell(self, n: int\u0000\ud800` + "\xff" + `) -> None"},
			{"kind":"nameless"}, "text", 7, null, {"name":"odd","line":"nine"}]}`)},
		"b.py": {SHA256: "s2", Doc: []byte(`{"definitions":null}`)}, "c.py": {SHA256: "s3", Doc: []byte(`[{"definitions":1}]`)}, "d.py": {SHA256: "s4", Doc: []byte(`"text"`)},
		"e.py": {SHA256: "s5", Doc: []byte(`null`)}, "f.py": {SHA256: "s6", Doc: []byte("{\"definitions\":[{\"name\":\"mended\xff\"}]}")},
	}, nil))
	want(t, db, `select path, language, name, kind, parent, line, signature from v_symbols order by path, name collate "C"`,
		"a.py|python|Shop|class|∅|3|class Shop",
		"a.py|python|odd|∅|∅|∅|∅",
		"a.py|python|sell|method|Shop|9|sell(self, n: int\uFFFD\uFFFD\uFFFD) -> None",
		"f.py|∅|mended\uFFFD|∅|∅|∅|∅")
}

func TestALedgerFileThatCannotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for path, doc := range map[string]string{"a\xff": "{}", "a\x00": "{}", "broken": "{", "empty": ""} {
		err := db.SaveSymbols(t.Context(), shop, reader, map[string]survey.SymbolFile{path: {SHA256: "s", Doc: []byte(doc)}}, nil)
		if err == nil {
			t.Errorf("%q was taken", path)
		}
	}
	if got := symbols(t, db, shop); len(got) != 0 {
		t.Errorf("kept were %v", got)
	}
}
