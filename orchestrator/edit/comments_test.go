package edit

import (
	"testing"
)

func TestNewLinesAfterACommentAreNotAddedTwice(t *testing.T) {
	t.Parallel()
	const file = "a = 1  # why|b = 2|c = 3"
	for block, want := range map[string]string{
		"a = 1>a = 1|b = 2":   "already_applied 1",
		"a = 1>a = 1|# so":    "a = 1  # why|# so|b = 2|c = 3",
		"a = 1>a = 1|b = 3":   "a = 1  # why|b = 3|b = 2|c = 3",
		"b = 2|c = 3>b = 2":   "a = 1  # why|b = 2",
		"a = 1|c = 3>a = 1":   "not_found 1",
		"a = 1|b = 2>a = 1|b": "a = 1  # why|b|c = 3",
	} {
		if got := edited(file, block); got != want {
			t.Errorf("%s: %s, want %s", block, got, want)
		}
	}
}
