package edit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// pairs returns an operation for each "search>replace" text, with lines split at "|".
func pairs(blocks ...string) []*parse.Operation {
	var ops []*parse.Operation
	for i, b := range blocks {
		s, r, _ := strings.Cut(b, ">")
		op := &parse.Operation{Block: i + 1, Kind: parse.OpEdit, Path: "a.py", Search: bars(s)}
		if r != "" {
			op.Replace = bars(r)
		}
		ops = append(ops, op)
	}
	return ops
}

// edited applies blocks to a file of lines divided by "|". It renders the result the same way, or the kinds of the problems with their
// blocks.
func edited(file string, blocks ...string) string {
	after, _, problems := editFile("a.py", []byte(strings.Join(bars(file), "\n")+"\n"), pairs(blocks...), document.NewWork())
	if len(problems) > 0 {
		var out []string
		for _, p := range problems {
			out = append(out, fmt.Sprint(p.Kind, " ", p.Block))
		}
		return strings.Join(out, ", ")
	}
	return strings.TrimSuffix(strings.ReplaceAll(string(after), "\n", "|"), "|")
}

func TestBlocksOfOneFileAreSetAgainstOneAnother(t *testing.T) {
	t.Parallel()
	const file = "a = 1|b = 2|c = 3|d = 4|e = 5"
	for _, c := range []struct {
		name   string
		blocks []string
		want   string
	}{
		{"apart", []string{"a = 1>A = 1", "e = 5>E = 5"}, "A = 1|b = 2|c = 3|d = 4|E = 5"},
		{"apart, in the other order", []string{"e = 5>E = 5", "a = 1>A = 1"}, "A = 1|b = 2|c = 3|d = 4|E = 5"},
		{"side by side", []string{"a = 1>A = 1", "b = 2>B = 2"}, "A = 1|B = 2|c = 3|d = 4|e = 5"},
		{"sharing context", []string{"a = 1|b = 2>A = 1|b = 2", "b = 2|c = 3>b = 2|C = 3"}, "A = 1|b = 2|C = 3|d = 4|e = 5"},
		{"one unchanged", []string{"a = 1>a = 1", "b = 2>B = 2"}, "a = 1|B = 2|c = 3|d = 4|e = 5"},
		{"removal beside a change", []string{"a = 1|b = 2>", "c = 3>C = 3"}, "C = 3|d = 4|e = 5"},
		{"insertion beside a change", []string{"a = 1>a = 1|x = 0", "b = 2>B = 2"}, "a = 1|x = 0|B = 2|c = 3|d = 4|e = 5"},
		{"growing and shrinking", []string{"b = 2>x = 1|y = 2|z = 3", "c = 3|d = 4>"}, "a = 1|x = 1|y = 2|z = 3|e = 5"},
		{"chained", []string{"a = 1>x = 1", "x = 1>y = 1"}, "y = 1|b = 2|c = 3|d = 4|e = 5"},
		{"chained across the edge", []string{"b = 2>x = 1", "a = 1|x = 1>y = 1"}, "y = 1|c = 3|d = 4|e = 5"},
		{"chained thrice", []string{"a = 1>x = 1", "x = 1>y = 1", "y = 1>z = 1"}, "z = 1|b = 2|c = 3|d = 4|e = 5"},
		{"the same line", []string{"a = 1>A = 1", "a = 1>B = 1"}, "overlap 2"},
		{"the same change twice", []string{"a = 1>A = 1", "a = 1>A = 1"}, "overlap 2"},
		{"within", []string{"a = 1|b = 2|c = 3>x = 0", "b = 2>y = 0"}, "overlap 2"},
		{"context that the other changes", []string{"b = 2>B = 2", "a = 1|b = 2|c = 3>a = 1|b = 2|C = 3"}, "overlap 2"},
		{"context that a later one changes", []string{"a = 1|b = 2|c = 3>a = 1|b = 2|C = 3", "b = 2>B = 2"}, "a = 1|B = 2|C = 3|d = 4|e = 5"},
		{"context that two later ones change", []string{file + ">a = 1|b = 2|C = 3|d = 4|e = 5", "e = 5>E = 5", "a = 1|b = 2>A = 1|b = 2"}, "A = 1|b = 2|C = 3|d = 4|E = 5"},
		{"context in which a later one inserts", []string{"a = 1|b = 2|c = 3>a = 1|b = 2|C = 3", "a = 1|b = 2>a = 1|x = 0|b = 2"}, "a = 1|x = 0|b = 2|C = 3|d = 4|e = 5"},
		{"context that a later one removes", []string{"a = 1|b = 2|c = 3>a = 1|b = 2|C = 3", "b = 2>"}, "a = 1|C = 3|d = 4|e = 5"},
		{"context that a later one changes beyond it", []string{"a = 1|b = 2>A = 1|b = 2", "b = 2|c = 3>B = 2|c = 3"}, "overlap 2"},
		{"context and the change of the other", []string{"a = 1|b = 2|c = 3>a = 1|b = 2|C = 3", "b = 2|c = 3>B = 2|c = 3"}, "overlap 2"},
		{"context that the other copies", []string{"a = 1|b = 2|c = 3>a = 1|b = 2|c = 3|b = 2", "b = 2>B = 2"}, "overlap 2"},
		{"context around what the other inserts", []string{"a = 1|b = 2|c = 3>a = 1|x = 0|b = 2|c = 3", "a = 1|b = 2>A = 1|b = 2"}, "overlap 2"},
		{"context in which both insert", []string{"a = 1|b = 2|c = 3>a = 1|x = 0|b = 2|c = 3", "b = 2>y = 0|b = 2"}, "overlap 2"},
		{"insertion inside the other's context", []string{"a = 1>a = 1|x = 0", "a = 1|b = 2|c = 3>a = 1|b = 2|C = 3"}, "overlap 2"},
		{"two insertions at one place", []string{"a = 1>a = 1|x = 0", "b = 2>y = 0|b = 2"}, "overlap 2"},
		{"three on one line", []string{"a = 1>x = 0", "a = 1>y = 0", "a = 1>z = 0"}, "overlap 2, overlap 3"},
		{"one missing", []string{"a = 1>A = 1", "z = 9>y = 9", "b = 2>B = 2"}, "not_found 2"},
		{"chained on a later block", []string{"x = 1>y = 1", "a = 1>x = 1"}, "not_found 1"},
		{"chained and overlapping", []string{"a = 1>x = 1", "x = 1>y = 1", "x = 1>z = 1"}, "overlap 3"},
		{"chained on text that is there twice then", []string{"a = 1>x = 1", "b = 2>x = 1", "x = 1>y = 1"}, "not_found 3"},
		{"an overlap and a missing one", []string{"a = 1>x = 1", "a = 1>y = 1", "z = 9>y = 9"}, "overlap 2, not_found 3"},
		{"the whole file twice", []string{file + ">x = 1", file + ">y = 1"}, "overlap 2"},
	} {
		if got := edited(file, c.blocks...); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Blocks may build on one another as long as work is left.
func TestAChainOfManyBlocks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 6, 40} {
		var blocks []string
		for i := range n {
			blocks = append(blocks, fmt.Sprintf("step = %d>step = %d", i, i+1))
		}
		if got, want := edited("step = 0|end = 0", blocks...), fmt.Sprintf("step = %d|end = 0", n); got != want {
			t.Errorf("%d blocks: %s, want %s", n, got, want)
		}
		broken := append(slices.Clone(blocks[:n-1]), "step = 99>other = 1")
		if got, want := edited("step = 0|end = 0", broken...), fmt.Sprintf("not_found %d", n); got != want {
			t.Errorf("%d blocks, the last astray: %s, want %s", n, got, want)
		}
	}
}

// If the file and SEARCH contain no text, REPLACE becomes the whole file.
func TestAnEmptySearchInAnEmptyFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, search, replace, want string }{
		{"empty", "", "", "a\nb\n", "a\nb\n"},
		{"a blank line for SEARCH", "", "\n", "a\n", "a\n"},
		{"a byte order mark", "\ufeff", "", "a\n", "\ufeffa\n"},
		{"a blank line", "\n", "", "a\n", "a\n"},
		{"blank lines with CRLF", "\r\n\r\n", "", "a\nb\n", "a\r\nb\r\n"},
		{"a comment", "# a\n", "", "b\n", "refused"},
		{"a text for SEARCH", "", "a\n", "b\n", "not_found"},
		{"nothing to put in", "", "", "", "noop"},
		{"a placeholder to put in", "", "", "# ... existing code ...\n", "refused"},
	} {
		after, _, err := ApplyBlocks("a.py", []byte(c.before), []Block{{c.search, c.replace}})
		got := string(after)
		var r *problem.Refusal
		if errors.As(err, &r) {
			got = r.Problems[0].Kind
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An edit of every place may have thousands of places, but not tens of thousands.
func TestEveryOneOfManyPlaces(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{5000: "", 20001: problem.KindAmbiguous} {
		op := pairs("v = old>v = new")[0]
		op.Every = true
		after, _, problems := editFile("a.txt", []byte(strings.Repeat("v = old\nw\n", n)), []*parse.Operation{op}, document.NewWork())
		switch {
		case want == "" && (len(problems) > 0 || string(after) != strings.Repeat("v = new\nw\n", n)):
			t.Errorf("%d places: %v", n, problems)
		case want != "" && (len(problems) == 0 || problems[0].Kind != want):
			t.Errorf("%d places: %v, want %s", n, problems, want)
		}
	}
}

func TestTheEndOfTheFileIsKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, block, want string }{
		{"last line replaced", "a\nb", "b>c", "a\nc"},
		{"lines added after the last", "a\nb", "b>b|c", "a\nb\nc"},
		{"lines added, with a newline", "a\nb\n", "b>b|c", "a\nb\nc\n"},
		{"last line removed", "a\nb", "a|b>a", "a"},
		{"last line removed, with a newline", "a\nb\n", "a|b>a", "a\n"},
		{"last line removed, none left in the block", "a\nb", "b>", "a\n"},
		{"all removed", "a\nb", "a|b>", ""},
		{"blank last line", "a\nb\n\n", "b>c", "a\nc\n\n"},
		{"last line made blank", "a\nb", "b>|", "a\n\n"},
		{"last line made one blank line", "a\nb", "a|b>a||", "a\n\n"},
		{"mixed ends, last line kept", "a\r\nb\r\nc\n", "b|c>x|c", "a\r\nx\r\nc\n"},
		{"CRLF added after a last line without", "a\r\nb", "b>b|c", "a\r\nb\r\nc"},
		{"CRLF replaced", "a\r\nb", "b>c|d", "a\r\nc\r\nd"},
		{"old Mac", "a\rb", "b>c|d", "a\rc\rd"},
		{"mark and nothing else", "\ufeffa", "a>b", "\ufeffb"},
	} {
		after, _, problems := editFile("a.txt", []byte(c.before), pairs(c.block), document.NewWork())
		if string(after) != c.want || len(problems) > 0 {
			t.Errorf("%s: %q, want %q (%v)", c.name, after, c.want, problems)
		}
	}
}

func TestAppliedLinesAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	before := "a = 1\nb = 2\nc = 3\nd = 4\n"
	_, applied, problems := editFile("a.py", []byte(before), pairs("a = 1>x = 1|y = 2|z = 3", "y = 2>Y = 2", "d = 4>D = 4", "D = 4>E = 4"), document.NewWork())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []Applied{{1, "a.py", match.Exact, 1, nil}, {2, "a.py", match.Chained, 1, nil}, {3, "a.py", match.Exact, 4, nil}, {4, "a.py", match.Chained, 4, nil}}
	if !reflect.DeepEqual(applied, want) {
		t.Errorf("%v, want %v", applied, want)
	}
}

func TestManyBlocksGiveWhatFewGive(t *testing.T) {
	t.Parallel()
	var file, want []string
	var blocks []string
	for i := range 5 * document.ManyBlocks {
		line := fmt.Sprintf("line_%d = 0", i)
		file, want = append(file, line), append(want, strings.ToUpper(line))
		blocks = append(blocks, line+">"+strings.ToUpper(line))
	}
	if got := edited(strings.Join(file, "|"), blocks...); got != strings.Join(want, "|") {
		t.Errorf("got %s", got)
	}
	if got := edited(strings.Join(append(file, file[3]), "|"), blocks...); got != "ambiguous 4" {
		t.Errorf("with a line twice: %s", got)
	}
}

func TestTheGuardsOfABlock(t *testing.T) {
	t.Parallel()
	var long []string
	for i := range 50 {
		long = append(long, fmt.Sprintf("line_%d = %d", i, i))
	}
	most := strings.Join(long[2:40], "|")
	for _, c := range []struct{ name, file, block, want string }{
		{"empty SEARCH", "a = 1", ">x = 1", "refused 1"},
		{"blank SEARCH", "a = 1", " |>x = 1", "refused 1"},
		{"placeholder", "a = 1", "a = 1>x = 1|# ... existing code ...", "refused 1"},
		{"placeholder that SEARCH has", "a = 1|# ...|b = 2", "a = 1|# ...>x = 1|# ...", "x = 1|# ...|b = 2"},
		{"placeholder that the file has", "a = 1|# ...|b = 2", "a = 1>x = 1|# ...", "x = 1|# ...|# ...|b = 2"},
		{"ellipsis", "a = 1", "a = 1>def f():|    ...", "def f():|    ..."},
		{"most of a long file", strings.Join(long, "|"), most + ">x = 1", "refused 1"},
		{"most of a short file", "a = 1|b = 2|c = 3", "a = 1|b = 2>", "c = 3"},
		{"already there", "a = 1|total = 1000", "total = 50>total = 1000", "already_applied 1"},
		{"too short to say that it is there", "a = 1|}", "b = 1>}", "not_found 1"},
	} {
		if got := edited(c.file, c.block); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
