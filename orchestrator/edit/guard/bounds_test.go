package guard

import (
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

// many returns n lines; in each, %d is the line's number.
func many(n int, line string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// A text with too many tokens is left to the gates; one with as many bytes is not.
func TestParsable(t *testing.T) {
	t.Parallel()
	if s := strings.Repeat("(", maxTokens+1); parsable(s) || !parsable(s[1:]) {
		t.Error("the bound on tokens does not hold")
	}
	if s := strings.Repeat("word", maxParsed/4); !parsable(s) || parsable(s+"s") {
		t.Error("the bound on bytes does not hold")
	}
	open := []byte(`{"a": [` + strings.Repeat("1,", maxTokens) + "2]}\n")
	if p := CheckSyntax(document.New("a.json", open), []*parse.Operation{{Block: 1}}, string(open[:len(open)-2])); p == nil {
		t.Error("JSON costs no tree and is not judged")
	}
}

// More imports than maxDropped stay dropped as asked, so that the file is not read once for each.
func TestManyDroppedImportsGo(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxDropped, maxDropped + 1} {
		head, uses := many(n, "import m%d\n"), many(n, "m%d.f()\n")
		after, kept := KeepImports("a.py", head+uses, uses)
		if want := n <= maxDropped; want != (len(kept) == n) || !want && after != uses {
			t.Errorf("%d imports: %d are put back", n, len(kept))
		}
	}
}
