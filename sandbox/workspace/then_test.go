package workspace

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// put applies a changeset to a tree in memory.
func put(tree map[string]string, cs Changeset) map[string]string {
	out := maps.Clone(tree)
	for _, c := range cs.Changes {
		if c.Op == Delete {
			delete(out, c.Path)
		}
		if c.Op == Rename {
			delete(out, c.From)
		}
	}
	for _, c := range cs.Changes {
		if c.Op != Delete {
			out[c.Path] = string(c.After)
		}
	}
	return out
}

// TestThenDoesBoth draws three trees and goes from the first to the last in two steps and in one.
func TestThenDoesBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawTree(t, "a", drawText()), drawTree(t, "b", drawText()), drawTree(t, "c", drawText())
		first, second := drawChanges(t, a, b), drawChanges(t, b, c)
		both, err := first.Then(second)
		if err != nil {
			t.Fatal(err)
		}
		if got := put(a, both); !maps.Equal(got, c) {
			t.Fatalf("%v then %v gives %v instead of %v", first, second, got, c)
		}
		for _, ch := range both.Changes {
			from := ch.Path
			if ch.Op == Rename {
				from = ch.From
			}
			if old, ok := a[from]; ok != (ch.Op != Create) || old != string(ch.Before) {
				t.Fatalf("%s %s was made from %q, the file is %q", ch.Op, ch.Path, ch.Before, old)
			}
			if now, ok := c[ch.Path]; ch.Op == Modify && ok && now == a[ch.Path] && ch.OldMode == 0 {
				t.Fatalf("%s is listed and not changed", ch.Path)
			}
		}
		if _, err := both.Flatten(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestThenKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	rename := Changeset{Changes: []Change{{Op: Rename, From: "a", Path: "b", Before: []byte("x"), After: []byte("x"), Mode: 0o644}}}
	both, err := rename.Then(create("c", "y"))
	if err != nil || len(both.Changes) != 2 || both.Changes[0].Op != Rename {
		t.Errorf("%v, %v", both, err)
	}
	both, err = rename.Then(modify("b", "x", "z"))
	if err != nil || len(both.Changes) != 2 || both.Changes[0].Op != Delete || both.Changes[1].Op != Create || string(both.Changes[1].After) != "z" {
		t.Errorf("%v, %v", both, err)
	}
	run := Changeset{Changes: []Change{{Op: Modify, Path: "a", Before: []byte("x"), After: []byte("x"), Mode: 0o755, OldMode: 0o644}}}
	if both, err = run.Then(modify("a", "x", "y")); err != nil || len(both.Changes) != 1 || both.Changes[0].OldMode != 0o644 {
		t.Errorf("%v, %v", both, err)
	}
	both, err = create("a", "x").Then(remove("a", "x"))
	if err != nil || !both.Empty() {
		t.Errorf("%v, %v", both, err)
	}
}

func TestThenRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]Changeset{
		"another content":        modify("a", "z", "y"),
		"a file that went":       modify("gone", "g", "h"),
		"a file that came":       create("new", "n"),
		"one that changes twice": {Changes: append(modify("q", "1", "2").Changes, modify("q", "1", "3").Changes...)},
	} {
		first := Changeset{Changes: append(append(modify("a", "x", "y").Changes, remove("gone", "g").Changes...), create("new", "m").Changes...)}
		if _, err := first.Then(next); err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
