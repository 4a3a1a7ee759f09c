package parse

import (
	"fmt"
	"strings"
	"testing"
)

// Excessive numbers of tags and JSON values are refused before they are stored.
func TestTooManyPieces(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]string{
		strings.Repeat("</EDIT>", maxTags+1):                    "tags",
		"[" + strings.Repeat("{\"a\":1},", maxJSONValues) + "]": "values",
	} {
		if _, err := Parse([]byte(response)); err == nil || !strings.Contains(err.Error(), fmt.Sprint("more than ", maxTags, " ", want)) {
			t.Errorf("%.20s: %.300v", response, err)
		}
	}
}
