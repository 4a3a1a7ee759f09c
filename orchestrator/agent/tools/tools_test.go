package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/agent/draft"
	"agent/orchestrator/ledger"
	"agent/sandbox/workspace"
)

// bench returns a workbench on files.
func bench(t testing.TB, files map[string]string, symbols ...ledger.File) *Bench {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "->"); ok {
			if err := os.Symlink(target, full); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{Draft: draft.New(m)}
	if symbols != nil {
		b.Symbols = ledger.New(symbols)
	}
	return b
}

// call carries out one call, written as `read {"path": "a.py"}`.
func call(t testing.TB, b *Bench, text string) Answer {
	t.Helper()
	name, arguments, _ := strings.Cut(text, " ")
	tool, ok := Find(For(b), name)
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	answer, err := tool.Run(t.Context(), b, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// shown renders an answer for comparison, with a failure after an exclamation mark.
func shown(a Answer) string {
	if a.Failed {
		return "! " + a.Text
	}
	return strings.TrimPrefix(a.Head+"\n"+a.Text, "\n")
}

// shop returns a workbench in which every tool has something to find.
func shop(t testing.TB) *Bench {
	return bench(t, map[string]string{
		"shop/tax.py": "RATE = 19\n\n\ndef rate(price):\n    return price * RATE\n", "shop/cart.py": "from tax import rate\n\ntotal = rate(3)\n",
		"shop/logo.png": "\x89PNG\x00\x01", "shop/dos.txt": "a\r\nb\r\n", "empty.py": "", "docs/a b.md": "# Taxes\n", "latest": "->shop",
	}, ledger.File{Path: "shop/tax.py", Language: "python", Lines: 5, Definitions: []ledger.Definition{
		{Name: "RATE", Kind: ledger.Constant, Line: 1, End: 1, Signature: "= 19", Exported: true},
		{Name: "rate", Kind: ledger.Function, Line: 4, End: 5, Signature: "(price)", Exported: true},
	}}, ledger.File{
		Path: "shop/cart.py", Language: "python", Lines: 3,
		Imports:    []ledger.Import{{Module: "tax", Name: "rate", Alias: "rate", Line: 1}},
		References: []ledger.Reference{{Name: "rate", Lines: []int{3}}},
	})
}

func TestToolsAnswer(t *testing.T) {
	for _, c := range []struct{ call, want string }{
		{`read {"path": "shop/tax.py"}`, "shop/tax.py, 5 lines\nRATE = 19\n\n\ndef rate(price):\n    return price * RATE\n"},
		{`read {"path": "/work/shop/tax.py", "from": 4}`, "shop/tax.py, lines 4 to 5 of 5\ndef rate(price):\n    return price * RATE\n"},
		{`read {"path": "./shop/tax.py", "from": 1, "to": 1}`, "shop/tax.py, lines 1 to 1 of 5\nRATE = 19\n"},
		{`read {"path": "shop/tax.py", "to": 900}`, "shop/tax.py, 5 lines\nRATE = 19\n\n\ndef rate(price):\n    return price * RATE\n"},
		{`read {"path": "shop/tax.py", "from": 6}`, "! shop/tax.py has 5 lines: there are none from 6 to 5"},
		{`read {"path": "shop/dos.txt"}`, "shop/dos.txt, 2 lines\na\nb\n"},
		{`read {"path": "empty.py"}`, "empty.py is empty\n"},
		{`read {"path": "cart.py"}`, "! cart.py is not there; of that name there is shop/cart.py"},
		{`read {"path": "nothing.py"}`, "! nothing.py is not there"},
		{`read {"path": "shop"}`, "! shop is a directory: list shows what is in it"},
		{`read {"path": "shop/logo.png"}`, "! shop/logo.png is no text: 6 bytes"},
		{`read {"path": "latest"}`, "! latest is a symlink to shop, and is not followed"},
		{`read {"path": "latest/tax.py"}`, "! latest/tax.py is not there; of that name there is shop/tax.py"},
		{`read {}`, `! "path" is missing: name a file`},
		{`read {"answer": 7}`, "! answer 7 was not cut: all of it was shown"},
		{`list {}`, "docs/ 1 file\nempty.py 0\nlatest -> shop\nshop/ 4 files\n"},
		{`list {"path": "shop"}`, "cart.py 38\ndos.txt 6\nlogo.png 6\ntax.py 53\n"},
		{`list {"path": "."}`, "docs/ 1 file\nempty.py 0\nlatest -> shop\nshop/ 4 files\n"},
		{`list {"name": "TAX"}`, "shop/tax.py 53\n"},
		{`list {"path": "docs", "name": "tax"}`, "no file has it in its path\n"},
		{`list {"path": "shop/tax.py"}`, "! shop/tax.py is a file"},
		{`list {"path": "gone"}`, "! gone is not there"},
		{`search {"text": "rate("}`, "shop/cart.py:3: total = rate(3)\nshop/tax.py:4: def rate(price):\n"},
		{`search {"text": "RATE", "path": "shop/cart.py"}`, "no line matches\n"},
		{`search {"text": "RATE", "ignore_case": true, "path": "shop/cart.py"}`, "shop/cart.py:1: from tax import rate\nshop/cart.py:3: total = rate(3)\n"},
		{`search {"text": "^def .*:$", "pattern": true, "path": "/work/shop"}`, "shop/tax.py:4: def rate(price):\n"},
		{`search {"text": "(", "pattern": true}`, "! the pattern is none: error parsing regexp: missing closing ): `(`"},
		{`search {"text": "b", "path": "shop/dos.txt"}`, "shop/dos.txt:2: b\n"},
		{`search {"text": "x", "path": "shop/cart"}`, "! shop/cart is not there"},
		{`search {"text": "PNG"}`, "no line matches\n"},
		{`search {}`, `! give one of "text" and "symbol"`},
		{`search {"symbol": "rate"}`, "shop/tax.py:4: function rate(price)\n  used by shop/cart.py, line 1, 3\n"},
		{`search {"symbol": "rate", "path": "docs"}`, "! no definition of that name is known: search for it as text"},
		{`search {"symbol": "Tax.rate"}`, "! no definition of that name is known: search for it as text"},
		{`note {"text": " "}`, "! the note is empty"},
		{`note {"text": "rates are percent"}`, "noted\n"},
		{`finish {"summary": ""}`, "! the summary is empty: say what the change does"},
		{`finish {"summary": "all done"}`, `! nothing is changed yet: make the change, or finish with "nothing": true and say why there is nothing to change`},
		{`finish {"summary": "it is right already", "nothing": true}`, "finished\n"},
	} {
		if got := shown(call(t, shop(t), c.call)); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.call, got, c.want)
		}
	}
}

func TestChangesAreMadeOfTheDraftAlone(t *testing.T) {
	b := shop(t)
	for _, c := range []struct{ call, want string }{
		{`edit {"path": "shop/tax.py", "old": "RATE = 19", "new": "RATE = 21"}`, "applied: shop/tax.py, line 1\n"},
		{`edit {"path": "/work/shop/tax.py", "old": "    return price * RATE", "new": "    return price * RATE / 100"}`, "applied: shop/tax.py, line 5\n"},
		{`create {"path": "shop/new.py", "content": "n = 1\n"}`, "created shop/new.py\n"},
		{`rename {"from": "shop/cart.py", "to": "shop/basket.py"}`, "renamed shop/cart.py to shop/basket.py\n"},
		{`delete {"path": "docs/a b.md"}`, "deleted docs/a b.md\n"},
		{`read {"path": "shop/tax.py"}`, "shop/tax.py, 5 lines\nRATE = 21\n\n\ndef rate(price):\n    return price * RATE / 100\n"},
		{`list {}`, "empty.py 0\nlatest -> shop\nshop/ 5 files\n"},
		{`search {"text": "total"}`, "shop/basket.py:3: total = rate(3)\n"},
		{`search {"symbol": "RATE"}`, "shop/tax.py:1: constant RATE = 19 (before your changes: lines may have moved)\n"},
		{`finish {"summary": "nothing to do", "nothing": true}`, `! files are changed: finish without "nothing", or take the changes back first`},
	} {
		if got := shown(call(t, b, c.call)); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.call, got, c.want)
		}
	}
	if got := call(t, b, `finish {"summary": "taxes are 21 %"}`); got.Failed || got.Finished == nil || got.Finished.Summary != "taxes are 21 %" {
		t.Errorf("finish: %+v", got)
	}
	// The files on disk are unchanged.
	data, err := os.ReadFile(filepath.Join(b.Draft.Now().Root, "shop/tax.py"))
	if err != nil || !strings.HasPrefix(string(data), "RATE = 19\n") {
		t.Errorf("the workspace has %q, %v", data, err)
	}
}

func TestARefusalIsTheAnswer(t *testing.T) {
	b := bench(t, map[string]string{"a.py": "x = 1\ny = 2\nx = 1\n"})
	for _, c := range []struct {
		call string
		want []string
	}{
		{`edit {"path": "a.py", "old": "x = 1", "new": "x = 2"}`, []string{"nothing was applied", "ambiguous", "a.py"}},
		{`edit {"path": "a.py", "old": "y = 3", "new": "y = 4"}`, []string{"nothing was applied", "old not found in the file"}},
		{`edit {"path": "b.py", "old": "y = 3", "new": "y = 4"}`, []string{"nothing was applied", "b.py"}},
		{`edit {"path": "a.py", "old": "y = 2", "new": "y = 2"}`, []string{"nothing was applied"}},
		{`create {"path": "a.py", "content": "z\n"}`, []string{"nothing was applied", "a.py"}},
		{`create {"path": "../b.py", "content": "z\n"}`, []string{"nothing was applied", "../b.py"}},
		{`create {"path": "/etc/passwd", "content": "z\n"}`, []string{"nothing was applied", "/etc/passwd"}},
		{`create {"path": ".git/config", "content": "z\n"}`, []string{"nothing was applied", ".git"}},
		{`delete {"path": "b.py"}`, []string{"nothing was applied", "b.py"}},
		{`rename {"from": "b.py", "to": "c.py"}`, []string{"nothing was applied", "b.py"}},
		{`read {"path": "../../etc/passwd"}`, []string{"../../etc/passwd cannot be read"}},
		{`read {"path": "/etc/passwd"}`, []string{"/etc/passwd cannot be read"}},
		{`list {"path": ".."}`, []string{".. cannot be listed"}},
	} {
		answer := call(t, b, c.call)
		for _, want := range c.want {
			if !answer.Failed || !strings.Contains(answer.Text, want) {
				t.Errorf("%s: the answer lacks %q: %v\n%s", c.call, want, answer.Failed, answer.Text)
			}
		}
		// The refusal uses the words of the tool's caller, not those of someone who writes JSON.
		if strings.Contains(answer.Text, "oldText") || strings.Contains(answer.Text, "SEARCH") {
			t.Errorf("%s: %s", c.call, answer.Text)
		}
	}
	if got := call(t, b, `edit {"path": "a.py", "old": "x = 1", "new": "x = 2", "all": true}`); got.Failed {
		t.Errorf("at every place: %s", got.Text)
	}
	if !strings.Contains(b.Draft.Changes().Diff(), "+x = 2\n y = 2\n-x = 1\n+x = 2\n") {
		t.Errorf("the draft is\n%s", b.Draft.Changes().Diff())
	}
}

func TestWrongArgumentsAreAnsweredWithTheRightOnes(t *testing.T) {
	b := bench(t, map[string]string{"a.py": "x = 1\n"})
	const usage = `; call it as {"path": string?, "from": integer?, "to": integer?, "answer": integer?}`
	for _, c := range []struct{ call, want string }{
		{`read a.py`, "read: the arguments are not one JSON object" + usage},
		{`read ["a.py"]`, "read: the arguments are not one JSON object" + usage},
		{`read {"path": "a.py"} {"path": "b.py"}`, "read: the arguments are not one JSON object" + usage},
		{`read {"file": "a.py"}`, `read: it has no argument "file"` + usage},
		{`read {"path": 7}`, `read: "path" has to be a string` + usage},
		{`read {"path": null}`, `read: "path" has to be a string` + usage},
		{`read {"path": "a.py", "from": "1"}`, `read: "from" has to be a integer` + usage},
		{`read {"path": "a.py", "from": 1e99}`, `read: "from" has to be a integer` + usage},
		{`delete {}`, `delete: "path" is missing; call it as {"path": string}`},
	} {
		if got := call(t, b, c.call); !got.Failed || got.Text != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.call, got.Text, c.want)
		}
	}
}

func TestALongFileIsReadByItsOutlineAndByRange(t *testing.T) {
	var text strings.Builder
	f := ledger.File{Path: "long.py", Language: "python"}
	for i := range 6000 { // 300 KiB
		fmt.Fprintf(&text, "def function_%04d(value): return value + %010d\n", i, i)
		f.Definitions = append(f.Definitions, ledger.Definition{Name: fmt.Sprintf("function_%04d", i), Kind: ledger.Function, Line: i + 1, End: i + 1, Signature: "(value)"})
	}
	b := bench(t, map[string]string{"long.py": text.String(), "data.py": text.String(), "one.txt": strings.Repeat("é", 20000)}, f)
	got := call(t, b, `read {"path": "long.py"}`)
	if !strings.HasPrefix(got.Head, "long.py, 6000 lines, 312000 bytes: too long") || !strings.Contains(got.Text, "\n17-17: function function_0016(value)\n") ||
		!strings.HasSuffix(got.Head, "6000 definitions, of which the last 5790 are not shown. It defines") || len(got.Text) > MaxAnswer {
		t.Errorf("the outline has %d bytes: %s\n%.300s", len(got.Text), got.Head, got.Text)
	}
	got = call(t, b, `read {"path": "long.py", "from": 5000, "to": 5900}`)
	if got.Head != "long.py, lines 5000 to 5152 of 6000; read on from line 5153" || !strings.HasPrefix(got.Text, "def function_4999") || len(got.Text) > MaxAnswer || got.File != "long.py" {
		t.Errorf("the range has %d bytes: %s\n%.100s", len(got.Text), got.Head, got.Text)
	}
	if got := call(t, b, `read {"path": "data.py"}`); !strings.HasSuffix(got.Head, ". It begins") || !strings.HasPrefix(got.Text, "def function_0000") || len(got.Text) > MaxAnswer {
		t.Errorf("a file that is not in the ledger: %d bytes, %s\n%.200s", len(got.Text), got.Head, got.Text)
	}
	if got := call(t, b, `read {"path": "one.txt", "from": 1}`).Text; !strings.HasSuffix(got, " […]\n") || len(got) > MaxAnswer+10 {
		t.Errorf("one long line: %d bytes", len(got))
	}
	if got := call(t, b, `edit {"path": "long.py", "old": "def function_5555(value): return value + 0000005555", "new": "def function_5555(value): return value"}`); got.Failed {
		t.Error(got.Text)
	}
	if got := call(t, b, `read {"path": "long.py"}`).Head; !strings.HasSuffix(got, "It defines (before your changes: lines may have moved)") {
		t.Errorf("a changed file: %s", got)
	}
}

func TestAFileOf100MBIsNeitherReadNorSearched(t *testing.T) {
	b := bench(t, map[string]string{"a.py": "needle = 1\n", "huge.txt": ""})
	huge := filepath.Join(b.Draft.Now().Root, "huge.txt")
	if err := os.Truncate(huge, 100<<20); err != nil { // sparse, and therefore quick
		t.Fatal(err)
	}
	m, err := workspace.Scan(t.Context(), b.Draft.Now().Root, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b.Draft = draft.New(m)
	for call1, want := range map[string]string{
		`read {"path": "huge.txt"}`:                             "huge.txt has 104857600 bytes: a file of at most 2097152 is shown or edited",
		`search {"text": "needle"}`:                             "a.py:1: needle = 1\n[not looked into, as they are too large: huge.txt, 1 file in all]\n",
		`edit {"path": "huge.txt", "old": "needle", "new": ""}`: "nothing was applied",
	} {
		if got := call(t, b, call1).Text; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", call1, got)
		}
	}
}

func TestASearchShowsThePlacesAndCountsTheRest(t *testing.T) {
	b := bench(t, map[string]string{
		"many.txt": strings.Repeat("needle\n", 250), "zlong.txt": strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000),
	})
	got := call(t, b, `search {"text": "needle"}`).Text
	if strings.Count(got, "many.txt:") != 100 || !strings.HasSuffix(got, "[151 more lines, in 2 files in all: search in a directory, or for more]\n") {
		t.Errorf("%d lines, and at the end %q", strings.Count(got, "\n"), got[len(got)-100:])
	}
	if got := call(t, b, `search {"text": "needle", "path": "zlong.txt"}`).Text; !strings.Contains(got, "xneedley") || len(got) > 300 {
		t.Errorf("in a long line: %q", got)
	}
	// Other engines would take forever on this pattern.
	if got := call(t, b, `search {"text": "(x+x+)+needle", "pattern": true}`); got.Failed || !strings.Contains(got.Text, "zlong.txt:1:") {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tool, _ := Find(For(b), "search")
	if _, err := tool.Run(ctx, b, `{"text": "needle"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that nobody waits for: %v", err)
	}
}

func TestWhatWasCutIsReadOn(t *testing.T) {
	b := bench(t, nil)
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	if got := b.Keep(1, Answer{Text: "short\n"}); got != (Answer{Text: "short\n"}) {
		t.Errorf("a short answer became %+v", got)
	}
	first := b.Keep(2, Answer{Head: "exit 1", Text: text.String()})
	seen := first.Text
	if want := fmt.Sprintf(`exit 1; 3000 lines; read on by {"answer": 2, "from": %d}`, strings.Count(seen, "\n")+1); first.Head != want || len(seen) > MaxAnswer {
		t.Fatalf("what is shown has %d bytes: %q, want %q", len(seen), first.Head, want)
	}
	if b.Keep(3, Answer{Text: text.String()}).Head != strings.NewReplacer("exit 1; ", "", `"answer": 2`, `"answer": 3`).Replace(first.Head) {
		t.Error("one without a head")
	}
	for strings.Count(seen, "\n") < 3000 {
		got := call(t, b, fmt.Sprintf(`read {"answer": 2, "from": %d}`, strings.Count(seen, "\n")+1))
		if got.Failed || len(got.Text) > MaxAnswer || got.File != "" {
			t.Fatalf("%d bytes: %s", len(got.Text), got.Head)
		}
		seen += got.Text
	}
	if seen != text.String() {
		t.Error("the parts are not the answer")
	}
}

func TestNotesAreBounded(t *testing.T) {
	b := bench(t, nil)
	for range 60 {
		call(t, b, `note {"text": "`+strings.Repeat("é", 2000)+`"}`)
	}
	notes := b.Notes()
	if len(notes) != maxNotes || len(notes[0]) > maxNote || !strings.HasPrefix(notes[0], "éé") {
		t.Errorf("%d notes, the first of %d bytes", len(notes), len(notes[0]))
	}
}

// Every row has what vendors and models need.
func TestEveryToolIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range All() {
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		if err := json.Unmarshal(tool.Schema(), &schema); err != nil || schema.Type != "object" || len(schema.Properties) != len(tool.Fields) {
			t.Errorf("%s: %s, %v", tool.Name, tool.Schema(), err)
		}
		if seen[tool.Name] || tool.About == "" || tool.run == nil {
			t.Errorf("the row %s is not complete", tool.Name)
		}
		seen[tool.Name] = true
		for name, p := range schema.Properties {
			if p.Description == "" || (Field{Kind: p.Type}).fits(json.RawMessage(`[]`)) {
				t.Errorf("%s: the argument %s is not described", tool.Name, name)
			}
		}
		for _, name := range schema.Required {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("%s: %s is needed and unknown", tool.Name, name)
			}
		}
	}
}
