package images

import (
	"fmt"
	"io"
	"io/fs"

	"agent/sandbox/guest/sealed"
)

// A sealedTree is the form of a tree in a snapshot: packs that only the key opens.
type sealedTree struct {
	tree  Tree
	key   string
	packs map[string]sealed.Pack
	files []File
}

// seal lays out t under key, with the modes that statOf returns.
func seal(t Tree, key string) (*sealedTree, error) {
	var entries []sealed.Entry
	for _, f := range t.Files() {
		stat, err := statOf(f)
		if err != nil {
			return nil, err
		}
		entries = append(entries, sealed.Entry{Path: f.Path, Mode: fs.FileMode(stat.Mode), Size: stat.Size, Target: stat.Linkname})
	}
	s := &sealedTree{tree: t, key: key, packs: map[string]sealed.Pack{}}
	for _, p := range sealed.Divide(entries) {
		size, err := p.Size()
		if err != nil {
			return nil, err
		}
		s.packs[p.Name] = p
		// Under a new key, every byte differs.
		s.files = append(s.files, File{Path: p.Name, Mode: 0o444, Size: size, Digest: hash([]byte(key + p.Name))})
	}
	return s, nil
}

// Digest returns the digest of the tree.
func (s *sealedTree) Digest() string { return s.tree.Digest() }

// Files lists the packs.
func (s *sealedTree) Files() []File { return s.files }

// Open returns the bytes of a pack.
func (s *sealedTree) Open(name string) (io.ReadCloser, error) {
	p, ok := s.packs[name]
	if !ok {
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	return p.Seal(s.key, s.tree.Open), nil
}
