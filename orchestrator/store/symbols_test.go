package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
)

// symbols reads the files of the ledger with their documents in one form.
func symbols(t *testing.T, db *store.DB, dir string) map[string]string {
	t.Helper()
	files, err := db.Symbols(t.Context(), dir)
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
	files := map[string]store.SymbolFile{
		"a.py": {"s1", []byte(`{"n":1}`)}, "b.py": {"s2", []byte(`{"n":2}`)}, "c é.py": {"s3", []byte(`{"n":3}`)},
	}
	must(t, a.SaveSymbols(t.Context(), shop, files, nil))
	must(t, a.SaveSymbols(t.Context(), "/other", files, nil))
	must(t, b.SaveSymbols(t.Context(), shop, map[string]store.SymbolFile{"b.py": {"s4", []byte(`{"n":4}`)}}, []string{"c é.py", "d.py", "\xff\x00"}))
	if d := cmp.Diff(map[string]string{"a.py": `s1 {"n":1}`, "b.py": `s4 {"n":4}`}, symbols(t, a, shop)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if got := symbols(t, a, "/other"); len(got) != 3 {
		t.Errorf("another workspace has %v", got)
	}
}

func TestALedgerOfManyFilesIsKept(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	files := map[string]store.SymbolFile{}
	doc := []byte(`{"language":"go","definitions":["` + strings.Repeat("x", 10_000) + `"]}`)
	for i := range 500 { // several batches, the last one not full
		files[fmt.Sprintf("f%04d.go", i)] = store.SymbolFile{SHA256: fmt.Sprint(i), Doc: doc}
	}
	must(t, db.SaveSymbols(t.Context(), shop, files, nil))
	got, err := db.Symbols(t.Context(), shop)
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
	must(t, db.SaveSymbols(t.Context(), shop, map[string]store.SymbolFile{
		"a.py": {"s1", []byte(`{"language":"python","definitions":[
			{"name":"Shop","kind":"class","parent":"","line":3,"signature":"class Shop"},
			{"name":"sell","kind":"method","parent":"Shop","line":9,"signature":"sell(self, n: int\u0000\ud800` + "\xff" + `) -> None"},
			{"kind":"nameless"}, "text", 7, null, {"name":"odd","line":"nine"}]}`)},
		"b.py": {"s2", []byte(`{"definitions":null}`)}, "c.py": {"s3", []byte(`[{"definitions":1}]`)}, "d.py": {"s4", []byte(`"text"`)},
		"e.py": {"s5", []byte(`null`)}, "f.py": {"s6", []byte("{\"definitions\":[{\"name\":\"mended\xff\"}]}")},
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
		err := db.SaveSymbols(t.Context(), shop, map[string]store.SymbolFile{path: {"s", []byte(doc)}}, nil)
		if err == nil {
			t.Errorf("%q was taken", path)
		}
	}
	if got := symbols(t, db, shop); len(got) != 0 {
		t.Errorf("kept were %v", got)
	}
}
