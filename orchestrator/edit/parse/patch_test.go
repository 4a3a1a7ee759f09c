package parse

import (
	"strings"
	"testing"
)

// patchBlock is a complete patch.
const patchBlock = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n"

func TestPatchesMeanTheseOperations(t *testing.T) {
	t.Parallel()
	of := func(body string) string { return "*** Begin Patch\n" + body + "*** End Patch\n" }
	update := func(body string) string { return of("*** Update File: x\n" + body) }
	const plain = `edit x "a">"b" @0`
	checkForms(t, []formCase{
		{"one", patchBlock, plain},
		{"no section line", update("-a\n+b\n"), plain},
		{"context", update("@@\n k\n-a\n+b\n l\n"), `edit x "k|a|l">"k|b|l" @0`},
		{"a section", update("@@ class A:\n-a\n+b\n"), plain + ` under=["class A:"]`},
		{"a section with an end", update("@@ class A: @@\n-a\n+b\n"), plain + ` under=["class A:"]`},
		{"sections", update("@@ class A:\n@@   def f():\n-a\n+b\n"), plain + ` under=["class A:" "def f():"]`},
		{"numbers are no section", update("@@ -1,2 +1,2 @@\n-a\n+b\n"), plain},
		{"numbers and a section", update("@@ -1,2 +1,2 @@ f()\n-a\n+b\n"), plain + ` under=["f()"]`},
		{"two chunks", update("@@\n-a\n+b\n@@ f()\n-c\n+d\n"), plain + "\nedit x \"c\">\"d\" @0 under=[\"f()\"]"},
		{"the end of the file", update("@@\n-a\n+b\n*** End of File\n"), plain + " ending"},
		{"a chunk after the end of the file", update("@@\n-a\n+b\n*** End of File\n@@\n-c\n+d\n"), plain + " ending\nedit x \"c\">\"d\" @0"},
		{"added at the end", update("@@\n+b\n*** End of File\n"), `append x "">"b" ending`},
		{"only added", update("@@\n k\n+b\n"), `edit x "k">"k|b" @0`},
		{"only removed", update("@@\n-a\n"), `edit x "a">"" @0`},
		{"blank context", update("@@\n k\n\n-a\n+b\n"), `edit x "k||a">"k||b" @0`},
		{"space after a chunk", update("@@\n-a\n+b\n\n\n@@\n-c\n+d\n\n"), plain + "\nedit x \"c\">\"d\" @0"},
		{"no newline at the end", update("@@\n-a\n+b\n\\ No newline at end of file\n"), plain + " new-no-eol"},
		{"moved", update("*** Move to: y\n"), `rename y from x`},
		{"moved and changed", update("*** Move to: y\n@@\n-a\n+b\n"), "rename y from x\n" + plain},
		{"added", of("*** Add File: x\n+a\n+\n+ b\n"), `create x "a\n\n b\n"`},
		{"added, empty", of("*** Add File: x\n"), `create x`},
		{"removed", of("*** Delete File: x\n"), `delete x`},
		{"several", of("*** Delete File: x\n\n*** Add File: y\n+a\n\n*** Update File: z\n@@\n-a\n+b\n"), "delete x\ncreate y \"a\\n\"\nedit z \"a\">\"b\" @0"},
		{"a name with spaces", of("*** Delete File:   a b.txt \n"), `delete a b.txt`},
		{"carriage returns", strings.ReplaceAll(patchBlock, "\n", "\r\n"), plain},
		{"no newline after it", strings.TrimSuffix(patchBlock, "\n"), plain},
		{"two patches", patchBlock + "and\n" + strings.ReplaceAll(patchBlock, " x", " y"), plain + "\n" + strings.Replace(plain, " x", " y", 1)},
		{"no beginning", strings.TrimPrefix(patchBlock, "*** Begin Patch\n"), plain},
		{"in a heredoc", "```sh\napply_patch <<'EOF'\n" + patchBlock + "EOF\n```\n", plain},
		{"tags as content", update("@@\n <EDIT file=x>\n-a\n+b\n"), `edit x "<EDIT file=x>|a">"<EDIT file=x>|b" @0`},
		{"a patch as content", of("*** Add File: x\n+*** End Patch\n"), `create x "*** End Patch\n"`},
		{"a thought before it", "<think>\n" + strings.Replace(patchBlock, "-a", "-z", 1) + "</think>\n" + patchBlock, plain},
		{"a thought after it", patchBlock + "<think>\n" + tagBlock + "</think>\n", plain},
		{"asterisks are prose", "*** Note\n" + tagBlock, `edit x "a">"b"`},

		{"no end", strings.TrimSuffix(patchBlock, "*** End Patch\n"), "truncated"},
		{"no end, after a file", "*** Begin Patch\n*** Delete File: x\n", "truncated"},
		{"no end, after the beginning", "*** Begin Patch\n", "truncated"},
		{"no end of the second", patchBlock + "*** Begin Patch\n*** Delete File: y\n", "truncated"},
		{"a name and no more", "*** Begin Patch\n*** Update File: x\n", "truncated"},
		{"a chunk without lines", update("@@ f()\n"), "truncated"},
		{"a chunk without lines before another", update("@@ f()\n\n@@ g()\n-a\n+b\n"), "truncated"},
		{"an end of the file without lines", update("*** End of File\n"), "parse"},
		{"nothing in it", of(""), "parse"},
		{"nothing in a file", update(""), "parse"},
		{"no name", of("*** Add File:\n+a\n"), "parse"},
		{"no new name", update("*** Move to:\n@@\n-a\n+b\n"), "parse"},
		{"a new name too late", update("@@\n-a\n+b\n*** Move to: y\n"), "parse"},
		{"a mark is missing", update("@@\nk\n-a\n+b\n"), "parse"},
		{"a mark is missing in a new file", of("*** Add File: x\n+a\nb\n"), "parse"},
		{"a blank line in a new file", of("*** Add File: x\n+a\n\n+b\n"), "parse"},
		{"prose in it", of("*** Delete File: x\nand\n*** Delete File: y\n"), "parse"},
		{"a beginning in it", "*** Begin Patch\n" + patchBlock, "parse"},
		{"a block after it", patchBlock + tagBlock, "parse"},
		{"a block before it", tagBlock + patchBlock, "parse"},
		{"markers after it", patchBlock + markerBlock, "parse"},
		{"markers before it", markerBlock + patchBlock, "parse"},
		{"a diff after it", patchBlock + plainDiff, "parse"},
		{"a diff before it", plainDiff + patchBlock, "parse"},
	})
}

// A patch that is cut off anywhere except in trailing space is refused.
func TestNoPartOfAPatchIsAPatch(t *testing.T) {
	t.Parallel()
	whole := "*** Begin Patch\n*** Update File: x\n@@ f()\n k\n-a\n+b\n*** Add File: y\n+c\n*** Delete File: z\n*** End Patch"
	for cut := range whole {
		if ops, err := Parse([]byte(whole[:cut])); err == nil {
			t.Errorf("cut to %q: %s", whole[:cut], listed(ops, nil))
		}
	}
	if got := listed(Parse([]byte(whole))); strings.Count(got, "\n") != 2 {
		t.Errorf("the whole of it: %s", got)
	}
}
