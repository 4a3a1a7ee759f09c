package parse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit/problem"
)

// listed renders operations, one line each, or the kind of an error.
func listed(ops []*Operation, err error) string {
	var refusal *problem.Refusal
	if errors.As(err, &refusal) {
		return refusal.Problems[0].Kind
	}
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, op := range ops {
		s := []string{"edit", "create", "delete", "rename", "whole", "mode", "write", "append", "prepend"}[op.Kind] + " " + op.Path
		if op.From != "" {
			s += " from " + op.From
		}
		if op.Kind == OpEdit || op.Search != nil || op.Replace != nil {
			s += fmt.Sprintf(" %q>%q", strings.Join(op.Search, "|"), strings.Join(op.Replace, "|"))
		} else if op.Text != "" {
			s += fmt.Sprintf(" %q", op.Text)
		}
		if op.Exec != nil {
			s += fmt.Sprint(" exec=", *op.Exec)
		}
		if h := op.Hunk; h != nil && op.Kind == OpEdit {
			s += fmt.Sprintf(" @%d", h.Line)
			switch {
			case h.OldNoEOL && h.NewNoEOL:
				s += " no-eol"
			case h.OldNoEOL:
				s += " old-no-eol"
			case h.NewNoEOL:
				s += " new-no-eol"
			}
			if h.Trusted {
				s += " trusted"
			}
		}
		out = append(out, s+hints(op))
	}
	return strings.Join(out, "\n")
}

// hints renders what an operation says about its place besides the lines.
func hints(op *Operation) (s string) {
	if op.Line > 0 {
		s += fmt.Sprint(" line=", op.Line)
	}
	if op.Under != nil {
		s += fmt.Sprintf(" under=%q", op.Under)
	}
	if op.Ending {
		s += " ending"
	}
	if op.Every {
		s += " every"
	}
	if op.Doubt {
		s += " doubt"
	}
	return s
}

// A formCase is a response with the operations that it means.
type formCase struct{ name, response, want string }

func checkForms(t *testing.T, cases []formCase) {
	t.Helper()
	for _, c := range cases {
		if got := listed(Parse([]byte(c.response))); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestTagsMeanTheseOperations(t *testing.T) {
	t.Parallel()
	const pair = "<SEARCH>\na\n</SEARCH>\n<REPLACE>\nb\n</REPLACE>\n"
	checkForms(t, []formCase{
		{"one", "<EDIT file=\"x\">\n" + pair + "</EDIT>", `edit x "a">"b"`},
		{"glued", `<EDIT file="x"><SEARCH>a</SEARCH><REPLACE>b</REPLACE></EDIT>`, `edit x "a">"b"`},
		{"after prose on the line", `So: <EDIT file="x"><SEARCH>a</SEARCH><REPLACE>b</REPLACE></EDIT>`, `edit x "a">"b"`},
		{"without a path", "<EDIT>\n" + pair + "</EDIT>", `edit  "a">"b"`},
		{"bare", pair, `edit  "a">"b"`},
		{"bare, twice", pair + "and\n" + pair, "edit  \"a\">\"b\"\nedit  \"a\">\"b\""},
		{"path on SEARCH", "<SEARCH file='x'>a</SEARCH><REPLACE>b</REPLACE>", `edit x "a">"b"`},
		{"two pairs", "<EDIT path=x>\n" + pair + pair + "</EDIT>", "edit x \"a\">\"b\"\nedit x \"a\">\"b\""},
		{"empty REPLACE", "<EDIT file=x><SEARCH>a</SEARCH><REPLACE></REPLACE></EDIT>", `edit x "a">""`},
		{"REPLACE alone on its tag", "<EDIT file=x><SEARCH>a</SEARCH><REPLACE/></EDIT>", `edit x "a">""`},
		{"only REPLACE", "<EDIT file=x><REPLACE>b</REPLACE></EDIT>", `edit x "">"b"`},
		{"blank lines kept", "<EDIT file=x><SEARCH>\n\na\n\n</SEARCH><REPLACE>\nb\n</REPLACE></EDIT>", `edit x "|a|">"b"`},
		{"CRLF", strings.ReplaceAll("<EDIT file=x>\n"+pair+"</EDIT>\n", "\n", "\r\n"), `edit x "a">"b"`},
		{"prose that speaks of tags", "Use <SEARCH> and </REPLACE> here.\n" + pair, `edit  "a">"b"`},
		{"a body that speaks of tags", "<EDIT file=x><SEARCH>\na\n</SEARCH>\n<REPLACE>\nsay </REPLACE> now\n</REPLACE>\n</EDIT>", `edit x "a">"say </REPLACE> now"`},
		{"a search that speaks of tags", "<EDIT file=x><SEARCH>\nsay </SEARCH> now\n</SEARCH>\n<REPLACE>\na\n</REPLACE>\n</EDIT>", `edit x "say </SEARCH> now">"a"`},
		{"other names in angles", "<EDITOR>\n<EDIT file=x>\n<SEARCH>\n<SEARCHES>\n</SEARCH>\n<REPLACE>\n<replacement/>\n</REPLACE>\n</EDIT>", `edit x "<SEARCHES>">"<replacement/>"`},
		{"create", "<CREATE_FILE path=\"x\">\na\n</CREATE_FILE>", `create x "a\n"`},
		{"create glued", "<CREATE_FILE x>a</CREATE_FILE>", `create x "a\n"`},
		{"create empty", "<CREATE_FILE x></CREATE_FILE>", `create x`},
		{"create with edit tags in it", "<CREATE_FILE x>\n<EDIT>\n</EDIT>\n</CREATE_FILE>", `create x "<EDIT>\n</EDIT>\n"`},
		{"two creations with prose between", "<CREATE_FILE x>a</CREATE_FILE>\nand\n<CREATE_FILE y>b</CREATE_FILE>\n<DELETE_FILE z/>", "create x \"a\\n\"\ncreate y \"b\\n\"\ndelete z"},
		{"delete", "<DELETE_FILE path='x'/>", `delete x`},
		{"delete with an end", "<DELETE_FILE path='x'></DELETE_FILE>", `delete x`},
		{"delete by its body", "<DELETE_FILE>\nx\n</DELETE_FILE>", `delete x`},
		{"delete with body and path", "<DELETE_FILE x>x</DELETE_FILE>", `delete x`},

		{"delete with another body", "<DELETE_FILE x>y</DELETE_FILE>", "parse"},
		{"delete without a path", "<DELETE_FILE></DELETE_FILE>", "parse"},
		{"two paths in one delete", "<DELETE_FILE>\nx\ny\n</DELETE_FILE>", "parse"},
		{"empty EDIT", "<EDIT file=x>\n</EDIT>", "parse"},
		{"EDIT alone on its tag", "<EDIT file=x/>", "parse"},
		{"REPLACE first", "<REPLACE>\nb\n</REPLACE>", "parse"},
		{"SEARCH alone", "<EDIT file=x><SEARCH>a</SEARCH></EDIT>", "parse"},
		{"SEARCH, SEARCH", "<EDIT file=x>\n<SEARCH>\na\n</SEARCH>\n<SEARCH>\nb\n</SEARCH>\n</EDIT>", "parse"},
		{"open SEARCH before a block", "<EDIT file=x>\n<SEARCH>\na\n<REPLACE>\nb\n</REPLACE>\n</EDIT>\n<EDIT file=x>\n" + pair + "</EDIT>", "truncated"},
		{"open EDIT before a block", "<EDIT file=x>\n" + pair + "<EDIT file=y>\n" + pair + "</EDIT>", "truncated"},
		{"open SEARCH", "<EDIT file=x><SEARCH>\na", "truncated"},
		{"open REPLACE", "<EDIT file=x><SEARCH>a</SEARCH><REPLACE>\nb", "truncated"},
		{"open EDIT", "<EDIT file=x>\n" + pair, "truncated"},
		{"open CREATE_FILE", "<CREATE_FILE x>\na", "truncated"},
		{"nothing after SEARCH", "<SEARCH>\na\n</SEARCH>\n", "truncated"},
		{"stray end", pair + "</EDIT>\n", "parse"},
		{"a diff between", "<EDIT file=x>\n" + pair + "</EDIT>\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "parse"},
		{"markers between", pair + "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n" + pair, "parse"},
		{"a diff in the thought", "<THOUGHT>\n@@ -1 +1 @@\n</THOUGHT>\n" + pair, `edit  "a">"b"`},
		{"a block in the thought", "<THOUGHT>\n" + pair + "</THOUGHT>\n", "parse"},
		{"nothing", "no edit", "parse"},
	})
}

func TestMarkersMeanTheseOperations(t *testing.T) {
	t.Parallel()
	const block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
	checkForms(t, []formCase{
		{"named", "x.py\n" + block, `edit x.py "a">"b"`},
		{"named in bold", "**x.py**\n```python\n" + block + "```", `edit x.py "a">"b"`},
		{"named in the fence", "```python\nx.py\n" + block + "```", `edit x.py "a">"b"`},
		{"named in words", "Now this one:\n" + block, `edit  "a">"b"`},
		{"two of one name", "x.py\n" + block + "\n" + block, "edit x.py \"a\">\"b\"\nedit x.py \"a\">\"b\""},
		{"two names", "x.py\n" + block + "\ny.py\n" + block, "edit x.py \"a\">\"b\"\nedit y.py \"a\">\"b\""},
		{"wider", "<<<<<<<<< SEARCH\na\n=======\nc\n=========\nb\n>>>>>>>>> REPLACE\n", `edit  "a|=======|c">"b"`},
		{"CRLF", strings.ReplaceAll(block, "\n", "\r\n"), `edit  "a">"b"`},
		{"empty halves", "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", `edit  "">""`},
		{"a git conflict is content", "x.py\n<<<<<<< SEARCH\n<<<<<<< HEAD\n=========\n>>>>>>> REPLACE\n", "parse"},
		{"no divider", "<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "parse"},
		{"two dividers", "<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n", "parse"},
		{"no end", "<<<<<<< SEARCH\na\n=======\nb\n", "truncated"},
		{"another beginning before the end", "<<<<<<< SEARCH\na\n=======\nb\n" + block, "truncated"},
		{"with a diff", block + "diff --git a/x b/x\n", "parse"},
	})
}

func TestJSONMeansTheseOperations(t *testing.T) {
	t.Parallel()
	checkForms(t, []formCase{
		{"create", `[{"path":"x","action":"create","content":"a\n"}]`, `create x "a\n"`},
		{"create empty", `[{"path":"x","action":"create","content":""}]`, `create x`},
		{"modify", `[{"path":"x","action":"modify","content":"a"}]`, `whole x "a"`},
		{"delete", `[{"path":"x","action":"delete"}]`, `delete x`},
		{"rename", `[{"path":"x","action":"rename","from":"y"}]`, `rename x from y`},
		{"any case", `[{"path":"x","action":"Delete"}]`, `delete x`},
		{"object", `{"changes":[{"path":"x","action":"delete"}],"message":"m","summary":null}`, `delete x`},
		{"fenced", "```json\n[{\"path\":\"x\",\"action\":\"delete\"}]\n```", `delete x`},
		{"in prose", "So:\n```json\n[{\"path\":\"x\",\"action\":\"delete\"}]\n```\nDone.", `delete x`},
		{"content that looks like tags", `[{"path":"x","action":"create","content":"<EDIT>\n<SEARCH>"}]`, `create x "<EDIT>\n<SEARCH>"`},
		{"no changes", `{"changes":[]}`, "parse"},
		{"no path", `[{"action":"delete"}]`, "parse"},
		{"no action", `[{"path":"x"}]`, "parse"},
		{"content of a delete", `[{"path":"x","action":"delete","content":"a"}]`, "parse"},
		{"from without a rename", `[{"path":"x","action":"delete","from":"y"}]`, "parse"},
		{"rename without from", `[{"path":"x","action":"rename"}]`, "parse"},
		{"unknown field", `[{"path":"x","action":"delete","force":true}]`, "parse"},
		{"wrong type", `[{"path":1,"action":"delete"}]`, "parse"},
		{"cut off", `[{"path":"x","action":"cre`, "truncated"},
		{"trailing comma", `[{"path":"x","action":"delete"},]`, `delete x`},
		{"more after it", `[{"path":"x","action":"delete"}] [{}]`, "parse"},
	})
}

func TestDiffsMeanTheseOperations(t *testing.T) {
	t.Parallel()
	const head = "--- a/x\n+++ b/x\n"
	checkForms(t, []formCase{
		{"plain", head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", `edit x "a|b">"a|c" @1 trusted`},
		{"short counts", head + "@@ -1 +1 @@\n-b\n+c\n", `edit x "b">"c" @1 trusted`},
		{"two hunks", head + "@@ -1 +1 @@\n-b\n+c\n@@ -9 +9 @@ f()\n-d\n+e\n", "edit x \"b\">\"c\" @1 trusted\nedit x \"d\">\"e\" @9 trusted"},
		{"counts too high", head + "@@ -1,9 +1,9 @@\n-b\n+c\nDone.\n", `edit x "b">"c" @1`},
		{"counts too low", head + "@@ -1,1 +1,1 @@\n a\n-b\n+c\n", `edit x "a|b">"a|c" @1`},
		{"counts too low, blank context", head + "@@ -1,1 +1,1 @@\n a\n\n-b\n+c\n", `edit x "a||b">"a||c" @1`},
		{"counts too low before a file", head + "@@ -1 +1 @@\n a\n-b\n+c\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-d\n+e\n", "edit x \"a|b\">\"a|c\" @1\nedit y \"d\">\"e\" @1 trusted"},
		{"no numbers", head + "@@ ... @@\n-b\n+c\n", `edit x "b">"c" @0`},
		{"blank context", head + "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", `edit x "a||b">"a||c" @1 trusted`},
		{"blank context at the end, counted", head + "@@ -1,2 +1,2 @@\n-b\n+c\n\n", `edit x "b|">"c|" @1 trusted`},
		{"space after it", head + "@@ -1 +1 @@\n-b\n+c\n\n\n", `edit x "b">"c" @1 trusted`},
		{"CRLF", strings.ReplaceAll(head+"@@ -1 +1 @@\n-b\n+c\n", "\n", "\r\n"), `edit x "b">"c" @1 trusted`},
		{"no prefixes", "--- x\n+++ x\n@@ -1 +1 @@\n-b\n+c\n", `edit x "b">"c" @1 trusted`},
		{"only one prefix", "--- a/x\n+++ x\n@@ -1 +1 @@\n-b\n+c\n", `edit x "b">"c" @1 trusted`},
		{"without names", "@@ -1 +1 @@\n-b\n+c\n", `edit  "b">"c" @1 trusted`},
		{"old without newline", head + "@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+c\n", `edit x "b">"c" @1 old-no-eol trusted`},
		{"no newline on either side", head + "@@ -1,2 +1,2 @@\n-b\n+c\n d\n\\ No newline at end of file\n", `edit x "b|d">"c|d" @1 no-eol trusted`},
		{"byte order mark", head + "@@ -1 +1 @@\n-\ufeffb\n+\ufeffc\n", `edit x "b">"c" @1 trusted`},
		{"new", "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n", `create x "a\nb\n"`},
		{"new and empty", "diff --git a/x b/x\nnew file mode 100755\nindex 0..0\n", `create x exec=true`},
		{"new without newline", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n", `create x "a"`},
		{"deleted", "--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", `delete x "a|b">""`},
		{"deleted and empty", "diff --git a/x b/x\ndeleted file mode 100644\n", `delete x`},
		{"renamed", "diff --git a/x b/y\nrename from x\nrename to y\n", `rename y from x`},
		{"renamed and edited", "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-b\n+c\n", "rename y from x\nedit x \"b\">\"c\" @1 trusted"},
		{"mode", "diff --git a/x b/x\nold mode 100755\nnew mode 100644\n", `mode x exec=false`},
		{"mode and edit", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n" + head + "@@ -1 +1 @@\n-b\n+c\n", "mode x exec=true\nedit x \"b\">\"c\" @1 trusted"},
		{"two files", head + "@@ -1 +1 @@\n-b\n+c\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-d\n+e\n", "edit x \"b\">\"c\" @1 trusted\nedit y \"d\">\"e\" @1 trusted"},
		{"two files, wrong counts", head + "@@ -1,8 +1,8 @@\n-b\n+c\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-d\n+e\n", "edit x \"b\">\"c\" @1\nedit y \"d\">\"e\" @1 trusted"},
		{"dashes", head + "@@ -1,2 +1,2 @@\n--- b\n+++ c\n d\n", `edit x "-- b|d">"++ c|d" @1 trusted`},
		{"in a fence", "```diff\n" + head + "@@ -1,9 +1,9 @@\n-b\n+c\n```\n", `edit x "b">"c" @1`},
		{"context that looks like a tag", head + "@@ -1,2 +1,2 @@\n <EDIT>\n-b\n+c\n", `edit x "<EDIT>|b">"<EDIT>|c" @1 trusted`},
		{"signature", head + "@@ -1,9 +1,9 @@\n-b\n+c\n-- \n2.39.5\n", `edit x "b">"c" @1`},

		{"no name at all", "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-b\n+c\n", "parse"},
		{"a new file with context", "--- /dev/null\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n", "parse"},
		{"a deleted file that keeps lines", "--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n a\n-b\n", "parse"},
		{"half a rename", "diff --git a/x b/y\nrename from x\n", "parse"},
		{"copy", "diff --git a/x b/y\ncopy from x\ncopy to y\n", "refused"},
		{"binary", "diff --git a/x b/x\nBinary files a/x and b/x differ\n", "refused"},
		{"binary patch", "diff --git a/x b/x\nGIT binary patch\n", "refused"},
		{"symbolic link", "diff --git a/x b/x\nnew file mode 120000\n", "refused"},
		{"submodule", "diff --git a/x b/x\nold mode 160000\n", "refused"},
		{"merge", "--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,2 @@@\n- a\n", "refused"},
		{"names only", head, "truncated"},
		{"names only, of a new file", "--- /dev/null\n+++ b/x\n", "truncated"},
		{"git's header only", "diff --git a/x b/x\nindex 1..2 100644\n", "truncated"},
		{"names of a second file only", head + "@@ -1 +1 @@\n-b\n+c\n--- a/y\n+++ b/y\n", "truncated"},
		{"no lines", head + "@@ -1 +1 @@\n", "truncated"},
		{"a line without its mark", head + "@@ -1,3 +1,3 @@\n a\nb\n-c\n+d\n", "parse"},
		{"an edit after it", head + "@@ -1 +1 @@\n-b\n+c\n\n<EDIT file=x>\n", "parse"},
		{"markers after it", head + "@@ -1 +1 @@\n-b\n+c\n\n<<<<<<< SEARCH\n", "parse"},
	})
}

func TestNamesOfDiffsAreRead(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"a/x b/x":                               {"a/x", "b/x"},
		"a/x y b/x y":                           {"a/x y", "b/x y"},
		"a/x b/y":                               {"a/x", "b/y"},
		`"a/caf\303\251" "b/caf\303\251"`:       {"a/café", "b/café"},
		`"a/q\"q" "b/q\"q"`:                     {`a/q"q`, `b/q"q`},
		"x x":                                   {"x", "x"},
		`a/plain "b/caf\303\251"`:               {"a/plain", "b/café"},
		"one":                                   {"one", ""},
		"":                                      {"", ""},
		"a/with b/in it.txt b/with b/in it.txt": {"a/with b/in it.txt", "b/with b/in it.txt"},
	} {
		if a, b := gitNames(in); a != want[0] || b != want[1] {
			t.Errorf("%s: %q and %q, want %q", in, a, b, want)
		}
	}
	for in, want := range map[string]string{
		"a/x":                      "a/x",
		"a/x\t2024-01-01 00:00:00": "a/x",
		"a/x \r":                   "a/x",
		`"a/\t"`:                   "a/\t",
		`"a/\x"`:                   `"a/\x"`,
		`"`:                        `"`,
	} {
		if got := diffName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
