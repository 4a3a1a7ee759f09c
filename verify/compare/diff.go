package compare

import (
	"bytes"

	"github.com/aymanbagabas/go-udiff"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

// NewDiff describes cs applied to the base in v. It computes one line difference for each touched file; everything else
// is a lookup.
func NewDiff(cs workspace.Changeset, v check.View) check.Diff {
	d := check.Diff{
		Moved: renames(cs), Deleted: map[string]bool{}, Touched: map[string]bool{},
		Hunks: map[string][]check.Region{}, Names: map[string]bool{}, Given: map[string]bool{}, Sources: check.NewSources(v),
	}
	for _, c := range cs.Changes {
		addNames(d.Names, c)
		// A rename is not a deletion: findings and tests follow it.
		if c.Op == workspace.Delete {
			d.Deleted[c.Path] = true
			continue
		}
		d.Touched[c.Path] = true
		d.Hunks[c.Path] = Regions(c.Before, c.After)
		addDefinitions(d, c, d.Hunks[c.Path])
	}
	return d
}

// Regions lists the rewritten places between two texts, in order and without
// overlap. Pure insertions and deletions are regions too, with one side empty.
func Regions(before, after []byte) []check.Region {
	var list []check.Region
	shift := 0 // lines that the text has grown by so far
	for _, e := range udiff.Lines(string(before), string(after)) {
		removed := bytes.Count(before[e.Start:e.End], []byte("\n"))
		// The difference consists of whole lines, so only the last can lack its newline.
		if e.End > e.Start && before[e.End-1] != '\n' {
			removed++ // a last line without a newline
		}
		added := countLines(e.New)
		from := bytes.Count(before[:e.Start], []byte("\n")) + 1
		list = append(list, check.Region{OldFrom: from, OldTo: from + removed, NewFrom: from + shift, NewTo: from + shift + added})
		shift += added - removed
	}
	return list
}

// countLines counts lines, including a last one without a newline.
func countLines(text string) int {
	n := bytes.Count([]byte(text), []byte("\n"))
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// renames maps the old path of every renamed file to its new one.
func renames(cs workspace.Changeset) map[string]string {
	moved := map[string]string{}
	for _, c := range cs.Changes {
		if c.Op == workspace.Rename {
			moved[c.From] = c.Path
		}
	}
	return moved
}
