package images

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entries is a tree by path.
type entries map[string]File

// list returns the entries as a Tree lists them.
func (e entries) list() []File {
	var files []File
	for _, name := range slices.Sorted(maps.Keys(e)) {
		files = append(files, e[name])
	}
	return files
}

// put adds an entry and the directories above it, unless something else is in the way.
func (e entries) put(f File) {
	for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
		if d, ok := e[dir]; ok && !d.Mode.IsDir() {
			return
		}
	}
	for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
		e[dir] = File{Path: dir, Mode: fs.ModeDir | 0o755}
	}
	if _, ok := e[f.Path]; !ok || !e.holds(f.Path) {
		e[f.Path] = f
	}
}

// holds reports whether anything lies below a directory.
func (e entries) holds(dir string) bool {
	for name := range e {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// drop removes an entry and everything below it.
func (e entries) drop(name string) {
	maps.DeleteFunc(e, func(p string, _ File) bool { return p == name || strings.HasPrefix(p, name+"/") })
}

// apply does to a frozen tree what the guest does to a box.
func (e entries) apply(t *testing.T, d Delta) {
	t.Helper()
	for _, name := range d.Delete {
		if f, ok := e[name]; !ok || f.Mode.Type() != 0 {
			t.Fatalf("%s is deleted and is %v", name, f)
		}
		delete(e, name)
	}
	for _, name := range d.Delete {
		for dir := path.Dir(name); dir != "." && !e.holds(dir); dir = path.Dir(dir) {
			delete(e, dir)
		}
	}
	for _, f := range d.Write {
		if f.Mode.Type() != 0 {
			t.Fatalf("%v is written", f)
		}
		e.put(f)
	}
}

// frozen returns the tree in the form that a snapshot has.
func (e entries) frozen() entries {
	out := maps.Clone(e)
	for name, f := range out {
		if f.Mode.IsRegular() {
			f.Mode |= 0o444
			out[name] = f
		}
	}
	return out
}

// stir makes n random changes.
func (e entries) stir(r *rand.Rand, n int, links bool) {
	names := []string{"a", "a-", "a.b", "b", "c"}
	for range n {
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, names[r.IntN(len(names))])
		}
		f := File{Path: strings.Join(parts, "/"), Mode: []fs.FileMode{0o644, 0o755, 0o600}[r.IntN(3)]}
		f.Digest = hash([]byte{byte(r.IntN(4))})
		switch k := r.IntN(20); {
		case k < 6:
			e.drop(f.Path)
			continue
		case k == 6 && links:
			f.Mode, f.Digest, f.Target = fs.ModeSymlink|0o777, "", "b"
		case k == 7 && links:
			f.Mode, f.Digest = fs.ModeDir|0o755, ""
		}
		e.put(f)
	}
}

// Whatever changes in a tree, a difference that is found turns the old tree into the new one.
func TestADifferenceMakesTheTree(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		old := entries{}
		old.stir(r, 25, true)
		now := maps.Clone(old)
		now.stir(r, 1+r.IntN(8), seed%4 == 0)
		d, ok := difference(old.list(), now.list())
		if !ok {
			continue
		}
		found++
		got := old.frozen()
		got.apply(t, d)
		if diff := cmp.Diff(now.frozen(), got); diff != "" {
			t.Fatalf("seed %d: of %v comes by %+v (-want +got):\n%s", seed, old.list(), d, diff)
		}
		if maps.Equal(old.frozen(), now.frozen()) != (len(d.Delete)+len(d.Write) == 0) {
			t.Fatalf("seed %d: %+v", seed, d)
		}
	}
	if found < 10_000 {
		t.Errorf("only %d differences of 20,000 were found", found)
	}
}

func TestADifferenceIsOfFilesAndSmall(t *testing.T) {
	t.Parallel()
	file := func(name string, mode fs.FileMode, size int64) File {
		return File{name, mode, size, hash([]byte(name)), ""}
	}
	dir := func(name string) File { return File{Path: name, Mode: fs.ModeDir | 0o755} }
	link := func(name, to string) File { return File{Path: name, Mode: fs.ModeSymlink | 0o777, Target: to} }
	many := func(n int) (files []File) {
		for i := range n {
			files = append(files, file(fmt.Sprintf("f%03d", i), 0o644, 1))
		}
		return files
	}
	a := file("d/a", 0o644, 1)
	for what, c := range map[string]struct {
		old, now       []File
		deleted, wrote int // -1: there is no difference
	}{
		"nothing":                       {[]File{dir("d"), a}, []File{dir("d"), a}, 0, 0},
		"a mode that a snapshot has":    {[]File{file("a", 0o644, 1)}, []File{file("a", 0o755, 1)}, 0, 1},
		"a mode that a snapshot widens": {[]File{file("a", 0o644, 1)}, []File{file("a", 0o600, 1)}, 0, 0},
		"a directory with its files":    {[]File{dir("d"), dir("d/e"), file("d/e/a", 0o644, 1)}, []File{file("z", 0o644, 1)}, 1, 1},
		"an empty directory":            {nil, []File{dir("d")}, -1, 0},
		"an empty directory that goes":  {[]File{dir("d")}, nil, -1, 0},
		"an empty directory that stays": {[]File{dir("d"), file("e", 0o644, 1)}, []File{dir("d")}, 1, 0},
		"an empty directory filled":     {[]File{dir("d")}, []File{dir("d"), a}, 0, 1},
		"a directory emptied":           {[]File{dir("d"), a}, []File{dir("d")}, -1, 0},
		"one with an empty one in it":   {[]File{dir("d"), a, dir("d/e")}, nil, -1, 0},
		"a link":                        {nil, []File{link("l", "a")}, -1, 0},
		"a link that goes":              {[]File{link("l", "a")}, nil, -1, 0},
		"a link to elsewhere":           {[]File{link("l", "a")}, []File{link("l", "b")}, -1, 0},
		"a link for a file":             {[]File{file("l", 0o644, 1)}, []File{link("l", "b")}, -1, 0},
		"a file for a directory":        {[]File{dir("d"), a}, []File{file("d", 0o644, 1)}, -1, 0},
		"as many as may be":             {many(100), many(100 + maxDeltaFiles), 0, maxDeltaFiles},
		"one more":                      {many(100), many(101 + maxDeltaFiles), -1, 0},
		"as large as may be":            {[]File{file("a", 0o644, 1)}, []File{file("b", 0o644, maxDeltaBytes-1)}, 1, 1},
		"a byte more, before":           {[]File{file("a", 0o644, maxDeltaBytes)}, []File{file("b", 0o644, 1)}, -1, 0},
	} {
		d, ok := difference(c.old, c.now)
		if ok != (c.deleted >= 0) || ok && (len(d.Delete) != c.deleted || len(d.Write) != c.wrote) {
			t.Errorf("%s: %v, %d deleted and %d written", what, ok, len(d.Delete), len(d.Write))
		}
	}
}

// The image's links lie beside the files: a file that appears in the place of a link needs another image.
func TestANearSnapshotHasTheSameLinks(t *testing.T) {
	t.Parallel()
	b, toolchain, _ := newBuilder(t)
	workspace := own(t, b)
	toolchain.Installed, toolchain.links = "some", map[string]string{"lib/node_modules": "/deps/node/lib/node_modules"}
	old := memTree{{path: "a", mode: 0o644}, {path: "lib", mode: fs.ModeDir | 0o755}, {path: "lib/x", content: []byte("1"), mode: 0o644}}
	made, err := b.Snapshot(t.Context(), toolchain, old, workspace)
	if err != nil {
		t.Fatal(err)
	}
	changed := memTree{old[0], old[1], {path: "lib/x", content: []byte("2"), mode: 0o600}}
	near, d, err := b.Near(t.Context(), toolchain, changed, workspace, func() Tree { return old })
	want := Delta{Write: []File{{Path: "lib/x", Mode: 0o644, Size: 1, Digest: hash([]byte("2"))}}}
	if diff := cmp.Diff(want, d); err != nil || near.ID != made.ID || near.Installed != "some" || diff != "" {
		t.Errorf("%+v, %v: %s", near, err, diff)
	}
	if _, d, err := b.Near(t.Context(), toolchain, old, workspace, nil); err != nil || d.Write != nil {
		t.Errorf("the snapshot itself: %+v, %v", d, err)
	}
	inTheWay := append(slices.Clone(old), memFile{path: "lib/node_modules", mode: 0o644})
	elsewhere := toolchain
	elsewhere.Installed = "other"
	for what, c := range map[string]struct {
		on        Image
		now, then Tree
	}{
		"a file in the place of a link":       {toolchain, inTheWay, old},
		"an earlier tree that is no snapshot": {toolchain, old[:1], changed},
		"other dependencies":                  {elsewhere, changed, old},
	} {
		if img, d, err := b.Near(t.Context(), c.on, c.now, workspace, func() Tree { return c.then }); !errors.Is(err, ErrAbsent) {
			t.Errorf("%s: %+v %+v %v", what, img, d, err)
		}
	}
	if _, _, err := b.Near(t.Context(), toolchain, changed, workspace, func() Tree { return nil }); !errors.Is(err, ErrAbsent) {
		t.Errorf("nothing earlier is known: %v", err)
	}
}
