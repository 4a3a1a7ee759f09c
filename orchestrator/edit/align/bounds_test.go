package align

import (
	"fmt"
	"testing"
)

// Bodies whose halves are very unequal are paired as far as the looks go,
// and what is paired is right.
func TestPivotsAreBounded(t *testing.T) {
	t.Parallel()
	// Each number stands twice up to where the number after it is cut off: one
	// at a time is unique, always the last.
	side := func(junk string) (lines []string) {
		for i := 4000; i > 0; i-- {
			lines = append(lines, fmt.Sprint(i), junk, fmt.Sprint(i+1), junk+junk)
		}
		return append(lines, "P", junk, "1")
	}
	a, b := append([]string{"s"}, side("q")...), append([]string{"t"}, side("v")...)
	al := aligner{out: unpaired(len(b)), left: maxPivots * (len(a) + len(b))}
	al.between(a, b, 0, 0)
	if al.left > 0 || al.left < -len(a)-len(b) {
		t.Errorf("%d looks are left", al.left)
	}
	checkPairing(t, a, b, al.out)
}
