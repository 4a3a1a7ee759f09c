package parse

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/problem"
)

// The header of a hunk is a hint: the lines are read however wrong its numbers are, and only sound numbers are trusted.
func TestTheNumbersOfAHunkAreHints(t *testing.T) {
	t.Parallel()
	const names, body = "--- a/x\n+++ b/x\n", " a\n-b\n+c\n d\n"
	const lines = `edit x "a|b|d">"a|c|d" `
	checkForms(t, []formCase{
		{"sound", names + "@@ -4,3 +4,3 @@\n" + body, lines + "@4 trusted"},
		{"with a section", names + "@@ -4,3 +4,3 @@ func main() {\n" + body, lines + "@4 trusted"},
		{"too few", names + "@@ -4,2 +4,2 @@\n" + body, lines + "@4"},
		{"too many", names + "@@ -4,9 +4,9 @@\n" + body + "That is all.\n", lines + "@4"},
		{"too many on one side alone", names + "@@ -4,9 +4,2 @@\n" + body, lines + "@4"},
		{"without numbers", names + "@@ ... @@\n" + body, lines + "@0"},
		{"without a count", names + "@@ -4 +4 @@\n-b\n+c\n", `edit x "b">"c" @4 trusted`},
		{"a line beyond any number", names + "@@ -99999999999999999999,3 +4,3 @@\n" + body, lines + "@0 trusted"},
		{"a count beyond any number", names + "@@ -4,99999999999999999999 +4,3 @@\n" + body, lines + "@4"},
		{"a signature under it", names + "@@ -4,3 +4,3 @@\n" + body + "-- \n2.39.2\n", lines + "@4 trusted"},
		{"blank lines under it", names + "@@ -4,3 +4,3 @@\n" + body + "\n\n", lines + "@4 trusted"},
		{"blank context inside", names + "@@ -4,3 +4,3 @@\n a\n\n-b\n+c\n", `edit x "a||b">"a||c" @4 trusted`},
	})
}

// A hunk that lacks lines at the end of the response may have lost a change; one with text after it was only miscounted.
func TestAHunkThatWasCutOff(t *testing.T) {
	t.Parallel()
	const names, body = "--- a/x\n+++ b/x\n", " a\n-b\n+c\n d\n"
	const whole = `edit x "a|b|d">"a|c|d" @4`
	checkForms(t, []formCase{
		{"both sides are short", names + "@@ -4,5 +4,5 @@\n" + body, problem.KindTruncated},
		{"new lines are missing", names + "@@ -4,3 +4,5 @@\n" + body, problem.KindTruncated},
		{"old lines are missing", names + "@@ -4,4 +4,3 @@\n" + body, problem.KindTruncated},
		{"blank lines under it", names + "@@ -4,6 +4,6 @@\n" + body + "\n", problem.KindTruncated},
		{"the second of two", names + "@@ -1 +1 @@\n-y\n+z\n@@ -4,5 +4,5 @@\n" + body, problem.KindTruncated},
		{"a new file", "--- /dev/null\n+++ b/x\n@@ -0,0 +1,3 @@\n+a\n+b\n", problem.KindTruncated},
		{"within a fence that is open", "```diff\n" + names + "@@ @@\n" + body, problem.KindTruncated},
		{"within a fence, counted too low", "```diff\n" + names + "@@ -4,2 +4,2 @@\n" + body, problem.KindTruncated},
		{"whole, within a fence that is open", "```diff\n" + names + "@@ -4,3 +4,3 @@\n" + body, whole + " trusted"},
		{"short, within a fence that is closed", "```diff\n" + names + "@@ -4,5 +4,5 @@\n" + body + "```\n", whole},
		{"short, before another hunk", names + "@@ -4,5 +4,5 @@\n" + body + "@@ -9 +9 @@\n-y\n+z\n", whole + "\nedit x \"y\">\"z\" @9 trusted"},
		{"short, before a signature", names + "@@ -4,5 +4,5 @@\n" + body + "-- \n2.39.2\n", whole},
	})
}

// A removed "-- x" looks like a file's header, and its replacement like the header's second line.
func TestRemovedDashesAreNoHeader(t *testing.T) {
	t.Parallel()
	const names, dashes = "--- a/x.sql\n+++ b/x.sql\n", "--- old note\n+++ new note\n"
	checkForms(t, []formCase{
		{"with counts", names + "@@ -1,2 +1,2 @@\n select 1;\n" + dashes, `edit x.sql "select 1;|-- old note">"select 1;|++ new note" @1 trusted`},
		{"without counts", names + "@@ @@\n select 1;\n" + dashes, `edit x.sql "select 1;|-- old note">"select 1;|++ new note" @0`},
		{
			"a file after it", names + "@@ @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ @@\n-c\n+d\n",
			"edit x.sql \"a\">\"b\" @0\nedit y \"c\">\"d\" @0",
		},
	})
}

// A line without a mark would end the hunk and lose the lines after it.
func TestALineWithoutAMarkIsRefusedWhereMoreFollows(t *testing.T) {
	t.Parallel()
	const names = "--- a/x\n+++ b/x\n"
	checkForms(t, []formCase{
		{"changes after it", names + "@@ -1,3 +1,3 @@\n a\n-b\nc\n+d\n", problem.KindParse},
		{"prose after a whole hunk", names + "@@ -1 +1 @@\n-a\n+b\nThat is all.\n- done\n", `edit x "a">"b" @1 trusted`},
		{"prose after a short hunk", names + "@@ -1,2 +1,2 @@\n-a\n+b\nThat is all.\n", `edit x "a">"b" @1`},
		{"another hunk after it", names + "@@ -1,2 +1,2 @@\n-a\n+b\nand\n@@ -9 +9 @@\n-c\n+d\n", "edit x \"a\">\"b\" @1\nedit x \"c\">\"d\" @9 trusted"},
		{"no lines at all", names + "@@ -1 +1 @@\n", problem.KindTruncated},
		{"no hunk", names, problem.KindTruncated},
	})
}

func TestTheHeadersOfGit(t *testing.T) {
	t.Parallel()
	const git = "diff --git a/x b/x\n"
	const names = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	checkForms(t, []formCase{
		{"a mode taken away", git + "old mode 100755\nnew mode 100644\n", "mode x exec=false"},
		{"a mode and lines", git + "old mode 100644\nnew mode 100755\n" + names, "mode x exec=true\nedit x \"a\">\"b\" @1 trusted"},
		{"an empty file made", git + "new file mode 100644\n", "create x exec=false"},
		{"a file removed whole", git + "deleted file mode 100644\n", "delete x"},
		{"a link", git + "new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+to\n", problem.KindRefused},
		{"a link removed", git + "deleted file mode 120000\n", problem.KindRefused},
		{"a submodule", git + "old mode 100644\nnew mode 160000\n", problem.KindRefused},
		{"a copy", git + "copy from x\ncopy to y\n", problem.KindRefused},
		{"a binary patch", git + "GIT binary patch\nliteral 1\n", problem.KindRefused},
		{"a binary file", git + "Binary files a/x and b/x differ\n", problem.KindRefused},
		{"a merge", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n--a\n++b\n", problem.KindRefused},
		{"a rename by one name", git + "rename from x\n", problem.KindParse},
		{"a rename", "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "rename y from x"},
		{"no name on either side", "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", problem.KindParse},
		{"a header and nothing else", git, problem.KindTruncated},
		{"a new file with old lines", "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", problem.KindParse},
		{"a removed file with lines kept", "--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n b\n", problem.KindParse},
	})
}

// Each side of a hunk records which of its lines end in "\r
// ".
func TestTheEndsOfTheLinesOfAHunk(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]struct{ old, new string }{
		" a|-b|+c":             {"nn", "nn"},
		" a\r|-b\r|+c\r":       {"rr", "rr"},
		" a|-b\r|+b":           {"nr", "nn"},
		" a|-b|+b\r":           {"nn", "nr"},
		"-a|-b\r|+c|+d\r| e\r": {"nrr", "nrr"},
		"+a\r| b|+c\r":         {"n", "rnr"},
	} {
		h, old, new := &Hunk{}, 0, 0
		for _, l := range strings.Split(lines, "|") {
			if l[0] != '+' {
				old++
			}
			if l[0] != '-' {
				new++
			}
			h.lineEnds(l[0], strings.HasSuffix(l, "\r"), old, new)
		}
		ends := func(cr []bool, n int) (s string) {
			for i := range n {
				s += map[bool]string{false: "n", true: "r"}[i < len(cr) && cr[i]]
			}
			return s
		}
		if old, new := ends(h.OldCR, old), ends(h.NewCR, new); old != want.old || new != want.new {
			t.Errorf("%q: old %s, new %s, want %+v", lines, old, new, want)
		}
	}
}
