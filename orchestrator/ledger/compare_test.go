package ledger_test

import (
	"slices"
	"testing"

	"agent/orchestrator/ledger"
)

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
	// p has another body and another name, but the same position and parameters.
	if want := []string{"over signature", "long value", "p renamed", "q deleted"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	after.Problem = "line 1: invalid syntax"
	if got := ledger.Compare(before, after); got != nil {
		t.Errorf("a file that was not read changes %v", got)
	}
}
