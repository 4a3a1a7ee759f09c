package edit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/problem"
)

// A sample is a file of distinct lines, so every run of lines has one place.
type sample struct {
	mark  string
	lines []string
	ends  []string
}

func (s sample) text() string {
	var b strings.Builder
	b.WriteString(s.mark)
	for i, l := range s.lines {
		b.WriteString(l + s.ends[i])
	}
	return b.String()
}

// part returns the bytes of lines [i, j).
func (s sample) part(i, j int) string {
	return sample{lines: s.lines[i:j], ends: s.ends[i:j]}.text()
}

// drawSample draws a file of at least atLeast lines. ends lists the line ends that may occur.
func drawSample(t *rapid.T, atLeast int, ends ...string) sample {
	n := rapid.IntRange(atLeast, 30).Draw(t, "lines")
	s := sample{mark: rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark")}
	for i := range n {
		pad := strings.Repeat(" ", 4*rapid.IntRange(0, 3).Draw(t, "depth"))
		tail := rapid.SampledFrom([]string{"", " ", "\t", "\x0c", "\xff", "é", "a\rb"}).Draw(t, "tail")
		s.lines = append(s.lines, fmt.Sprintf("%sold_%d(%s)%s", pad, i, rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "word"), tail))
		s.ends = append(s.ends, rapid.SampledFrom(ends).Draw(t, "end"))
	}
	if rapid.Bool().Draw(t, "no newline at the end") {
		s.ends[n-1] = ""
	}
	return s
}

// drawNew draws replacement lines that occur nowhere in a sample.
func drawNew(t *rapid.T, name string) []string {
	var out []string
	for i := range rapid.IntRange(1, 5).Draw(t, name) {
		out = append(out, fmt.Sprintf("new_%s_%d = 1", name, i))
	}
	return out
}

func block(search, replace []string) edit.Block {
	return edit.Block{Search: strings.Join(search, "\n") + "\n", Replace: strings.Join(replace, "\n") + "\n"}
}

// applyBlocks applies blocks that must not be refused.
func applyBlocks(t *rapid.T, text string, blocks ...edit.Block) (string, []edit.Applied) {
	t.Helper()
	after, applied, err := edit.ApplyBlocks("a.py", []byte(text), blocks)
	if err != nil {
		t.Fatalf("apply to %q: %v", text, err)
	}
	return string(after), applied
}

func TestBytesOutsideABlockStayAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 2, "\n", "\r\n")
		i := rapid.IntRange(0, len(s.lines)-1).Draw(t, "from")
		j := rapid.IntRange(i+1, len(s.lines)).Draw(t, "to")
		after, _ := applyBlocks(t, s.text(), block(s.lines[i:j], drawNew(t, "r")))
		head, tail := s.mark+s.part(0, i), s.part(j, len(s.lines))
		if !strings.HasPrefix(after, head) || !strings.HasSuffix(after, tail) {
			t.Fatalf("lines %d to %d of %q replaced gave %q", i, j, s.text(), after)
		}
		if strings.HasSuffix(after, "\n") != strings.HasSuffix(s.text(), "\n") {
			t.Fatalf("the final newline of %q changed: %q", s.text(), after)
		}
	})
}

func TestApplyThenReverseIsIdentity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 3, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "ends"))
		i := rapid.IntRange(0, len(s.lines)-1).Draw(t, "from")
		// Two lines are kept: without another line end, nothing would show how lines end.
		j := rapid.IntRange(i+1, min(len(s.lines), i+len(s.lines)-2)).Draw(t, "to")
		fresh := drawNew(t, "r")
		there, _ := applyBlocks(t, s.text(), block(s.lines[i:j], fresh))
		back, _ := applyBlocks(t, there, block(fresh, s.lines[i:j]))
		if back != s.text() {
			t.Fatalf("there and back from %q gave %q", s.text(), back)
		}
	})
}

func TestAShiftedFileGivesTheShiftedResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 2, "\n")
		s.mark = ""
		i := rapid.IntRange(0, len(s.lines)-1).Draw(t, "from")
		j := rapid.IntRange(i+1, len(s.lines)).Draw(t, "to")
		b := block(s.lines[i:j], drawNew(t, "r"))
		n := rapid.IntRange(1, 9).Draw(t, "shift")
		var head strings.Builder
		for k := range n {
			fmt.Fprintf(&head, "head_%d\n", k)
		}
		plain, at := applyBlocks(t, s.text(), b)
		shifted, shiftedAt := applyBlocks(t, head.String()+s.text(), b)
		if shifted != head.String()+plain || shiftedAt[0].Line != at[0].Line+n {
			t.Fatalf("%q at %d; shifted by %d lines %q at %d", plain, at[0].Line, n, shifted, shiftedAt[0].Line)
		}
	})
}

// The same blocks on the same file with other line ends give the same result with those line ends, whatever line ends the block has.
func TestLineEndsFollowTheFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 3, "\n")
		s.ends[0] = "\n"
		i := rapid.IntRange(0, len(s.lines)-1).Draw(t, "from")
		j := rapid.IntRange(i+1, min(len(s.lines), i+len(s.lines)-1)).Draw(t, "to")
		search, replace := s.lines[i:j], slices.Concat(s.lines[i:i+1], drawNew(t, "r"))
		crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
		b := block(search, replace)
		plain, _ := applyBlocks(t, s.text(), b)
		if rapid.Bool().Draw(t, "block too") {
			b = edit.Block{Search: crlf(b.Search), Replace: crlf(b.Replace)}
		}
		if got, _ := applyBlocks(t, crlf(s.text()), b); got != crlf(plain) {
			t.Fatalf("%q, and with other line ends %q", plain, got)
		}
	})
}

func TestIndependentBlocksCommute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 4, "\n", "\r\n")
		cut := rapid.IntRange(1, len(s.lines)-1).Draw(t, "cut")
		i := rapid.IntRange(0, cut-1).Draw(t, "first")
		j := rapid.IntRange(cut, len(s.lines)-1).Draw(t, "second")
		a := block(s.lines[i:cut], drawNew(t, "a"))
		b := block(s.lines[j:], drawNew(t, "b"))
		one, _ := applyBlocks(t, s.text(), a, b)
		other, _ := applyBlocks(t, s.text(), b, a)
		if one != other {
			t.Fatalf("%q in one order, %q in the other", one, other)
		}
	})
}

func TestAUniformShiftOfABlockDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 3, "\n")
		i := rapid.IntRange(0, len(s.lines)-2).Draw(t, "from")
		j := rapid.IntRange(i+2, len(s.lines)).Draw(t, "to")
		search := s.lines[i:j]
		replace := slices.Insert(slices.Clone(search), rapid.IntRange(1, len(search)-1).Draw(t, "at"), "            added = 1")
		pad := func(lines []string, by string) []string {
			var out []string
			for _, l := range lines {
				out = append(out, by+l)
			}
			return out
		}
		plain, _ := applyBlocks(t, s.text(), block(search, replace))
		by := rapid.SampledFrom([]string{"  ", "    ", "        "}).Draw(t, "by")
		over, applied := applyBlocks(t, s.text(), block(pad(search, by), pad(replace, by)))
		if over != plain || applied[0].Strategy != match.Indentation {
			t.Fatalf("%q plain, %q with %d spaces more, by %s", plain, over, len(by), applied[0].Strategy)
		}
	})
}

func TestABlockWithTwoPlacesIsNeverApplied(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 2, "\n")
		s.ends[len(s.ends)-1] = "\n"
		i := rapid.IntRange(0, len(s.lines)-1).Draw(t, "from")
		j := rapid.IntRange(i+1, len(s.lines)).Draw(t, "to")
		text := s.text() + s.part(i, j)
		_, _, err := edit.ApplyBlocks("a.py", []byte(text), []edit.Block{block(s.lines[i:j], drawNew(t, "r"))})
		var refusal *problem.Refusal
		if !errors.As(err, &refusal) || refusal.Problems[0].Kind != "ambiguous" || len(refusal.Problems[0].Lines) != 2 {
			t.Fatalf("a block with two places in %q gave %v", text, err)
		}
	})
}

// A diff between two texts of few distinct lines is often ambiguous. It must give the new text or be refused.
func TestADiffGivesTheNewTextOrIsRefused(t *testing.T) {
	t.Parallel()
	applied, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		letters := strings.Split("abcd", "")
		lines := rapid.SliceOfN(rapid.SampledFrom(letters), 40, 90).Draw(t, "lines")
		end := rapid.SampledFrom([]string{"\n", ""})
		before := strings.Join(lines, "\n") + end.Draw(t, "end before")
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			i := rapid.IntRange(0, len(lines)-1).Draw(t, "at")
			fresh := rapid.SliceOfN(rapid.SampledFrom(letters), 1, 3).Draw(t, "fresh")
			lines = slices.Replace(slices.Clone(lines), i, min(i+len(fresh)-1, len(lines)), fresh...)
		}
		after := strings.Join(lines, "\n") + end.Draw(t, "end after")
		diff := udiff.Unified("a/f.txt", "b/f.txt", before, after)
		if rapid.Bool().Draw(t, "wrong lines") {
			diff = strings.ReplaceAll(diff, "@@ -", "@@ -9")
		}
		cs, _, err := edit.Apply(memory{text: map[string]string{"f.txt": before}}, []byte(diff), "")
		switch {
		case err != nil:
			refused++
		case string(cs.Changes[0].After) != after:
			t.Fatalf("%q to %q by\n%s\ngave %q", before, after, diff, cs.Changes[0].After)
		default:
			applied++
		}
	})
	if applied == 0 || refused == 0 {
		t.Errorf("%d applied and %d refused: one side was never tried", applied, refused)
	}
}
