package images

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"testing"
)

// manyFiles is a tree of n files of 1.5 kB in directories of 100. It finds its files fast enough not to affect the
// measurement.
type manyFiles struct {
	memTree
	files  []File
	digest string
	index  map[string]int
}

func newManyFiles(n int) *manyFiles {
	t := &manyFiles{index: make(map[string]int)}
	for i := range n {
		if i%100 == 0 {
			t.memTree = append(t.memTree, memFile{path: fmt.Sprintf("d%05d", i/100), mode: fs.ModeDir | 0o755})
		}
		name := fmt.Sprintf("d%05d/f%02d.py", i/100, i%100)
		t.index[name] = len(t.memTree)
		t.memTree = append(t.memTree, memFile{path: name, content: bytes.Repeat(fmt.Appendf(nil, "x = %6d\n", i), 150), mode: 0o644})
	}
	t.files, t.digest = t.memTree.Files(), t.memTree.Digest()
	return t
}

// edit changes one file to its n-th content.
func (t *manyFiles) edit(n int) {
	t.memTree[1].content = bytes.Repeat(fmt.Appendf(nil, "y = %6d\n", n), 150)
	t.files[1].Digest = hash(t.memTree[1].content)
	t.digest = hash([]byte(t.digest + t.files[1].Digest))
}

func (t *manyFiles) Digest() string { return t.digest }
func (t *manyFiles) Files() []File  { return t.files }

func (t *manyFiles) Open(name string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(t.memTree[t.index[name]].content)), nil
}

// BenchmarkSnapshot measures a first snapshot, one after an edit of one file, and one that already exists.
func BenchmarkSnapshot(b *testing.B) {
	builder, toolchain, _ := newBuilder(b)
	for _, n := range []int{10, 10_000, 100_000} {
		tree := newManyFiles(n)
		take := func(b *testing.B, workspace string) {
			if _, err := builder.Snapshot(b.Context(), toolchain, tree, workspace); err != nil {
				b.Fatal(err)
			}
		}
		edits := 0
		b.Run(fmt.Sprintf("files=%d/first", n), func(b *testing.B) {
			for b.Loop() {
				edits++
				tree.edit(edits)
				take(b, own(b, builder))
			}
		})
		workspace := own(b, builder)
		take(b, workspace)
		b.Run(fmt.Sprintf("files=%d/edited", n), func(b *testing.B) {
			for b.Loop() {
				edits++
				tree.edit(edits)
				take(b, workspace)
			}
		})
		b.Run(fmt.Sprintf("files=%d/found", n), func(b *testing.B) {
			for b.Loop() {
				take(b, workspace)
			}
		})
	}
}
