package document

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/lex"

	"pgregory.net/rapid"
)

// mixedLine draws lines that differ only in space, punctuation or comments.
func mixedLine() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"alpha = 1", "  alpha = 1", "alpha = 1 ", "alpha = 2", "beta", "", " ", "# note", "# other note", "}",
		"\u201cq\u201d", `"q"`, "caf\u00e9", "cafe\u0301", "beta # note", "beta # other", "\"beta # note",
	})
}

// Locating a block by one of its lines gives the same places as the numbers of all its lines.
func TestSightingsFindWhatNumbersFind(t *testing.T) {
	t.Parallel()
	byAnchor := 0
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SliceOfN(mixedLine(), 1, 10).Draw(t, "file")
		search := rapid.SliceOfN(mixedLine(), 1, 3).Draw(t, "search")
		text := []byte(strings.Join(file, "\n") + "\n")
		for _, k := range []ViewKind{whole, TrimmedEnd, Loose} {
			v, w := New("a.py", text).View(k), New("a.py", text).View(k)
			got, ok := v.byAnchor(search, Most)
			if !ok {
				continue
			}
			byAnchor++
			if want, _ := w.build().Find(search, Most); !slices.Equal(got, want) {
				t.Fatalf("%q in %q by view %d: %v, and by numbers %v", search, file, k, got, want)
			}
		}
	})
	if byAnchor == 0 {
		t.Error("no draw was settled by one line")
	}
}

// If lines are said to be absent, no view finds them, with or without an index. HasLine agrees with the view.
func TestNothingFoundIsSaidToStandNowhere(t *testing.T) {
	t.Parallel()
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SliceOfN(mixedLine(), 1, 10).Draw(t, "file")
		search := rapid.SliceOfN(mixedLine(), 1, 4).Draw(t, "search")
		for _, busy := range []bool{false, true} {
			d := New("a.py", []byte(strings.Join(file, "\n")+"\n"))
			d.PreferIndex = busy
			nowhere, codeAbsent := d.nowhere(search), d.codeAbsent(search)
			for k := range viewKinds {
				places, _ := d.View(k).build().Find(search, 1)
				if len(places) > 0 && (codeAbsent || nowhere && k < LooseCode) {
					t.Fatalf("view %d finds %q in %q, which is said to stand nowhere (busy %v)", k, search, file, busy)
				}
			}
			if lex.Blank(search[0]) {
				continue
			}
			if got, want := d.HasLine(search[0]), d.View(Loose).has(search[0]); got != want {
				t.Fatalf("%q holds %q: %v, want %v (busy %v)", file, search[0], got, want, busy)
			}
			if nowhere && codeAbsent {
				told++
			}
		}
	})
	if told == 0 {
		t.Error("nothing was said to stand nowhere")
	}
}

// Comments of the file that a block leaves out never make it absent; code that is missing or interrupted does.
func TestCodeStandsNowhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, file, search string
		want                     bool
	}{
		{"there", "a.py", "a = 1|b = 2", "a = 1|b = 2", false},
		{"a line that is not there", "a.py", "a = 1|b = 2", "a = 1|b = 3", true},
		{"a line between", "a.py", "a = 1|c = 3|b = 2", "a = 1|b = 2", true},
		{"beyond the ends", "a.py", "b = 22|a = 1", "a = 1|b = 22", true},
		{"a comment between", "a.py", "a = 1|# c||b = 2", "a = 1|b = 2", false},
		{"a comment after code", "a.py", "a = 1 # c|b = 2 # d", "a = 1|b = 2", false},
		{"a comment that only SEARCH has", "a.py", "a = 1|b = 2", "a = 1 # c|b = 2", false},
		{"other quotes", "a.py", "a = \u201cq\u201d|b = 2", "a = \"q\"|b = 2", false},
		{"a mark in a text", "a.py", "s = '''|# c|# c|e", "s = '''|# c|# c|e", false},
		{"a comment of several lines between", "a.go", "a()|/*|c|*/|b()", "a()|b()", false},
		{"no comment of several lines in the file", "a.go", "a()|c()|b()", "a()|b()", true},
		{"only comments", "a.py", "a = 1", "# c", false},
	} {
		d := New(c.path, []byte(strings.ReplaceAll(c.file, "|", "\n")+"\n"))
		if got := d.codeAbsent(strings.Split(c.search, "|")); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A line with very many places does not help: the anchor says so, and the block is found anyway.
func TestAFrequentLineIsNoSighting(t *testing.T) {
	t.Parallel()
	file := strings.Repeat("alpha = 1\nb\n", 2*Rare) + "alpha = 1\nc\n"
	d := New("a.py", []byte(file))
	search := []string{"alpha = 1", "c"}
	if q := d.anchorOf(search); q.known {
		t.Errorf("%d places are taken for all of %d", len(q.at), 2*Rare+1)
	}
	if got := d.FindExact(search, Most); !slices.Equal(got, []int{4 * Rare}) {
		t.Errorf("found at %v, want %d", got, 4*Rare)
	}
}

// Anchors for very many blocks make the document index its lines.
func TestManyQuestionsMakeADocumentBusy(t *testing.T) {
	t.Parallel()
	d := New("a.py", []byte("alpha = 1\n"))
	for range ManyBlocks {
		d.anchorOf([]string{"alpha = 1"})
	}
	if d.PreferIndex {
		t.Errorf("busy after %d blocks", ManyBlocks)
	}
	if d.anchorOf([]string{"alpha = 1"}); !d.PreferIndex {
		t.Errorf("not busy after %d blocks", ManyBlocks+1)
	}
}

func TestTheScriptOfAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]script{
		"":                       scriptASCII,
		"plain text of a length": scriptASCII,
		"caf\u00e9, longer":      scriptPlain,
		"\xff\xfe":               scriptPlain,
		"a \u201cquoted\u201d":   scriptForms,
		"a\u00a0b":               scriptForms,
		"cafe\u0301":             scriptForms,
	} {
		d := New("", []byte(text))
		if first, again := d.script(), d.script(); first != want || again != want {
			t.Errorf("%q: %d, then %d, want %d", text, first, again, want)
		}
	}
}
