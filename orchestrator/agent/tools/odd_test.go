package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/ledger"
)

// A path that names a file means that file alone, not every file whose name begins with it.
func TestASearchStaysWhereItIsSentTo(t *testing.T) {
	def := []ledger.Definition{{Name: "x", Kind: ledger.Constant, Line: 1, End: 1}}
	b := bench(t, map[string]string{"a.ts": "x = 1\n", "a.tsx": "x = 2\n", "a.ts.bak": "x = 3\n", "lib/x.py": "x = 4\n", "lib2/x.py": "x = 5\n", "link": "->lib"},
		ledger.File{Path: "a.ts", Definitions: def}, ledger.File{Path: "a.tsx", Definitions: def}, ledger.File{Path: "lib/x.py", Definitions: def}, ledger.File{Path: "lib2/x.py", Definitions: def})
	for _, c := range []struct{ call, want string }{
		{`search {"text": "x", "path": "a.ts"}`, "a.ts:1: x = 1\n"},
		{`search {"text": "x", "path": "lib"}`, "lib/x.py:1: x = 4\n"},
		{`search {"text": "x", "path": "lib/"}`, "lib/x.py:1: x = 4\n"},
		{`search {"symbol": "x", "path": "a.ts"}`, "a.ts:1: constant x\n"},
		{`search {"symbol": "x", "path": "lib"}`, "lib/x.py:1: constant x\n"},
		{`search {"text": "x", "path": "link"}`, "! link is a symlink to lib, and is not followed"},
		{`search {"text": "x", "path": "/etc"}`, "! /etc is not there"},
		{`search {"text": "x", "path": "../x"}`, "! ../x is not there"},
		{`search {"text": "x", "path": "x.py"}`, "! x.py is not there; of that name there is lib/x.py, lib2/x.py"},
		{`search {"text": "x", "symbol": "x"}`, `! give one of "text" and "symbol"`},
	} {
		if got := shown(call(t, b, c.call)); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.call, got, c.want)
		}
	}
}

func TestASearchFindsWhatIsThere(t *testing.T) {
	b := bench(t, map[string]string{
		"dos.txt": "a = 1;\r\nb = 2;\r\n", "latin.txt": "caf\xe9 needle\n", "last.txt": "no end needle", "uml.txt": "GRÖSSE\n", "wide.txt": strings.Repeat("é", 150) + "needle\n", "nul.bin": "needle\x00\n",
	})
	for _, c := range []struct{ call, want string }{
		{`search {"text": ";$", "pattern": true}`, "dos.txt:1: a = 1;\ndos.txt:2: b = 2;\n"},
		{`search {"text": "größe", "ignore_case": true}`, "no line matches\n"},
		{`search {"text": "grösse", "ignore_case": true}`, "uml.txt:1: GRÖSSE\n"},
		{`search {"text": "A = 1;", "ignore_case": true}`, "dos.txt:1: a = 1;\n"},
		{`search {"text": ".", "path": "last.txt"}`, "no line matches\n"},
		{`search {"text": "needle", "path": "last.txt"}`, "last.txt:1: no end needle\n"},
		{`search {"text": "needle", "path": "latin.txt"}`, "no line matches\n"},
		{`search {"text": "needle", "path": "wide.txt"}`, "wide.txt:1: …" + strings.Repeat("é", 50) + "needle\n"},
		{`search {"text": "a = 1;\nb"}`, "no line matches\n"},
		{`search {"symbol": "x"}`, "! nothing is known of symbols here: search for text"},
	} {
		if got := shown(call(t, b, c.call)); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.call, got, c.want)
		}
	}
}

// The subject of a call is one short line, whatever the arguments are.
func TestTheSubjectOfACall(t *testing.T) {
	tools := For(bench(t, nil))
	for _, c := range []struct{ tool, arguments, want string }{
		{"read", `{"path": "a.py", "from": 3}`, "a.py"},
		{"search", `{"symbol": "", "text": "a\n\tb   c"}`, "a b c"},
		{"rename", `{"to": "b.py", "from": "a.py"}`, "a.py"},
		{"note", `{"text": "` + strings.Repeat("é", 50) + `"}`, strings.Repeat("é", 30)},
		{"note", `{"text": "x` + strings.Repeat("é", 50) + `"}`, "x" + strings.Repeat("é", 29)},
		{"read", `{"path": 7}`, ""},
		{"read", `{"answer": 7}`, ""},
		{"read", `{}`, ""},
		{"read", `null`, ""},
		{"read", `[1]`, ""},
		{"read", `{"path": "a`, ""},
		{"list", ``, ""},
	} {
		tool, ok := Find(tools, c.tool)
		if got := tool.Subject(c.arguments); !ok || got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
	if tool, ok := Find(tools, "grep"); ok || tool.Name != "" {
		t.Errorf("there is a tool %+v", tool)
	}
}

// These arguments are valid JSON but match no schema.
func TestOddArguments(t *testing.T) {
	for _, c := range []struct{ call, want string }{
		{`read {"path": "b", "path": "a"}`, "a, 1 lines\nx\n"},
		{`read {"Path": "a"}`, `! read: it has no argument "Path"; call it as {"path": string?, "from": integer?, "to": integer?, "answer": integer?}`},
		{`read {"path": "a", "from": -5, "to": -1}`, "a, 1 lines\nx\n"},
		{`read {"path": "a", "from": 9223372036854775807}`, "! a has 1 lines: there are none from 9223372036854775807 to 1"},
		{`read {"path": "a", "from": 9223372036854775808}`, `! read: "from" has to be a integer; call it as {"path": string?, "from": integer?, "to": integer?, "answer": integer?}`},
		{`read {"path": "  a  "}`, "!   a   cannot be read: path   a  : a part begins or ends with a space or ends with a dot, which some systems drop"},
		{`read {"path": "a/"}`, "a, 1 lines\nx\n"},
		{`read {"path": "d/../a"}`, "a, 1 lines\nx\n"},
		{`read {"path": "/work"}`, "! /work cannot be read: path /work: it is absolute: write it relative to the workspace"},
		{`read {"answer": -1, "path": "a"}`, "a, 1 lines\nx\n"},
		{`list null`, "a 1\n"},
		{`list {"path": "/work/"}`, "a 1\n"},
		{`list {"name": "É"}`, "no file has it in its path\n"},
		{`note {"text": "` + strings.Repeat("z", 2000) + `", "` + strings.Repeat("k", 100) + `": 1}`, `! note: it has no argument "` + strings.Repeat("k", 40) + `"; call it as {"text": string}`},
	} {
		if got := shown(call(t, bench(t, map[string]string{"a": "x"}), c.call)); got != c.want {
			t.Errorf("%.100s\n got %q\nwant %q", c.call, got, c.want)
		}
	}
}

// No argument of an edit creates or empties a file by accident.
func TestAnEditOfNothingIsRefused(t *testing.T) {
	for _, text := range []string{
		`edit {"path": "a.py", "old": "", "new": "x"}`, `edit {"path": "", "old": "x", "new": "y"}`, `edit {"path": ".", "old": "x", "new": "y"}`,
		`edit {"path": "a.py", "old": "\n", "new": ""}`, `edit {"path": "a.py", "old": "nowhere", "new": "y", "all": true}`, `delete {"path": ""}`, `delete {"path": "."}`, `delete {"path": "d"}`,
		`create {"path": "", "content": "x"}`, `create {"path": "d", "content": "x"}`, `create {"path": "a.py/b", "content": "x"}`, `create {"path": "a\u0000b", "content": "x"}`,
		`rename {"from": "a.py", "to": "a.py"}`, `rename {"from": "a.py", "to": "d/x"}`, `rename {"from": "d", "to": "e"}`, `rename {"from": "", "to": "e"}`, `rename {"from": "a.py", "to": "../e"}`,
	} {
		b := bench(t, map[string]string{"a.py": "x = 1\n", "d/x": "x\n"})
		answer := call(t, b, text)
		if !answer.Failed || !b.Draft.Changes().Empty() || !strings.HasPrefix(answer.Text, "nothing was applied") {
			t.Errorf("%s: %+v\n%s", text, answer, b.Draft.Changes().Diff())
		}
	}
}

// A file that was changed on disk in the meantime is left alone; other files remain readable.
func TestAFileThatChangedOnDiskIsLeftAlone(t *testing.T) {
	b := bench(t, map[string]string{"a.py": "x = 1\n", "b.py": "x = 2\n", "empty/f": ""})
	if err := os.WriteFile(filepath.Join(b.Draft.Now().Root, "a.py"), []byte("x = 100\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ call, want string }{
		{`read {"path": "a.py"}`, "! a.py was changed by somebody else meanwhile: leave it alone"},
		{`search {"text": "x = "}`, "b.py:1: x = 2\n"},
		{`read {"path": "b.py"}`, "b.py, 1 lines\nx = 2\n"},
	} {
		if got := shown(call(t, b, c.call)); got != c.want {
			t.Errorf("%s: %q, want %q", c.call, got, c.want)
		}
	}
	if got := call(t, b, `edit {"path": "a.py", "old": "x = 1", "new": "x = 2"}`); !got.Failed || !strings.HasPrefix(got.Text, "nothing was applied: ") || !strings.Contains(got.Text, "a.py") {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(filepath.Join(b.Draft.Now().Root, "b.py")); err != nil {
		t.Fatal(err)
	}
	if got := call(t, b, `read {"path": "b.py"}`); !got.Failed || !strings.HasPrefix(got.Text, "b.py ") {
		t.Errorf("%+v", got)
	}
}

// Head shows whole lines, up to the last byte of the limit.
func TestHeadShowsWholeLines(t *testing.T) {
	for _, c := range []struct {
		text    string
		from, n int
		shown   string
		next    int
	}{
		{"", 1, 10, "", 1},
		{"", 2, 10, "", 2},
		{"a", 1, 2, "a\n", 2},
		{"a\nb\n", 1, 4, "a\nb\n", 3},
		{"a\nb\n", 1, 3, "a\n", 2},
		{"a\nb", 2, 10, "b\n", 3},
		{"a\nb\n", 3, 10, "", 3},
		{"a\nb\n", 9, 10, "", 9},
		{"\n\n\n", 1, 2, "\n\n", 3},
		{"abcdef\nx\n", 1, 4, "abcd […]\n", 2},
		{"éé\n", 1, 3, "é […]\n", 2},
	} {
		if shown, next := Head(c.text, c.from, c.n); shown != c.shown || next != c.next {
			t.Errorf("%q from %d, %d bytes: %q, %d", c.text, c.from, c.n, shown, next)
		}
	}
	whole := strings.Repeat("x", MaxAnswer)
	if got := (&Bench{}).Keep(1, Answer{Text: whole}); got.Text != whole || got.Head != "" {
		t.Errorf("an answer that just fits became %d bytes: %s", len(got.Text), got.Head)
	}
}

// Read-only tools run concurrently, and notes and answers may arrive at the same time.
func TestABenchIsSafeForConcurrentUse(t *testing.T) {
	b := shop(t)
	var all sync.WaitGroup
	for i := range 8 {
		for _, text := range []string{
			`read {"path": "shop/tax.py"}`, `search {"symbol": "rate"}`, `search {"text": "rate"}`, `list {}`, fmt.Sprintf(`note {"text": "n%d"}`, i), fmt.Sprintf(`create {"path": "n%d.py", "content": "x\n"}`, i),
		} {
			all.Go(func() {
				name, arguments, _ := strings.Cut(text, " ")
				tool, _ := Find(For(b), name)
				answer, err := tool.Run(t.Context(), b, arguments)
				if err != nil || answer.Failed {
					t.Errorf("%s: %+v, %v", text, answer, err)
				}
				b.Keep(i, Answer{Text: strings.Repeat("long\n", MaxAnswer)})
			})
		}
	}
	all.Wait()
	if len(b.Notes()) != 8 || len(b.Draft.Changes().Changes) != 8 {
		t.Errorf("%d notes, %d changes", len(b.Notes()), len(b.Draft.Changes().Changes))
	}
}

// A tool's schema has the same bytes in every question.
func TestASchemaIsTheSameEachTime(t *testing.T) {
	for _, tool := range All() {
		first := tool.Schema()
		if again := tool.Schema(); !json.Valid(first) || string(first) != string(again) {
			t.Errorf("%s: %s and %s", tool.Name, first, again)
		}
	}
}

// An answer of a single endless line cannot be continued by line numbers, so the model is not told to do so.
func TestAnEndlessLineIsShownInPart(t *testing.T) {
	for head, want := range map[string]string{"": "one line, of which this is the beginning", "exit 1": "exit 1; one line, of which this is the beginning"} {
		got := (&Bench{}).Keep(1, Answer{Head: head, Text: strings.Repeat("é", MaxAnswer)})
		if got.Head != want || !strings.HasSuffix(got.Text, "é […]\n") || len(got.Text) > MaxAnswer+10 {
			t.Errorf("%q: %d bytes, %s", head, len(got.Text), got.Head)
		}
	}
	two := (&Bench{}).Keep(2, Answer{Text: strings.Repeat("x", MaxAnswer) + "\nend\n"})
	if two.Head != `2 lines; read on by {"answer": 2, "from": 2}` {
		t.Errorf("with a line behind: %s", two.Head)
	}
}
