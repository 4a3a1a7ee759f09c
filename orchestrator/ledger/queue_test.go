package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/ledger"
)

// ripple makes a ripple from the sources to the file at path.
func ripple(path string, sources ...string) ledger.Ripple {
	r := ledger.Ripple{Path: path, Lines: []int{3}}
	for _, s := range sources {
		r.Because = append(r.Because, ledger.Change{Path: s, Kind: ledger.Renamed, From: "f", To: "g", Definition: ledger.Definition{Name: "f", Kind: ledger.Function}})
	}
	return r
}

func order(q ledger.Queue) string {
	var names []string
	for _, it := range q.Items {
		names = append(names, it.Path)
	}
	return strings.Join(names, " ")
}

func TestQueueKeepsOrderAndMergesCauses(t *testing.T) {
	diffs := map[string]string{"a": "-f\n+g\n", "x": strings.Repeat("-line\n", 10_000)}
	var empty ledger.Queue
	q := empty.Add([]ledger.Ripple{ripple("c", "a"), ripple("b", "a"), ripple("a", "a")}, diffs)
	old := q
	q = q.Add([]ledger.Ripple{ripple("d", "x"), ripple("c", "x", "x", "c")}, diffs)
	if order(q) != "c b d" || order(old) != "c b" || len(old.Items[0].Causes) != 1 || len(empty.Items) != 0 {
		t.Fatalf("%q, and before %q with %+v", order(q), order(old), old.Items[0].Causes)
	}
	first, rest, ok := q.Next()
	if !ok || first.Path != "c" || order(rest) != "b d" || order(q) != "c b d" {
		t.Fatalf("%v %q %q", ok, first.Path, order(rest))
	}
	if len(first.Causes) != 2 || first.Causes[0].Diff != diffs["a"] || len(first.Causes[1].Changes) != 2 {
		t.Errorf("causes %+v", first.Causes)
	}
	long := first.Causes[1].Diff
	if len(long) > 17<<10 || !strings.HasPrefix(diffs["x"], long[:strings.LastIndex(long, "(")]) || !strings.HasSuffix(long, "more bytes)\n") {
		t.Errorf("a long diff of %d bytes ends in %q", len(long), long[len(long)-30:])
	}
	text := first.String()
	if !strings.HasPrefix(text, "CRITICAL SYMBOLIC RIPPLE: c ") || !strings.Contains(text, "on line 3") || !strings.Contains(text, "function f of a is now called g") || !strings.Contains(text, "-f\n+g\n") {
		t.Error(text)
	}
}

func TestQueueIsArrangedByHand(t *testing.T) {
	q := ledger.Queue{}.Add([]ledger.Ripple{ripple("a", "s"), ripple("b", "s"), ripple("c", "s")}, nil)
	for _, c := range []struct {
		got  ledger.Queue
		want string
	}{
		{q.Move("c", 0), "c a b"},
		{q.Move("a", 99), "b c a"},
		{q.Move("b", -1), "b a c"},
		{q.Move("x", 0), "a b c"},
		{q.Remove("b"), "a c"},
		{q.Remove("x"), "a b c"},
		{q, "a b c"},
	} {
		if order(c.got) != c.want {
			t.Errorf("%q, want %q", order(c.got), c.want)
		}
	}
	if _, _, ok := (ledger.Queue{}).Next(); ok {
		t.Error("an empty queue has a first item")
	}
}

func TestQueueIsBounded(t *testing.T) {
	var list []ledger.Ripple
	for i := range ledger.MaxQueue + 7 {
		list = append(list, ripple(fmt.Sprint(i), "s"))
	}
	var sources []string
	for i := range 30 {
		sources = append(sources, fmt.Sprint("s", i))
	}
	q := ledger.Queue{}.Add(append(list, ripple("0", sources...)), nil)
	if len(q.Items) != ledger.MaxQueue || q.Dropped != 7+11 || len(q.Items[0].Causes) != 20 {
		t.Errorf("%d items, %d dropped, %d causes", len(q.Items), q.Dropped, len(q.Items[0].Causes))
	}
}

func TestCompareSeesOnlyWhatUsersSee(t *testing.T) {
	def := func(name, kind, signature, digest string, line int) ledger.Definition {
		return ledger.Definition{Name: name, Kind: kind, Signature: signature, Digest: digest, Line: line, End: line}
	}
	before := ledger.File{Path: "a.ts", Definitions: []ledger.Definition{
		def("f", ledger.Function, "(a: T, b)", "1", 1), def("over", ledger.Function, "(a)", "2", 2), def("over", ledger.Function, "(b)", "3", 3),
		def("long", ledger.Constant, "= …", "4", 4), def("p", ledger.Function, "(x)", "5", 5), def("q", ledger.Function, "(y)", "6", 6),
	}}
	after := ledger.File{Path: "a.ts", Definitions: []ledger.Definition{
		def("f", ledger.Function, "(a:T, b,)", "9", 1), def("over", ledger.Function, "(a)", "2", 2), def("over", ledger.Function, "(b, c)", "3", 3),
		def("long", ledger.Constant, "= …", "8", 4), def("p2", ledger.Function, "(x)", "7", 5), def("other", ledger.Class, "(y)", "6", 6),
	}}
	var got []string
	for _, c := range ledger.Compare(before, after) {
		got = append(got, c.Definition.Name+" "+c.Kind)
	}
	// p has another body and another name, but stands where it stood and takes what it took.
	if want := []string{"over signature", "long value", "p renamed", "q deleted"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	after.Problem = "line 1: invalid syntax"
	if got := ledger.Compare(before, after); got != nil {
		t.Errorf("a file that was not read changes %v", got)
	}
}
