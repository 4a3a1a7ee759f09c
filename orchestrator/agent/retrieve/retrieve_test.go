package retrieve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/ledger"
)

// file returns a ledger's entry for a file: its summary, definitions and references; references begin with "=".
func file(path, summary string, names ...string) ledger.File {
	f := ledger.File{Path: path, Language: "python", Lines: 10, Summary: summary}
	for i, n := range names {
		if ref, ok := strings.CutPrefix(n, "="); ok {
			f.References = append(f.References, ledger.Reference{Name: ref, Lines: []int{i + 1}})
			continue
		}
		f.Definitions = append(f.Definitions, ledger.Definition{Name: n, Kind: ledger.Function, Line: i + 1, End: i + 1, Exported: true})
	}
	return f
}

// shop returns a workspace of a few files, in which tests and callers use the same names.
func shop() (*ledger.Ledger, []string) {
	cart := file("shop/cart.py", "The cart.", "Cart", "add_line", "=rate_for", "=round_up")
	cart.Imports = []ledger.Import{{Module: "shop.tax", Name: "rate_for", Alias: "rate_for", Line: 1}}
	book := ledger.New([]ledger.File{
		file("shop/__init__.py", ""),
		cart,
		file("shop/tax.py", "Tax rates by country.", "rate_for", "RateTable"),
		file("shop/stock.py", "Counts what is in store.", "level", "reserve", "=round_up"),
		file("shop/money.py", "Amounts without rounding errors.", "Money", "round_up"),
		file("tests/test_tax.py", "", "test_rate_for", "=rate_for"),
		file("web/httpServer.py", "", "HTTPServer", "parse_header"),
		file("docs/conf.py", "Settings of the documentation."),
	})
	return book, book.Paths()
}

// The words of a goal decide which file ranks first.
func TestTheBestFileComesFirst(t *testing.T) {
	t.Parallel()
	book, paths := shop()
	for goal, want := range map[string]string{
		"`rate_for` must know Norway":                          "shop/tax.py",
		"RateTable.rate_for() returns None":                    "shop/tax.py",
		"fix shop/cart.py":                                     "shop/cart.py",
		"stock.py counts twice":                                "shop/stock.py",
		"rounding of money is wrong":                           "shop/money.py",
		"taxes of a country that is not listed":                "shop/tax.py",
		"reserving more than is in store":                      "shop/stock.py",
		"the HTTP server does not parse headers":               "web/httpServer.py",
		"add a test of the tax rates":                          "tests/test_tax.py",
		"lines that are added to a cart twice":                 "shop/cart.py",
		strings.Repeat("x ", 20<<10) + "unread behind the cut": "docs/conf.py",
	} {
		hits := Rank(book, nil, paths, goal)
		if len(hits) != len(paths) || hits[0].Path != want {
			t.Errorf("%.60s: %v, want %s", goal, hits[:min(3, len(hits))], want)
		}
	}
}

// A model's summary is searched in place of the file's own, with the same weight.
func TestSummariesAreSearched(t *testing.T) {
	t.Parallel()
	book, paths := shop()
	hits := Rank(book, map[string]string{"shop/money.py": "Currencies and exchange."}, paths, "another exchange of currencies")
	if hits[0].Path != "shop/money.py" || hits[1].Score > hits[0].Score/2 {
		t.Errorf("%v", hits[:2])
	}
}

// Files connected with the best ones rank before unconnected ones.
func TestConnectedFilesFollow(t *testing.T) {
	t.Parallel()
	book, paths := shop()
	hits := Rank(book, nil, paths, "Norway's `RateTable`")
	at := func(p string) int { return slices.IndexFunc(hits, func(h Hit) bool { return h.Path == p }) }
	cart := hits[at("shop/cart.py")]
	if at("shop/tax.py") != 0 || cart.Score <= 0 || at("shop/cart.py") > at("docs/conf.py") {
		t.Errorf("%v", hits)
	}
	if near := Connected(book, "shop/tax.py"); len(near) != 1 || near[0].Path != "shop/cart.py" || near[0].Score != 2 {
		t.Errorf("connected with tax.py: %v", near)
	}
	if near := Connected(book, "shop/cart.py"); len(near) != 1 || near[0].Why != "is used by shop/cart.py" {
		t.Errorf("connected with cart.py: %v", near)
	}
}

// Without any clue the order stays unchanged; an empty list is not an error.
func TestWithoutAnythingToGoBy(t *testing.T) {
	t.Parallel()
	book, paths := shop()
	slices.Reverse(paths)
	for _, goal := range []string{"", "make it better", "\xff\xfe", "🙂"} {
		for i, h := range Rank(book, nil, paths, goal) {
			if h.Path != paths[i] || h.Score != 0 || h.Why != "" {
				t.Errorf("%q: %d is %v, want %s", goal, i, h, paths[i])
			}
		}
	}
	if hits := Rank(ledger.New(nil), nil, nil, "x y z"); len(hits) != 0 {
		t.Errorf("%v", hits)
	}
	// Paths that are in no ledger are found by their own words.
	if hits := Rank(ledger.New(nil), nil, []string{"a.py", "lib/price_table.py"}, "the price table"); hits[0].Path != "lib/price_table.py" {
		t.Errorf("%v", hits)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"priceTable":             "pric tabl",
		"price_tables":           "pric tabl",
		"HTTPServer2":            "http server2",
		"Größe der Datei":        "größ der datei",
		"stopping stopped stops": "stop stop stop",
		"a-b.c":                  "a b c",
		"":                       "",
	} {
		var got []string
		split(text, func(w string) { got = append(got, w) })
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for goal, want := range map[string]string{
		"Cart.total() and price_table, not Words. Or e.g. this": "[Cart price_table total]",
		"`rate` or \"level\" but not \"two words\"":             "[level rate]",
		"std::vector in httpServer":                             "[httpServer std vector]",
	} {
		var got []string
		for n := range names(goal) {
			got = append(got, n)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != want {
			t.Errorf("%q: %v, want %s", goal, got, want)
		}
	}
	for text, want := range map[string]bool{"a.py": true, "in a.py.": true, "data.py": false, "a.pyc": false, "my-a.py": false, "(a.py)": true, "data.py a.py": true} {
		if bounded(text, "a.py") != want {
			t.Errorf("%q names a.py: %v", text, !want)
		}
	}
}
