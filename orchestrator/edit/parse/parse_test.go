package parse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit/problem"
)

// These are parts of responses, one in each form.
const (
	tagPair     = "<SEARCH>\na\n</SEARCH>\n<REPLACE>\nb\n</REPLACE>\n"
	tagBlock    = "<EDIT file=x>\n" + tagPair + "</EDIT>\n"
	markerBlock = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
	plainDiff   = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	jsonBlock   = "```json\n[{\"path\":\"x\",\"action\":\"delete\"}]\n```\n"
)

// Edits inside a thought are never applied, in any form, before or after the real edits.
func TestEditsInAThoughtAreNeverRead(t *testing.T) {
	t.Parallel()
	forms := map[string]struct{ response, want string }{
		"tags":    {tagBlock, `edit x "a">"b"`},
		"markers": {"x.py\n" + markerBlock, `edit x.py "a">"b"`},
		"diff":    {plainDiff, `edit x "a">"b" @1 trusted`},
		"json":    {jsonBlock, `delete x`},
	}
	for outer, c := range forms {
		for inner, tried := range forms {
			for _, name := range []string{"THOUGHT", "think", "Thinking"} {
				thought := "<" + name + ">\nfirst try:\n" + tried.response + "</" + name + ">\n"
				if got := listed(Parse([]byte(thought + c.response))); got != c.want {
					t.Errorf("%s in a %s before %s: %s", inner, name, outer, got)
				}
				if outer == "json" {
					continue // a JSON patch may have prose before it, and its fence ends it
				}
				if got := listed(Parse([]byte(c.response + "\n" + thought))); got != c.want {
					t.Errorf("%s in a %s after %s: %s", inner, name, outer, got)
				}
			}
			if got := listed(Parse([]byte("<THOUGHT>\n" + tried.response + "</THOUGHT>\n"))); got != problem.KindParse {
				t.Errorf("%s in a thought and nothing else: %s", inner, got)
			}
		}
	}
}

func TestASecondFormIsRefusedNotLeftOut(t *testing.T) {
	t.Parallel()
	forms := map[string]string{
		"tags": tagBlock, "a bare pair": tagPair, "a deletion": "<DELETE_FILE y/>\n", "markers": "x.py\n" + markerBlock, "a diff": plainDiff,
		"a diff of git": "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "a bare hunk": "@@ -1 +1 @@\n-a\n+b\n",
	}
	family := func(name string) string {
		switch name {
		case "tags", "a bare pair", "a deletion":
			return "tags"
		case "markers":
			return name
		}
		return "diff"
	}
	for first, a := range forms {
		for second, b := range forms {
			want := problem.KindParse
			if family(first) == family(second) {
				continue
			}
			if got := listed(Parse([]byte(a + "\nAnd then:\n\n" + b))); got != want {
				t.Errorf("%s, then %s: %s, want %s", first, second, got, want)
			}
		}
	}
}

func TestThoughtsThatAreContentHideNoBlock(t *testing.T) {
	t.Parallel()
	opens := strings.Replace(markerBlock, "b\n", "<think>\n", 1)
	closes := strings.Replace(markerBlock, "b\n", "</think>\n", 1)
	checkForms(t, []formCase{
		{"markers", "x.py\n" + opens + markerBlock + closes, "edit x.py \"a\">\"<think>\"\nedit x.py \"a\">\"b\"\nedit x.py \"a\">\"</think>\""},
		{
			"a diff", strings.Replace(plainDiff, "+b", "+<think>", 1) + plainDiff + strings.Replace(plainDiff, "+b", "+</think>", 1),
			"edit x \"a\">\"<think>\" @1 trusted\nedit x \"a\">\"b\" @1 trusted\nedit x \"a\">\"</think>\" @1 trusted",
		},
		{"not closed before markers", "<think>\nso\nx.py\n" + markerBlock + markerBlock, "edit x.py \"a\">\"b\"\nedit x.py \"a\">\"b\""},
		{"closed on its line", "<think>so</think>\nx.py\n" + markerBlock, `edit x.py "a">"b"`},
		{"closed on its line, and another after the edit", "<think>so</think>\nx.py\n" + markerBlock + "<think>\nso\n</think>\n", `edit x.py "a">"b"`},
		{"a block right after its end", "x.py\n" + markerBlock + "<think>\nso\n</think>" + markerBlock, "edit x.py \"a\">\"b\"\nedit x.py \"a\">\"b\""},
		{"a name in it names nothing", "<think>\ny.py\n</think>\n" + markerBlock, `edit  "a">"b"`},
		{"a name after it", "<think>\ny.py\n</think>\nx.py\n" + markerBlock, `edit x.py "a">"b"`},
		{"an edit right after its end", "x.py\n" + markerBlock + "<think>\nso\n</think><EDIT file=x>\n" + tagPair, problem.KindParse},
	})
}

func TestAttributesOfEveryTag(t *testing.T) {
	t.Parallel()
	const pair = "<SEARCH>a</SEARCH><REPLACE>b</REPLACE>"
	edit := func(attrs string) string { return "<EDIT" + attrs + ">" + pair + "</EDIT>" }
	checkForms(t, []formCase{
		{"double quotes", edit(` file="a b/c.py"`), `edit a b/c.py "a">"b"`},
		{"single quotes", edit(` file='it"s.py'`), `edit it"s.py "a">"b"`},
		{"an angle in quotes", edit(` file="a>b"`), `edit a>b "a">"b"`},
		{"a slash at the end", edit(` file="a/b/" `), `edit a/b/ "a">"b"`},
		{"other names for it", edit(` filepath=x`), `edit x "a">"b"`},
		{"several attributes", edit(` lang="py" line='3' name=x`), `edit x "a">"b" line=3`},
		{"the first of two", edit(` file=x path=y`), `edit x "a">"b"`},
		{"tabs between", edit("\tfile\t=\tx"), `edit x "a">"b"`},
		{"lower case", strings.ToLower(edit(" FILE=x")), `edit x "a">"b"`},
		{"empty", edit(` file=""`), `edit  "a">"b"`},
		{"only others", edit(` line=3`), `edit  "a">"b" line=3`},
		{"on EDIT and on SEARCH", `<EDIT file=x><SEARCH file=y>a</SEARCH><REPLACE>b</REPLACE></EDIT>`, `edit x "a">"b"`},
		{"from the line below", "<EDIT>\n`shop/x.py`\n" + pair + "</EDIT>", `edit shop/x.py "a">"b"`},
		{"the attribute before the line", "<EDIT file=y>\nshop/x.py\n" + pair + "</EDIT>", `edit y "a">"b"`},
		{"of a new file", `<CREATE_FILE filename='x' mode="7">a</CREATE_FILE>`, `create x "a\n"`},
		{"none of a new file", `<CREATE_FILE>a</CREATE_FILE>`, problem.KindParse},
		{"of a deletion", `<DELETE_FILE file_path=x />`, `delete x`},
		{"a deletion without an end", "<DELETE_FILE x>\n<DELETE_FILE y>\n", "delete x\ndelete y"},
		{"a quote that does not close", "<EDIT file=\"x>\n" + tagPair, `edit  "a">"b"`},
	})
}

func TestBodiesBetweenTheirTags(t *testing.T) {
	t.Parallel()
	edit := func(search, replace string) string {
		return "<EDIT file=x>\n<SEARCH>" + search + "</SEARCH>\n<REPLACE>" + replace + "</REPLACE>\n</EDIT>\n"
	}
	checkForms(t, []formCase{
		{"glued on one side", edit("  a", "\n  b\n"), `edit x "  a">"  b"`},
		{"glued, of several lines", edit("a\n  b", "c\n  d\n"), `edit x "a|  b">"c|  d"`},
		{"closing tags indented", edit("\n  a\n  ", "\n  b\n  "), `edit x "  a">"  b"`},
		{"trailing space", edit("\na  \n", "\nb\t\n"), "edit x \"a  \">\"b\\t\""},
		{"blank lines", edit("\n\na\n", "\nb\n\n"), `edit x "|a">"b|"`},
		{"only a blank line", edit("\na\n", "\n\n"), `edit x "a">""`},
		{"fences within the tags stay for the search", edit("\n```\na\n```\n", "\nb\n"), "edit x \"```|a|```\">\"b\""},
		{"fences around the pair", "<EDIT file=x>\n```python\n" + tagPair + "```\n</EDIT>", `edit x "a">"b"`},
		{"a fence between end and end", "<EDIT file=x><SEARCH>a</SEARCH><REPLACE>\nb </REPLACE> c\n</REPLACE>\n```\n</EDIT>", `edit x "a">"b </REPLACE> c"`},
		{"entities are text", edit("a &lt; b", "a &amp; b"), `edit x "a &lt; b">"a &amp; b"`},
		{"a conflict of git", edit("\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n", "\nb\n"), `edit x "<<<<<<< HEAD|a|=======|b|>>>>>>> x">"b"`},
		{"markers", edit("\na\n", "\n"+markerBlock), `edit x "a">"<<<<<<< SEARCH|a|=======|b|>>>>>>> REPLACE"`},
		{"a diff", edit("\na\n", "\n--- a\n+++ b\n"), `edit x "a">"--- a|+++ b"`},
		{"a tag within a line", edit("a", "say <SEARCH> now"), `edit x "a">"say <SEARCH> now"`},
		{"an EDIT within a line", edit("a", "say <EDIT> now"), problem.KindParse},
		{"a pair on its own lines", edit("a", "\n"+tagPair), problem.KindTruncated},
		{"a closing tag of another kind on its line", edit("\na\n</DELETE_FILE>\n", "b"), problem.KindParse},
		{"a thought in it", edit("a", "\n<THOUGHT>\nb\n</THOUGHT>\n"), `edit x "a">"<THOUGHT>|b|</THOUGHT>"`},
		{"both alone", "<EDIT file=x><SEARCH/><REPLACE/></EDIT>", `edit x "">""`},
		{"a new file in a fence", "<CREATE_FILE x.py>\n```python\na\n```\n</CREATE_FILE>", `create x.py "a\n"`},
		{"a new text in a fence", "<CREATE_FILE x.md>\n```\na\n```\n</CREATE_FILE>", "create x.md \"```\\na\\n```\\n\""},
		{"two new files of one tag", "<CREATE_FILE x>\na\n<CREATE_FILE y>\nb\n</CREATE_FILE>", problem.KindTruncated},
	})
}

func TestAMarkerIsALineOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		c     byte
		word  string
		width int
	}{
		{"<<<<<<< SEARCH", '<', " SEARCH", 7},
		{"<<<<< SEARCH", '<', " SEARCH", 5},
		{"<<<<<<<<<SEARCH", '<', " SEARCH", 9},
		{"<<<<<<< SEARCH \t\r", '<', " SEARCH", 7},
		{"=====", '=', "", 5},
		{"=========", '=', "", 9},
		{">>>>>>> REPLACE", '>', " REPLACE", 7},
		{"<<<< SEARCH", '<', " SEARCH", 0},
		{"<<<<<<<<<< SEARCH", '<', " SEARCH", 0},
		{" <<<<<<< SEARCH", '<', " SEARCH", 0},
		{"<<<<<<< SEARCH x", '<', " SEARCH", 0},
		{"<<<<<<<  SEARCH", '<', " SEARCH", 0},
		{"<<<<<<< search", '<', " SEARCH", 0},
		{"<<<<<<<", '<', " SEARCH", 0},
		{"<<<<<<< HEAD", '<', " SEARCH", 0},
		{"==== =", '=', "", 0},
		{"==========", '=', "", 0},
		{"", '=', "", 0},
	} {
		width, ok := marker(c.line, c.c, c.word)
		if ok != (c.width > 0) || ok && width != c.width {
			t.Errorf("%q: %d wide, %v; want %d", c.line, width, ok, c.width)
		}
	}
}

// markers returns a marker block of the given width, with the two halves divided by ">".
func markers(width int, halves string) string {
	s, r, _ := strings.Cut(halves, ">")
	lines := func(s string) string {
		if s == "" {
			return ""
		}
		return strings.ReplaceAll(s, "|", "\n") + "\n"
	}
	return fill('<', width) + " SEARCH\n" + lines(s) + fill('=', width) + "\n" + lines(r) + fill('>', width) + " REPLACE\n"
}

func TestMarkerBlocksOfEveryWidth(t *testing.T) {
	t.Parallel()
	for width := 3; width <= 11; width++ {
		want := `edit  "a|b">"c"`
		if width < 5 || width > 9 {
			want = problem.KindParse
		}
		if got := listed(Parse([]byte(markers(width, "a|b>c")))); got != want {
			t.Errorf("width %d: %s, want %s", width, got, want)
		}
		for inner := 5; inner <= 9 && want != problem.KindParse; inner++ {
			heading := "title|" + fill('=', inner)
			got, want := listed(Parse([]byte(markers(width, heading+">c")))), fmt.Sprintf("edit  %q>%q", heading, "c")
			if inner == width {
				want = problem.KindParse // which of the two lines divides is not decidable
			}
			if got != want {
				t.Errorf("a heading %d wide in markers %d wide: %s, want %s", inner, width, got, want)
			}
		}
	}
	checkForms(t, []formCase{
		{"nothing old", markers(7, ">b"), `edit  "">"b"`},
		{"nothing new", markers(7, "a>"), `edit  "a">""`},
		{"blank lines count", markers(7, "|a|>|"), `edit  "|a|">"|"`},
		{"two widths", markers(7, "a>b") + markers(9, "c>d"), "edit  \"a\">\"b\"\nedit  \"c\">\"d\""},
		{"an end of another width", strings.Replace(markers(7, "a>b"), ">>>>>>> R", ">>>>>> R", 1), problem.KindTruncated},
		{"a name four lines above", "x.py\none\ntwo\nthree\n" + markers(7, "a>b"), `edit  "a">"b"`},
		{"a name past blank lines", "x.py\n\n\n" + markers(7, "a>b"), `edit x.py "a">"b"`},
	})
}

func TestLinesOfAHunkAndWhatFollows(t *testing.T) {
	t.Parallel()
	const head = "--- a/x\n+++ b/x\n"
	const first, second = `edit x "a">"b" @1 trusted`, `edit y "c">"d" @1 trusted`
	hunk := plainDiff
	checkForms(t, []formCase{
		{"a number too large", head + "@@ -99999999999999999999 +1 @@\n-a\n+b\n", `edit x "a">"b" @0 trusted`},
		{"a removed line of dashes, counted", head + "@@ -1,2 +1 @@\n-a\n--- b\n+++ c\n", `edit x "a|-- b">"++ c" @1 trusted`},
		{"a signature, counted", hunk + "-- \n2.39.5\n", first},
		{"a signature without space", hunk + "--\nsent by mail\n", first},
		{"two dashes that are removed", head + "@@ -1,2 +1 @@\n-a\n--\n+b\n", `edit x "a|-">"b" @1 trusted`},
		{"prose after it", hunk + "That is all.\n", first},
		{"prose between files", hunk + "\nAnd:\n\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n", first + "\n" + second},
		{"a fence a file", "```diff\n" + hunk + "```\n\n```diff\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n```\n", first + "\n" + second},
		{"subversion", "Index: x\n" + fill('=', 60) + "\n--- x\t(revision 1)\n+++ x\t(working copy)\n@@ -1 +1 @@\n-a\n+b\n", first},
		{"text after the numbers", head + "@@ -1 +1 @@ func f() {\n-a\n+b\n", first},
		{"only added", head + "@@ -1,0 +2 @@\n+b\n", `edit x "">"b" @1 trusted`},
		{"only removed", head + "@@ -1 +0,0 @@\n-a\n", `edit x "a">"" @1 trusted`},
		{"new without newline", head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", `edit x "a|b">"a|c" @1 new-no-eol trusted`},
		{"both changed, without newline", head + "@@ -1 +1 @@\n-b\n\\ No newline\n+c\n\\ No newline\n", `edit x "b">"c" @1 no-eol trusted`},
		{"a mark twice", head + "@@ -1 +1 @@\n-b\n\\ No newline\n\\ No newline\n+c\n", `edit x "b">"c" @1 old-no-eol trusted`},
		{"context of the next file unmarked", head + "@@ -1,5 +1,5 @@\n-a\n+b\nprose\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n", problem.KindParse},
		{"unmarked, nothing after", head + "@@ -1,5 +1,5 @@\n-a\n+b\nprose\n", `edit x "a">"b" @1`},
	})
}

func TestHeadersOfADiff(t *testing.T) {
	t.Parallel()
	const hunk = "@@ -1 +1 @@\n-a\n+b\n"
	git := func(lines ...string) string { return "diff --git " + strings.Join(lines, "\n") + "\n" }
	checkForms(t, []formCase{
		{"quoted rename", git("a/x b/y", `rename from "q\tq"`, `rename to "caf\303\251"`), "rename café from q\tq"},
		{"quoted names", git(`"a/q\"" "b/q\""`, `--- "a/q\""`, `+++ "b/q\""`) + hunk, `edit q" "a">"b" @1 trusted`},
		{"names with spaces", git("a/x y b/x y", "--- a/x y\t", "+++ b/x y\t") + hunk, `edit x y "a">"b" @1 trusted`},
		{"a name with a time", "--- x\t2024-01-01 00:00:00 +0000\n+++ x\t2024-01-02 00:00:00 +0000\n" + hunk, `edit x "a">"b" @1 trusted`},
		{"no prefixes by git", git("x x", "--- x", "+++ x") + hunk, `edit x "a">"b" @1 trusted`},
		{"mode of names with spaces", git("a/x y b/x y", "old mode 100644", "new mode 100755"), `mode x y exec=true`},
		{"rename with its mode", git("a/x b/y", "old mode 100644", "new mode 100755", "rename from x", "rename to y"), `rename y from x exec=true`},
		{"new script", git("a/x b/x", "new file mode 100755", "--- /dev/null", "+++ b/x") + "@@ -0,0 +1 @@\n+b\n", `create x "b\n" exec=true`},
		{"new, of two hunks", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n@@ -0,0 +2 @@\n+b\n", `create x "a\nb\n"`},
		{"new with CRLF", "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\r\n+\r\n", `create x "a\r\n\r\n"`},
		{"new with both line ends", "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\r\n", `create x "a\nb\r\n"`},
		{"new, sent with CRLF", "--- /dev/null\r\n+++ b/x\r\n@@ -0,0 +1 @@\r\n+a\r\n", `create x "a\n"`},
		{"new with a byte order mark", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+\ufeffa\n", `create x "\ufeffa\n"`},
		{"deleted in two hunks", "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n@@ -2 +0,0 @@\n-b\n", `delete x "a|b">""`},
		{"rename to without from", git("a/x b/y", "rename to y"), problem.KindParse},
		{"a deleted link", git("a/x b/x", "deleted file mode 120000"), problem.KindRefused},
		{"prose that speaks of modes", "old mode 160000\n--- a/x\n+++ b/x\n" + hunk, `edit x "a">"b" @1 trusted`},
		{"empty header line between", git("a/x b/x", "", "--- a/x", "+++ b/x") + hunk, `edit x "a">"b" @1 trusted`},
	})
}

func TestJSONPatchesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]string{
		`[{"path":"x","action":"modify"}]`:                                 "the content is missing",
		`[{"path":"x","action":"create"}]`:                                 "the content is missing",
		`[{"path":"x","action":"create","content":null}]`:                  "the content is missing",
		`[{"path":"","action":"delete"}]`:                                  "a change has no path",
		`[{}]`:                                                             "a change has no path",
		`[{"path":"x","action":"upsert"}]`:                                 `the action "upsert" is none of`,
		`[{"path":"x"}]`:                                                   `the action "" is none of`,
		`[{"path":"x","action":"rename","from":"y","content":"a"}]`:        "a delete or rename has no content",
		`[{"path":"x","action":"modify","content":"a","from":"y"}]`:        `"from" belongs to a rename`,
		`{"changes":[{"path":"x","action":"delete"}],"edits":[]}`:          `"edits" says what another field of the object says`,
		`{"changes":{"path":"x"}}`:                                         "the JSON patch is not valid",
		`{"changes":[{"path":"x","action":"delete"}]} and`:                 "text follows the JSON patch",
		`{"changes":[{"path":"x","action":"delete"}`:                       "the JSON ends before it is complete",
		`{"changes":[]}`:                                                   "no edit found in the patch",
		`{}`:                                                               "no edit found in the patch",
		`[{"path":"x","action":"delete"},{"path":"y","action":"destroy"}]`: `the action "destroy" is none of`,
	} {
		_, err := Parse([]byte(response))
		var refusal *problem.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Problems[0].Reason, want) || refusal.Problems[0].Advice == "" {
			t.Errorf("%s: %v, want %q", response, err, want)
		}
	}
	_, err := Parse([]byte(`[{"path":"x","action":"delete"},{"path":"y","action":"destroy"}]`))
	var refusal *problem.Refusal
	if !errors.As(err, &refusal) || refusal.Problems[0].Block != 2 || refusal.Problems[0].Path != "y" {
		t.Errorf("the second item is at fault: %v", err)
	}
}

// A fault of the form names its block, numbered as everywhere else.
func TestFaultsOfTheFormNameTheirBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, response string
		block          int
	}{
		{"tags", tagBlock + tagBlock + "<EDIT file=x>\n</EDIT>\n", 3},
		{"tags, cut off", tagBlock + "<EDIT file=x><SEARCH>a", 2},
		{"a stray end", tagBlock + "</EDIT>\n", 1},
		{"markers", markerBlock + "<<<<<<< SEARCH\na\n", 2},
		{"a hunk", plainDiff + "@@ -1 +1 @@\n", 2},
		{"a hunk of the second file", plainDiff + "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n@@ -5 +5 @@\n", 3},
		{"none", "hello", 0},
	} {
		_, err := Parse([]byte(c.response))
		var refusal *problem.Refusal
		if !errors.As(err, &refusal) || refusal.Problems[0].Block != c.block {
			t.Errorf("%s: %v, want block %d", c.name, err, c.block)
		}
	}
}
