package lex

import (
	"strings"
	"testing"
)

// A byte beyond ASCII is noticed at each of the eight positions that are read at once, and after the last eight.
func TestASCIIIsToldByEachByte(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		plain := strings.Repeat("\x7f", n)
		if !ASCII(plain) {
			t.Errorf("%d bytes of ASCII are taken for others", n)
		}
		for i := range n {
			if ASCII(plain[:i] + "\x80" + plain[i+1:]) {
				t.Errorf("byte %d of %d is taken for ASCII", i, n)
			}
		}
	}
}
