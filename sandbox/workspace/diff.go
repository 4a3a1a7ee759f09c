package workspace

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns the changeset as a unified diff in git's format, which git apply accepts; "" if it is empty. Binary
// content is named, not shown.
func (cs Changeset) Diff() string {
	var b strings.Builder
	for _, c := range cs.Sorted() {
		c.diff(&b)
	}
	return b.String()
}

// diff writes the change of one file.
func (c Change) diff(b *strings.Builder) {
	from := c.Path
	if c.Op == Rename {
		from = c.From
	}
	fmt.Fprintf(b, "diff --git %s %s\n", quoted("a/"+from), quoted("b/"+c.Path))
	switch c.Op {
	case Create:
		fmt.Fprintf(b, "new file mode %s\n", gitMode(c.Mode))
	case Delete:
		fmt.Fprintf(b, "deleted file mode %s\n", gitMode(c.Mode))
	case Modify, Rename:
		if c.OldMode != 0 && gitMode(c.OldMode) != gitMode(c.Mode) {
			fmt.Fprintf(b, "old mode %s\nnew mode %s\n", gitMode(c.OldMode), gitMode(c.Mode))
		}
	}
	if c.Op == Rename {
		if bytes.Equal(c.Before, c.After) {
			b.WriteString("similarity index 100%\n")
		}
		fmt.Fprintf(b, "rename from %s\nrename to %s\n", quoted(c.From), quoted(c.Path))
	}
	// An empty file is created or deleted without a hunk.
	if bytes.Equal(c.Before, c.After) {
		return
	}
	before, after := label("a/"+from), label("b/"+c.Path)
	if c.Op == Create {
		before = "/dev/null"
	}
	if c.Op == Delete {
		after = "/dev/null"
	}
	if IsBinary(c.Before) || IsBinary(c.After) {
		fmt.Fprintf(b, "Binary files %s and %s differ\n", strings.TrimSuffix(before, "\t"), strings.TrimSuffix(after, "\t"))
		return
	}
	// Three lines of context, as in git.
	b.WriteString(udiff.Unified(before, after, string(c.Before), string(c.After)))
}

// IsBinary reports whether content is not text: it contains a NUL or is not UTF-8.
func IsBinary(content []byte) bool {
	return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content)
}

// gitMode returns the mode of a file as git writes it: git records only one of the permission bits.
func gitMode(mode fs.FileMode) string {
	if mode&0o111 != 0 {
		return "100755"
	}
	return "100644"
}

// quoted returns a name as git writes it: in C's form if a reader could not tell where it ends.
func quoted(name string) string {
	if strings.ContainsAny(name, "\"\\\n\t") {
		return strconv.Quote(name)
	}
	return name
}

// label returns a name for the lines --- and +++, where a tab ends a name that contains spaces.
func label(name string) string {
	if name = quoted(name); strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}
