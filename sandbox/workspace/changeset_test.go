package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/google/go-cmp/cmp"
)

func TestDigestsOfAChange(t *testing.T) {
	t.Parallel()
	const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	c := create("f", "").Changes[0]
	if c.BeforeDigest() != "" || c.AfterDigest() != emptySum {
		t.Errorf("create: %q, %q", c.BeforeDigest(), c.AfterDigest())
	}
	c = remove("f", "").Changes[0]
	if c.BeforeDigest() != emptySum || c.AfterDigest() != "" {
		t.Errorf("delete: %q, %q", c.BeforeDigest(), c.AfterDigest())
	}
}

func TestChangesetDigestDependsOnEveryPart(t *testing.T) {
	t.Parallel()
	base := Change{Op: Rename, Path: "b", From: "a", Before: []byte("1"), After: []byte("2"), Mode: 0o644}
	list := []Changeset{{}, {Changes: []Change{base}}}
	for _, edit := range []func(*Change){
		func(c *Change) { c.Op = Modify },
		func(c *Change) { c.Path = "c" },
		func(c *Change) { c.From = "c" },
		func(c *Change) { c.Before = []byte("3") },
		func(c *Change) { c.After = nil },
		func(c *Change) { c.Mode = 0o755 },
		func(c *Change) { c.OldMode = 0o755 },
	} {
		c := base
		edit(&c)
		list = append(list, Changeset{Changes: []Change{c}})
	}
	seen := map[string]int{}
	for i, cs := range list {
		if j, ok := seen[cs.Digest()]; ok {
			t.Errorf("changesets %d and %d have one digest", i, j)
		}
		seen[cs.Digest()] = i
	}
	two := Changeset{Changes: append(create("x", "1").Changes, create("a", "2").Changes...)}
	turned := Changeset{Changes: []Change{two.Changes[1], two.Changes[0]}}
	if two.Digest() != turned.Digest() {
		t.Error("the order of the changes counts")
	}
}

func TestReverseOfReverseIsTheChangeset(t *testing.T) {
	t.Parallel()
	cs := everything()
	want := Changeset{Changes: cs.Sorted()}
	if diff := cmp.Diff(want, cs.Reverse().Reverse()); diff != "" {
		t.Error(diff)
	}
	back := cs.Reverse()
	for i, c := range back.Sorted() {
		if c.Path != back.Changes[i].Path {
			t.Fatal("the reverse is not sorted")
		}
	}
	if err := back.Check(); err != nil {
		t.Error(err)
	}
	if !(Changeset{}).Reverse().Empty() || back.Empty() {
		t.Error("Empty is wrong")
	}
}

// C15, C19.
func TestCheckRefusesWhatMayNeverBeWritten(t *testing.T) {
	t.Parallel()
	two := func(a, b Changeset) Changeset { return Changeset{Changes: append(a.Changes, b.Changes...)} }
	rename := func(from, to string) Changeset {
		return Changeset{Changes: []Change{{Op: Rename, Path: to, From: from, Mode: 0o644}}}
	}
	for what, cs := range map[string]Changeset{
		"an unknown operation":      {Changes: []Change{{Op: "chmod", Path: "f"}}},
		"a path outside":            create("../f", ""),
		"a rename from .git":        rename(".git/config", "f"),
		"a rename into .git":        rename("f", ".git/config"),
		"a rename to itself":        rename("f", "f"),
		"a deletion in .git":        remove(".git/HEAD", "x"),
		"a source without a rename": {Changes: []Change{{Op: Create, Path: "f", From: "g"}}},
		"too much content":          create("f", strings.Repeat("x", MaxContent+1)),
		"a private key":             create("f.pem", "-----BEGIN RSA PRIVATE KEY-----"),
		"a registry token":          modify(".npmrc", "", "//r/:_authToken=x"),
		"one path twice":            two(create("f", "1"), create("f", "2")),
		"delete and create":         two(remove("f", "1"), create("f", "2")),
		"one source twice":          two(rename("f", "g"), rename("f", "h")),
		"modify and rename":         two(modify("f", "1", "2"), rename("f", "h")),
		"two renames to one path":   two(rename("f", "h"), rename("g", "h")),
		"a path below a file":       two(create("d", "1"), create("d/e/f", "2")),
		"paths that differ in case": two(create("README", "1"), create("readme", "2")),
		"paths of one Unicode form": two(create("caf\u00e9", "1"), create("cafe\u0301", "2")),
	} {
		err := cs.Check()
		var perr *PathError
		if !errors.As(err, &perr) || perr.Path == "" || perr.Reason == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestCheckTakesWhatIsFine(t *testing.T) {
	t.Parallel()
	for what, cs := range map[string]Changeset{
		"nothing":             {},
		"one of everything":   everything(),
		"as much as may be":   create("f", strings.Repeat("x", MaxContent)),
		"a big file deleted":  remove("f", strings.Repeat("x", MaxContent+1)),
		"a public key":        create("ca.pem", "-----BEGIN CERTIFICATE-----"),
		"a rename in case":    {Changes: []Change{{Op: Rename, From: "readme", Path: "README", Mode: 0o644}}},
		"a rename and a heir": {Changes: []Change{{Op: Rename, From: "a", Path: "b"}, {Op: Create, Path: "a"}}},
	} {
		if err := cs.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// C15.
func TestCollisionsWithWhatIsThere(t *testing.T) {
	t.Parallel()
	m := scan(t, treetest.New(t, treetest.Files{"readme.md": "", "Docs/a": "", "Makefile": "x", "caf\u00e9": ""}))
	cs := Changeset{Changes: []Change{
		{Op: Create, Path: "README.md"},
		{Op: Create, Path: "docs/b"},
		{Op: Create, Path: "Docs/c"},
		{Op: Rename, From: "Makefile", Path: "makefile"},
		{Op: Create, Path: "cafe\u0301"},
	}}
	want := map[string]string{"README.md": "readme.md", "docs/b": "Docs", "cafe\u0301": "caf\u00e9"}
	if diff := cmp.Diff(want, m.Collisions(cs)); diff != "" {
		t.Error(diff)
	}
}

// C07, C18.
func TestModeOfTheFileAfter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change PathChange
		host   fs.FileMode
		want   fs.FileMode
	}{
		{PathChange{Mode: 0o644}, 0, 0o644},
		{PathChange{Mode: 0o755}, 0, 0o755},
		{PathChange{Mode: 0o777}, 0, 0o755},
		{PathChange{Mode: 0o666}, 0, 0o644},
		{PathChange{Mode: 0o600}, 0, 0o600},
		{PathChange{Mode: 0o775}, 0, 0o775},
		{PathChange{Mode: 0}, 0, 0o644},
		{PathChange{Mode: fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky | 0o755}, 0, 0o755},
		{PathChange{Keep: "f", Mode: 0o644}, 0o600, 0o600},
		{PathChange{Keep: "f", Mode: 0o755}, 0o664, 0o664},
		{PathChange{Keep: "f", Mode: 0o755}, fs.ModeSetuid | 0o755, 0o755},
		{PathChange{Keep: "f", Mode: 0o755, OldMode: 0o644}, 0o640, 0o750},
		{PathChange{Keep: "f", Mode: 0o644, OldMode: 0o755}, 0o775, 0o664},
		{PathChange{Keep: "f", Mode: 0o644, OldMode: 0o644}, 0o775, 0o775},
	} {
		if got := test.change.FinalMode(test.host); got != test.want {
			t.Errorf("%+v on %v: %v, want %v", test.change, test.host, got, test.want)
		}
	}
}

func TestAChangeAsJSONHoldsNoContent(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(modify("f", "secret before", "secret after").Changes[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"op":"modify","path":"f","mode":420}`; string(text) != want || bytes.Contains(text, []byte("secret")) {
		t.Errorf("got %s, want %s", text, want)
	}
}

// everything returns a changeset with one change of every kind.
func everything() Changeset {
	b := func(s string) []byte { return []byte(s) }
	return Changeset{Changes: []Change{
		{Op: Rename, Path: "a.txt", From: "b.txt", Before: b("B\n"), After: b("B\n"), Mode: 0o755},
		{Op: Rename, Path: "b.txt", From: "a.txt", Before: b("A\n"), After: b("A changed\n"), Mode: 0o644},
		{Op: Modify, Path: "crlf.txt", Before: b("a\r\nb"), After: b("a\r\nb\x00\xff"), Mode: 0o644},
		{Op: Delete, Path: "del.txt", Before: b("bye\n"), Mode: 0o644},
		{Op: Modify, Path: "empty.txt", Before: nil, After: b("full\n"), Mode: 0o644},
		{Op: Modify, Path: "flip.sh", Before: b("echo\n"), After: b("echo\n"), Mode: 0o755, OldMode: 0o644},
		{Op: Modify, Path: "mod.txt", Before: b("one\n"), After: b("two\n"), Mode: 0o644},
		{Op: Create, Path: "new/deep/file.txt", After: b("new\n"), Mode: 0o777},
		{Op: Create, Path: "new/nothing", After: nil, Mode: 0o644},
		{Op: Modify, Path: "private.txt", Before: b("mine\n"), After: b("still mine\n"), Mode: 0o644},
		{Op: Rename, Path: "moved/ren2.txt", From: "ren.txt", Before: b("name\n"), After: b("name 2\n"), Mode: 0o644},
		{Op: Delete, Path: "room/only.txt", Before: b("alone\n"), Mode: 0o644},
		{Op: Modify, Path: "run.sh", Before: b("#!/bin/sh\n"), After: b("#!/bin/sh\nexit\n"), Mode: 0o755},
		{Op: Delete, Path: "todir", Before: b("d\n"), Mode: 0o644},
		{Op: Create, Path: "todir/inner/f", After: b("inner\n"), Mode: 0o644},
		{Op: Create, Path: "tofile", After: b("file now\n"), Mode: 0o644},
		{Op: Delete, Path: "tofile/x", Before: b("x\n"), Mode: 0o644},
		{Op: Delete, Path: "tofile/y/z", Before: b("z\n"), Mode: 0o644},
		{Op: Create, Path: "vacated/new.txt", After: b("2\n"), Mode: 0o644},
		{Op: Delete, Path: "vacated/one.txt", Before: b("1\n"), Mode: 0o644},
	}}
}
