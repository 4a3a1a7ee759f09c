package workspace

import (
	"fmt"
	"strings"
	"testing"
)

// The files that a changeset makes are bounded, and a refusal states the bound. Existing files may be changed.
func TestWhatAChangesetMakesIsBounded(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("d/", n) + "a" }
	long := func(n int) string {
		return strings.Repeat(strings.Repeat("d", 99)+"/", n/100) + strings.Repeat("a", n%100)
	}
	var many, most []Change
	for i := range MaxChanges + 1 {
		many = append(many, Change{Op: Create, Path: fmt.Sprint(i), Mode: 0o644})
	}
	most = many[:MaxChanges]
	one := func(op Op, p string) []Change {
		c := Change{Op: op, Path: p, Mode: 0o644}
		if op == Rename {
			c.From = "b"
		}
		return []Change{c}
	}
	for name, c := range map[string]struct {
		changes []Change
		want    string
	}{
		"200 directories":        {one(Create, deep(200)), "it lies below 200 directories, and a new file may lie below 64"},
		"as the place of a file": {one(Rename, deep(65)), "it lies below 65 directories"},
		"as many as may be":      {one(Create, deep(MaxDepth)), ""},
		"in a file that is so":   {one(Modify, deep(200)), ""},
		"that goes":              {one(Delete, deep(200)), ""},
		"a long path":            {one(Create, long(3950)), "it has 3950 bytes, and the path of a new file may have 1024"},
		"as long as may be":      {one(Create, long(MaxNewPath)), ""},
		"many":                   {many, "10001 changes, and a changeset may have 10000"},
		"as many as one may":     {most, ""},
	} {
		err := (Changeset{Changes: c.changes}).CheckBounds()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}
