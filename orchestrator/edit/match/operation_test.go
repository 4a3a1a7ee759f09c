package match

import (
	"strings"
	"testing"
)

func TestBlankLinesThatSearchLostAreTakenFromReplace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in            string
		before, after int
		want          string
	}{
		{"a", 1, 1, "a"},
		{"|a|", 1, 1, "a"},
		{"||a||", 1, 1, "|a|"},
		{"|a|", 0, 1, "|a"},
		{"|a|", 5, 5, "a"},
		{"||", 1, 1, ""},
	} {
		got := strings.Join(trimOuter(strings.Split(c.in, "|"), c.before, c.after), "|")
		if got != c.want {
			t.Errorf("%q without %d and %d: %q, want %q", c.in, c.before, c.after, got, c.want)
		}
	}
}
