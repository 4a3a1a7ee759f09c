package verify

import "agent/sandbox/workspace"

// A Layer is what the boxes of one side of a comparison stand on.
type Layer struct {
	// Image ID with the base at /snapshot, and below it what the workspace depends on.
	Snapshot string
	// What makes the base of that, where it holds an earlier state; nil for nothing.
	Delta *workspace.Changeset
	// Names what is installed there, "" for nothing: outcomes are kept by it.
	Installed string
}

// layer is that of the base.
func (r Request) layer() Layer { return Layer{r.Snapshot, r.Delta, r.Installed} }

// patched is the layer of the candidate: that of the base, unless the patch
// changes what is installed and was allowed to.
func (r Request) patched() Layer {
	if r.Patched.Snapshot != "" {
		return r.Patched
	}
	return r.layer()
}

// standing names a workspace together with what is installed beside it, for the
// cache: a test that fails without a package says nothing about one with it.
func standing(snapshot, installed string) string {
	if installed == "" {
		return snapshot
	}
	return snapshot + "+" + installed
}

// typesFor makes a types cache one of what is installed as well. With something
// else on each side there is none: what mypy knows goes from one to the other.
func (r Request) typesFor(c *typeCache) *typeCache {
	if c == nil || r.patched().Installed != r.Installed {
		return nil
	}
	c.key = standing(c.key, r.Installed)
	return c
}
