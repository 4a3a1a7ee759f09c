package align

import (
	"fmt"
	"testing"
)

// Bodies with very unequal halves are paired as far as the bound on looks allows, and every pair is correct.
func TestPivotsAreBounded(t *testing.T) {
	t.Parallel()
	// Each number occurs twice until the number after it is cut off, so exactly one number is unique at a time: always the last.
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
