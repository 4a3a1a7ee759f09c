package document

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// naive finds all places of needle one by one.
func naive(hay, needle []int32) []int {
	var out []int
	for i := 0; i+len(needle) <= len(hay); i++ {
		if slices.Equal(hay[i:i+len(needle)], needle) {
			out = append(out, i)
		}
	}
	return out
}

func TestSearchFindsWhatANaiveSearchFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.IntRange(1, 4).Draw(t, "letters")
		draw := func(lo, hi int, name string) []string {
			l := rapid.SliceOfN(rapid.IntRange(0, letters-1), lo, hi).Draw(t, name)
			out := make([]string, len(l))
			for i, x := range l {
				out[i] = string(rune('a' + x))
			}
			return out
		}
		hay, needle := draw(1, 200, "hay"), draw(1, 5, "needle")
		d := New("", []byte(strings.Join(hay, "\n")+"\n"))
		v := d.View(whole)
		v.build()
		got, kept := v.Find(needle, math.MaxInt)
		ids, _, ok := v.Numbers(needle)
		if !ok {
			if got != nil {
				t.Fatalf("%v is not in the file and was found at %v", needle, got)
			}
			return
		}
		want := naive(v.ids, ids)
		if !slices.Equal(got, want) || len(kept) != len(needle) {
			t.Fatalf("%v in %v: %v, want %v", needle, hay, got, want)
		}
		if again := v.repeated(ids, math.MaxInt, nil); !slices.Equal(again, want) {
			t.Fatalf("%v in %v as bytes: %v, want %v", needle, hay, again, want)
		}
		if few, _ := v.Find(needle, 2); len(few) != min(2, len(want)) {
			t.Fatalf("limited to two: %v of %v", few, want)
		}
		if exact := d.FindExact(needle, math.MaxInt); !slices.Equal(exact, want) {
			t.Fatalf("findExact of %v in %v: %v, want %v", needle, hay, exact, want)
		}
	})
}

func TestViewsSetMoreAndMoreAside(t *testing.T) {
	t.Parallel()
	text := "x = 1  \n\n    # why\n\ty = \u201ca\u201d\n"
	for _, c := range []struct {
		name   string
		search []string
		found  []ViewKind
	}{
		{"as it stands", []string{"x = 1  ", "", "    # why", "\ty = \u201ca\u201d"}, []ViewKind{whole, TrimmedEnd, Loose, LooseFilled, LooseCode}},
		{"without trailing space", []string{"x = 1", "", "    # why"}, []ViewKind{TrimmedEnd, Loose, LooseFilled, LooseCode}},
		{"other indentation", []string{"  x = 1", "", "# why"}, []ViewKind{Loose, LooseFilled, LooseCode}},
		{"plain quotes", []string{"    # why", "\ty = \"a\""}, []ViewKind{Loose, LooseFilled, LooseCode}},
		{"no blank line", []string{"x = 1", "# why"}, []ViewKind{LooseFilled, LooseCode}},
		{"no comment", []string{"x = 1", "y = \"a\""}, []ViewKind{LooseCode}},
		{"another token", []string{"x = 2"}, nil},
	} {
		d := New("a.py", []byte(text))
		for k := range viewKinds {
			places, _ := d.View(k).Find(c.search, Most)
			if want := slices.Contains(c.found, k); (len(places) == 1) != want {
				t.Errorf("%s in view %d: places %v, want it found: %v", c.name, k, places, want)
			}
		}
	}
}

func TestViewsNameTheLinesOfTheFile(t *testing.T) {
	t.Parallel()
	d := New("a.py", []byte("\n# c\nx\n\ny\n"))
	if got := d.View(LooseCode).build().lines; !slices.Equal(got, []int32{2, 4}) {
		t.Errorf("the lines of code are %v, want 2 and 4", got)
	}
	if got := d.View(LooseFilled).build().lines; !slices.Equal(got, []int32{1, 2, 4}) {
		t.Errorf("the filled lines are %v, want 1, 2 and 4", got)
	}
	first := d.View(Loose)
	if again := d.View(Loose); again != first {
		t.Error("a view is built twice")
	}
}

// No view numbers a file of too many short lines.
func TestAThinFileHasNoIndex(t *testing.T) {
	t.Parallel()
	d := New("a.py", []byte(strings.Repeat("1\n2\n", 40000)+"one = 1\n  two = 2  \n"))
	for k := range viewKinds {
		if d.View(k).Find([]string{"1", "2"}, Most); d.View(k).numbers != nil {
			t.Errorf("view %d is built", k)
		}
	}
}
