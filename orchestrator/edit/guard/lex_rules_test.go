package guard

import (
	"fmt"
	"testing"

	"agent/orchestrator/edit/lex"
)

func TestTheBracketsAroundATokenAreKnown(t *testing.T) {
	t.Parallel()
	l, ok := newListing("f(a[0], b)", lex.PythonGrammar)
	if !ok {
		t.Fatal("the text is not read")
	}
	// f ( a [ 0 ] , b ) and the end of the line
	if got, want := fmt.Sprint(l.outer), "[-1 -1 1 1 3 1 1 1 -1 -1]"; got != want {
		t.Errorf("brackets around: %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(l.shuts), "[-1 8 -1 5 -1 -1 -1 -1 -1 -1]"; got != want {
		t.Errorf("closed by: %s, want %s", got, want)
	}
}

func TestALoneEqualsSignIsToldFromItsNeighbours(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a = b": true, "a == b": false, "a => b": false, "a <= b": false, "a != b": false, "a += b": true,
	} {
		l, _ := newListing(text, lex.ScriptGrammar)
		got := false
		for i := range l.toks {
			got = got || l.assigns(i)
		}
		if got != want {
			t.Errorf("%s assigns: %v", text, got)
		}
	}
}
