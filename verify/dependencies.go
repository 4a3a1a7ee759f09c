package verify

// A Layer is what the boxes of one side of a comparison stand on.
type Layer struct {
	// Image ID with the base at /snapshot, and below it what the workspace depends on.
	Snapshot string
	// Names what is installed there, "" for nothing: outcomes are kept by it.
	Installed string
}

// patched is the layer of the candidate: that of the base, unless the patch
// changes what is installed and was allowed to.
func (r Request) patched() Layer {
	if r.Patched.Snapshot != "" {
		return r.Patched
	}
	return Layer{r.Snapshot, r.Installed}
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
