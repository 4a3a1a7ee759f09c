package edit

import (
	"strings"
	"testing"
)

func TestChangedLinesTakeTheLineEndsOfTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, block, want string }{
		{"CRLF", "a\r\nb\r\nc\r\n", "b>x|y", "a\r\nx\r\ny\r\nc\r\n"},
		{"CRLF, inserted at the start", "a\r\nb\r\n", "a>x|a", "x\r\na\r\nb\r\n"},
		{"CRLF, inserted at the end", "a\r\nb\r\n", "b>b|x", "a\r\nb\r\nx\r\n"},
		{"CRLF, removed", "a\r\nb\r\nc\r\n", "a|b>a", "a\r\nc\r\n"},
		{"mixed, in the part with CRLF", "a\r\nb\r\nc\nd\n", "b>x|y", "a\r\nx\r\ny\r\nc\nd\n"},
		{"mixed, in the other part", "a\r\nb\r\nc\nd\n", "c>x|y", "a\r\nb\r\nx\ny\nd\n"},
		{"mixed, across the seam", "a\r\nb\r\nc\nd\n", "b|c>x|y|z", "a\r\nx\r\ny\r\nz\r\nd\n"},
		{"mixed, lines that stay keep theirs", "a\r\nb\nc\r\n", "a|b|c>a|x|b|c", "a\r\nx\r\nb\nc\r\n"},
		{"lone CR", "a\rb\rc\r", "b>x|y", "a\rx\ry\rc\r"},
		{"lone CR, no end", "a\rb\rc", "c>c|x", "a\rb\rc\rx"},
		{"lone CR, the last line replaced", "a\rb\rc", "c>x", "a\rb\rx"},
		{"lone CR within a line", "a\rb\nc\n", "c>x", "a\rb\nx\n"},
		{"mark and CRLF", "\ufeffa\r\nb\r\n", "a>x|y", "\ufeffx\r\ny\r\nb\r\n"},
		{"mark, lines before the first", "\ufeffa\nb\n", "a>x|a", "\ufeffx\na\nb\n"},
		{"mark, the first line removed", "\ufeffa\nb\n", "a>", "\ufeffb\n"},
		{"mark in the block", "\ufeffa\nb\n", "a>\ufeffx", "\ufeffx\nb\n"},
		{"mark in the block alone", "a\nb\n", "a>\ufeffx", "x\nb\n"},
		{"no newline, changed before the end", "a\nb\nc", "b>x|y", "a\nx\ny\nc"},
		{"no newline, the end moved into the block", "a\nb\nc", "b|c>c|b", "a\nc\nb"},
		{"no newline, one line", "a", "a>x|y", "x\ny"},
		{"a form feed and bytes that are no text", "\fa\n\xff\nc\n", "c>x", "\fa\n\xff\nx\n"},
	} {
		s, r, _ := strings.Cut(c.block, ">")
		after, _, err := ApplyBlocks("a.txt", []byte(c.before), []Block{{strings.ReplaceAll(s, "|", "\n"), strings.ReplaceAll(r, "|", "\n")}})
		if err != nil || string(after) != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, after, c.want, err)
		}
	}
}

// Only a diff can say whether the file ends in a newline; no other part of a response can.
func TestADiffSettlesTheFinalNewline(t *testing.T) {
	t.Parallel()
	const mark = "\\ No newline at end of file\n"
	for _, c := range []struct{ name, before, hunk, want string }{
		{"given", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n" + mark + "+c\n", "a\nc\n"},
		{"taken", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n" + mark, "a\nc"},
		{"taken, CRLF", "a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n" + mark, "a\r\nc"},
		{"none before and after", "a\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n" + mark, "c\nb"},
		{"nothing said, none there", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc"},
		{"nothing said, one there", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc\n"},
		{"said of a hunk that ends before", "a\nb\nc\n", "@@ -1 +1 @@\n-a\n+x\n" + mark, "x\nb\nc\n"},
		{"only the newline, given", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n" + mark + "+b\n", "a\nb\n"},
		{"only the newline, taken", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n" + mark, "a\nb"},
		{"an empty file filled without", "", "@@ -0,0 +1 @@\n+a\n" + mark, "a"},
	} {
		cs, _, err := Apply(tree{"x": c.before}, []byte("--- a/x\n+++ b/x\n"+c.hunk), "")
		if err != nil || len(cs.Changes) != 1 || string(cs.Changes[0].After) != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, cs.Changes, c.want, err)
		}
	}
}
