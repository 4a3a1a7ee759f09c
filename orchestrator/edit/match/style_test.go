package match

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/edit/document"
)

func TestIndentationAtTheLimitsOfWhatCanBeLearnt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, replace, want string }{
		{"a tab after spaces", ">a|>>b", "    a|        b", "    >c", "refused at c"},
		{"nothing tells how wide a tab is", "    a|    b", "a|b", "a|>c", "refused at c"},
		{"a tab below spaces, as the file has it", "    a|    b|    \tc", "a|b|>c", "a|>d", "    a|    >d"},
		{"one depth, a tab for spaces", "    a|    b", ">a|>b", ">>c", "        c"},
		{"one depth, deeper by its own step", "        a", "  a", "  a|    b", "        a|          b"},
		{"the wrong way round", "    a|a", "a|    b", "c|        d", "refused at c"},
		{"levels of nine", "a|         b", "a| b", "a|  c", "refused at c"},
		{"levels of eight", "a|        b", "a| b", "a|  c", "a|                c"},
		{"a third pair that disagrees", "a|    b|      c", "a|  b|    c", "d|      e", "refused at e"},
		{"depths that are known, among those that are not", "a|    b|      c", "a|  b|    c", "d|  e", "d|    e"},
		{"tabs for two spaces", ">a|>>b|>>>c", "  a|    b|      c", "        d", ">>>>d"},
		{"two spaces for tabs", "  a|    b", ">a|>>b", ">>>d", "      d"},
		{"a block pasted a level deeper, less deep at its end", "a|  b", "  a|    b", "  a|    b|  c", "a|  b|c"},
		{"deeper, with tabs, in a file without indentation", "a|b", "    a|    b", "    a|    >c", "a|>c"},
		{"the first line swallowed, of two depths", "    a:|        b|    c", "a:|        b|    c", "d(|            e", "    d(|            e"},
	} {
		if got := indents(c.file, c.search, c.replace); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The file and the block use different styles of indentation. Whatever the styles are, every new line lands at its own depth.
func TestEveryStyleIsTranslatedIntoEveryOther(t *testing.T) {
	t.Parallel()
	styles := []string{"\t", "  ", "   ", "    ", "        "}
	rapid.Check(t, func(t *rapid.T) {
		theirs, ours := rapid.SampledFrom(styles).Draw(t, "file"), rapid.SampledFrom(styles).Draw(t, "block")
		base := rapid.IntRange(0, 3).Draw(t, "base")
		write := func(style string, base int, depths []int, name string) (out []string) {
			for i, n := range depths {
				out = append(out, strings.Repeat(style, base+n)+name+string(rune('a'+i)))
			}
			return out
		}
		old := append([]int{0, 1}, rapid.SliceOfN(rapid.IntRange(0, 3), 0, 4).Draw(t, "old")...)
		fresh := append([]int{0}, rapid.SliceOfN(rapid.IntRange(0, 4), 0, 6).Draw(t, "new")...)
		file := write(theirs, base, old, "old_")
		text := "start\n" + strings.Join(file, "\n") + "\nend\n"
		d := document.New("a.py", []byte(text))
		search, replace := write(ours, base, old, "old_"), write(ours, base, fresh, "new_")
		f := locate(d, search, replace)
		if len(f.Places) != 1 {
			t.Fatalf("%q in %q: %s", search, text, located(f))
		}
		s, err := Rewrite(d, f.Places[0])
		if err != nil {
			if theirs != "\t" && ours != "\t" && len(theirs)%len(ours) != 0 && len(ours)%len(theirs) != 0 {
				return // a ratio of three to two is refused
			}
			t.Fatalf("%q in %q: %v", search, text, err)
		}
		want := "start\n" + strings.Join(write(theirs, base, fresh, "new_"), "\n") + "\nend\n"
		if got := string(Merge(d, []*Match{{Splices: s}})); got != want {
			t.Fatalf("%q by %q in %q gave\n%q, want\n%q", search, replace, text, got, want)
		}
	})
}
