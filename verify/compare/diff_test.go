package compare

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRegionsMapOldLinesToNewOnes(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		before, after := "", ""
		for i := range rapid.IntRange(0, 12).Draw(t, "lines") {
			same := rapid.Bool().Draw(t, "same")
			text := line.Draw(t, "old")
			before += text
			if same {
				after += text
			} else {
				after += line.Draw(t, "new")
			}
			_ = i
		}
		before += rapid.SampledFrom([]string{"", "end"}).Draw(t, "end")
		// Outside the regions, both texts are equal line by line.
		shiftOld, shiftNew := 1, 1
		oldLines, newLines := splitLines(before), splitLines(after)
		check := func(oldTo, newTo int) {
			if oldTo-shiftOld != newTo-shiftNew {
				t.Fatalf("regions do not line up: %q %q", before, after)
			}
			for i := 0; i < oldTo-shiftOld; i++ {
				if oldLines[shiftOld-1+i] != newLines[shiftNew-1+i] {
					t.Fatalf("line %d differs outside the regions: %q %q", shiftOld+i, before, after)
				}
			}
		}
		for _, r := range Regions([]byte(before), []byte(after)) {
			check(r.OldFrom, r.NewFrom)
			shiftOld, shiftNew = r.OldTo, r.NewTo
		}
		check(len(oldLines)+1, len(newLines)+1)
	})
}

// splitLines cuts text after each newline.
func splitLines(text string) []string {
	var lines []string
	for len(text) > 0 {
		i := 0
		for i < len(text)-1 && text[i] != '\n' {
			i++
		}
		lines = append(lines, text[:i+1])
		text = text[i+1:]
	}
	return lines
}
