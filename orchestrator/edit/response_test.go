package edit_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

func TestThoughtIsTheBodyOfItsTag(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 4<<10)
	for _, c := range []struct{ name, response, want string }{
		{"none", "<EDIT file=\"a\">", ""},
		{"plain", "Hi.\n<THOUGHT>\n  why\n  not\n</THOUGHT>\n<EDIT>", "why\n  not"},
		{"any case", "<thought>why</Thought>", "why"},
		{"speaks of tags", "<THOUGHT>one </THINK> two</THOUGHT>", "one"},
		{"not closed", "<THOUGHT>\nwhy\n<EDIT>\n<SEARCH>", "why"},
		{"cut off", "<THOUGHT>\nwhy", "why"},
		{"too long", "<THOUGHT>x" + long + "</THOUGHT>", "x" + long[:4<<10-2]},
	} {
		if got := parse.Thought([]byte(c.response)); got != c.want {
			t.Errorf("%s: %.80q, want %.80q", c.name, got, c.want)
		}
	}
}

// kinds returns the kinds of a refusal, and fails if err is not a refusal.
func kinds(t *testing.T, err error) []string {
	t.Helper()
	var refusal *problem.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("not a refusal: %v", err)
	}
	var out []string
	for _, p := range refusal.Problems {
		out = append(out, p.Kind)
	}
	return out
}

func TestAResponseBeyondTheLimitsIsRefused(t *testing.T) {
	t.Parallel()
	_, _, err := edit.Apply(fuzzed(), bytes.Repeat([]byte(" "), parse.MaxResponse+1), "")
	if got := kinds(t, err); !slices.Equal(got, []string{"refused"}) || !strings.Contains(err.Error(), "16777217 bytes") {
		t.Errorf("a response that is too long gave %v: %v", got, err)
	}
	var many strings.Builder
	for i := range parse.MaxBlocks + 1 {
		fmt.Fprintf(&many, "<CREATE_FILE path=\"%d\">x</CREATE_FILE>\n", i)
	}
	_, _, err = edit.Apply(fuzzed(), []byte(many.String()), "")
	if got := kinds(t, err); !slices.Equal(got, []string{"refused"}) || !strings.Contains(err.Error(), "2001 blocks") {
		t.Errorf("too many blocks gave %v: %v", got, err)
	}
	_, _, err = edit.ApplyBlocks("a", nil, make([]edit.Block, parse.MaxBlocks+1))
	if got := kinds(t, err); !slices.Equal(got, []string{"refused"}) {
		t.Errorf("too many blocks of one file gave %v", got)
	}
	whole := many.String()[:strings.LastIndex(strings.TrimSuffix(many.String(), "\n"), "\n")]
	cs, _, err := edit.Apply(fuzzed(), []byte(whole), "")
	if err != nil || len(cs.Changes) != parse.MaxBlocks {
		t.Errorf("%d blocks gave %d changes: %v", parse.MaxBlocks, len(cs.Changes), err)
	}
}

// broken is a workspace with unreadable files.
type broken struct{ memory }

func (broken) Read(path string) ([]byte, error) { return nil, fs.ErrPermission }

func TestAFileThatCannotBeReadIsNoFaultOfTheResponse(t *testing.T) {
	t.Parallel()
	for _, response := range []string{
		"<EDIT file=\"a.txt\"><SEARCH>x</SEARCH><REPLACE>y</REPLACE></EDIT>",
		"<SEARCH>x</SEARCH><REPLACE>y</REPLACE>",
	} {
		_, _, err := edit.Apply(broken{fuzzed()}, []byte(response), "")
		var refusal *problem.Refusal
		if !errors.Is(err, fs.ErrPermission) || errors.As(err, &refusal) {
			t.Errorf("%s gave %v", response, err)
		}
	}
}

func TestARefusalNamesEveryProblemAndTheSoundBlocks(t *testing.T) {
	t.Parallel()
	response := ""
	for _, b := range [][2]string{{"import math", "import cmath"}, {"    total = 9", "    total = 8"}, {"    return total", "    return 1"}, {"nowhere", "x"}} {
		response += fmt.Sprintf("<EDIT file='shop/stock.py'>\n<SEARCH>\n%s\n</SEARCH>\n<REPLACE>\n%s\n</REPLACE>\n</EDIT>\n", b[0], b[1])
	}
	_, _, err := edit.Apply(fuzzed(), []byte(response), "")
	var refusal *problem.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v", err)
	}
	if !slices.Equal(refusal.Staged, []int{1, 3}) {
		t.Errorf("staged %v, want 1 and 3", refusal.Staged)
	}
	var blocks []int
	for _, p := range refusal.Problems {
		blocks = append(blocks, p.Block)
	}
	if !slices.Equal(blocks, []int{2, 4}) {
		t.Errorf("problems of blocks %v, want 2 and 4", blocks)
	}
	if near := refusal.Problems[0]; !slices.Contains(near.Lines, 5) || !strings.Contains(near.Nearest, "     5 |     total = 0\n") {
		t.Errorf("the nearest line of block 2 is not shown: %+v", near)
	}
	for _, want := range []string{"block 2, shop/stock.py: ", "block 4, shop/stock.py: ", "blocks 1, 3 match"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

// The refusal of very many blocks stays short enough to be read and sent.
func TestARefusalOfManyBlocksQuotesOnlyTheFirst(t *testing.T) {
	t.Parallel()
	var blocks []edit.Block
	for i := range 1000 {
		blocks = append(blocks, edit.Block{Search: fmt.Sprintf("a line %d\nnot there\n", i), Replace: "x\n"})
	}
	_, _, err := edit.ApplyBlocks("a.txt", []byte(distinct("a", 1000)), blocks)
	if n := len(kinds(t, err)); n != 1000 {
		t.Errorf("%d problems, want all 1000", n)
	}
	if n := strings.Count(err.Error(), " | "); n == 0 || n > 200 {
		t.Errorf("%d lines are quoted", n)
	}
}

func TestTheExecuteBitIsKept(t *testing.T) {
	t.Parallel()
	files := memory{map[string]string{"run.sh": "#!/bin/sh\nexit 1\n", "lib.sh": "exit 1\n"}, map[string]bool{"run.sh": true}}
	cs, _, err := edit.Apply(files, []byte("<EDIT file='run.sh'><SEARCH>exit 1</SEARCH><REPLACE>exit 0</REPLACE></EDIT>"+
		"<EDIT file='lib.sh'><SEARCH>exit 1</SEARCH><REPLACE>exit 0</REPLACE></EDIT>"), "")
	if err != nil || len(cs.Changes) != 2 {
		t.Fatalf("%d changes: %v", len(cs.Changes), err)
	}
	if lib, run := cs.Changes[0].Mode, cs.Changes[1].Mode; lib != 0o644 || run != 0o755 {
		t.Errorf("modes %o and %o, want 644 and 755", lib, run)
	}
}

func TestApplyDoesNotTouchWhatItReads(t *testing.T) {
	t.Parallel()
	before := []byte("x = 1\ny = 2\n")
	after, _, err := edit.ApplyBlocks("a.py", before, []edit.Block{{Search: "x = 1", Replace: "x = 3"}})
	if err != nil {
		t.Fatal(err)
	}
	after[0] = '!'
	if string(before) != "x = 1\ny = 2\n" {
		t.Errorf("the content before the edit became %q", before)
	}
}
