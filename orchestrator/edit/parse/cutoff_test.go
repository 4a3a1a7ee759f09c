package parse

import (
	"testing"

	"agent/orchestrator/edit/problem"
)

// A response that ends within the start of another block was cut off, and the change of that block is lost.
func TestAResponseThatEndsWithinATag(t *testing.T) {
	t.Parallel()
	const tags = "<EDIT file=\"x.py\">\n<SEARCH>\na\n</SEARCH>\n<REPLACE>\nb\n</REPLACE>\n</EDIT>\n"
	const markers = "x.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
	const whole = `edit x.py "a">"b"`
	checkForms(t, []formCase{
		{"a bracket", tags + "<", problem.KindTruncated},
		{"half a name", tags + "<ED", problem.KindTruncated},
		{"half a name in small letters", tags + "<sear", problem.KindTruncated},
		{"a name", tags + "<EDIT", problem.KindTruncated},
		{"half an attribute", tags + "<EDIT file=\"x", problem.KindTruncated},
		{"an attribute", tags + "<CREATE_FILE path=\"x\"\n", problem.KindTruncated},
		{"a tag of other markup", tags + "<div", whole},
		{"a longer name", tags + "<EDITOR x", whole},
		{"a comparison", tags + "so that a <", whole},
		{"a tag that is spoken of", tags + "as in <EDIT", whole},
		{"half a marker", markers + "<<<<", problem.KindTruncated},
		{"a marker without its word", markers + "y\n<<<<<<< ", problem.KindTruncated},
		{"a marker with half of it", markers + "y\n<<<<<<< SEAR", problem.KindTruncated},
		{"a marker of git", markers + "<<<<<<< HEAD\n", whole},
		{"markup", markers + "<b", whole},
	})
}

// Each marker, header and body may begin with a byte order mark.
func TestAByteOrderMarkBeforeAnyLineOfAForm(t *testing.T) {
	t.Parallel()
	const m = "\ufeff"
	const two = "edit x.py \"a\">\"b\"\nedit x.py \"c\">\"d\""
	const second = "<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n"
	checkForms(t, []formCase{
		{"the first marker", "x.py\n" + m + "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n" + second, two},
		{"the divider", "x.py\n<<<<<<< SEARCH\na\n" + m + "=======\nb\n>>>>>>> REPLACE\n" + second, two},
		{"the last marker", "x.py\n<<<<<<< SEARCH\na\n=======\nb\n" + m + ">>>>>>> REPLACE\n" + second, two},
		{"the second block", "x.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n" + m + second, two},
		{"the bodies", "x.py\n<<<<<<< SEARCH\n" + m + "a\n=======\n" + m + "b\n>>>>>>> REPLACE\n" + second, two},
		{"within a body", "x.py\n<<<<<<< SEARCH\na\n" + m + "c\n=======\nb\n>>>>>>> REPLACE\n" + second, "edit x.py \"a|\\ufeffc\">\"b\"" + "\nedit x.py \"c\">\"d\""},
		{"a diff in a fence", "```diff\n" + m + "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n", `edit x "a">"b" @1 trusted`},
		{"the second file of a diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" + m + "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "edit x \"a\">\"b\" @1 trusted\nedit y \"a\">\"b\" @1 trusted"},
		{"a patch", m + "*** Begin Patch\n" + m + "*** Update File: x\n@@\n-a\n+b\n*** End Patch\n", `edit x "a">"b" @0`},
	})
}
