package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
)

// A Reach maps the directory of each package in a workspace to whether a patch can affect it. Nil means that it can
// affect all of them.
type Reach map[string]bool

// Owner returns the innermost package that contains the file or directory at p.
func (r Reach) Owner(p string) (root string, ok bool) {
	if p == "" {
		return "", false
	}
	for dir := path.Clean(p); ; dir = path.Dir(dir) {
		if _, ok := r[dir]; ok || dir == path.Dir(dir) {
			return dir, ok
		}
	}
}

// spares reports whether root is a package that the patch cannot affect.
func (r Reach) spares(root string) bool {
	hit, known := r[root]
	return known && !hit
}

// Affected counts the packages that the patch can affect.
func (r Reach) Affected() (n int) {
	for _, hit := range r {
		if hit {
			n++
		}
	}
	return n
}

// Only restricts r to the packages that a check works in: what it finds in another package is found from the one around
// it. It returns nil if these are not all known, or if all are affected.
func (r Reach) Only(roots []string) Reach {
	some := Reach{}
	for _, root := range roots {
		hit, known := r[root]
		if !known {
			return nil
		}
		some[root] = hit
	}
	if some.Affected() == len(some) {
		return nil
	}
	return some
}

// Note returns a sentence on how many packages that is, "" for all.
func (r Reach) Note(unit string) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d %s: the patch cannot affect the others", r.Affected(), len(r), unit)
}

// manifests are the files that make a directory a package in some language.
var manifests = []string{"go.mod", "package.json", "pyproject.toml"}

// A Family is the packages of one language in a workspace, each a directory with its own manifest, and their
// dependencies. Whatever cannot be determined for certain affects all packages: a mistake may cost time, but nothing
// else.
type Family struct {
	// Unit is the plural noun for the packages in messages.
	Unit  string
	Roots func(v View) []string
	// Shared reports whether a change to the file at p may redefine what belongs together, as a change to a manifest
	// does. A patch cannot make a package independent by writing there.
	Shared func(p string) bool
	// Needs returns for each package the packages whose files it uses besides its own, "" for files of another
	// language's package; false if that cannot be determined. A package whose needs the patch alters is itself
	// affected, so the candidate's needs count.
	Needs func(v View, r Reach) (map[string][]string, bool)
	// Around says that a tool that works in a package also examines the packages inside it.
	Around bool
}

// Reach finds the packages that a changeset can affect: those that it touches and all that depend on them, directly or
// indirectly.
func (f *Family) Reach(base, cand View, cs workspace.Changeset) Reach {
	r, roots := Reach{}, f.Roots(cand)
	for _, root := range roots {
		r[root] = false
	}
	if len(r) == 0 || r.linked(base) {
		return nil
	}
	hit := map[string]bool{}
	for _, c := range cs.Changes {
		for _, p := range []string{c.Path, OldPath(c)} {
			root, ok := r.Owner(p)
			switch {
			case f.Shared(p):
				return nil
			case ok:
				hit[root] = true
			case r.elsewhere(base, p):
				hit[""] = true
			default:
				return nil
			}
		}
	}
	// The result for the most common workspace, which has one package, is known without looking.
	if len(hit) == len(r) && !hit[""] {
		return nil
	}
	needs, ok := f.Needs(cand, r)
	if !ok {
		return nil
	}
	Spread(hit, needs)
	for root := range r {
		r[root] = hit[root] || f.Around && slices.ContainsFunc(roots, func(inner string) bool { return hit[inner] && Below(inner, root) })
	}
	return r
}

// Spread adds to hit every package that needs one in hit, until there are no more.
func Spread(hit map[string]bool, needs map[string][]string) {
	for again := true; again; {
		again = false
		for root, list := range needs {
			if !hit[root] && slices.ContainsFunc(list, func(n string) bool { return hit[n] }) {
				hit[root], again = true, true
			}
		}
	}
}

// Below reports whether dir is outer or lies in it.
func Below(dir, outer string) bool {
	return outer == "." || dir == outer || strings.HasPrefix(dir, outer+"/")
}

// elsewhere reports whether the file at p lies in a package of another language that contained none of the packages in
// r before the patch.
func (r Reach) elsewhere(base View, p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		for root := range r {
			if Below(root, dir) {
				return false
			}
		}
		if slices.ContainsFunc(manifests, func(name string) bool { return base.Has(path.Join(dir, name)) }) {
			return true
		}
	}
	return false
}

// linked reports whether a symbolic link leads from one package to another, which no text shows. A link that goes up
// and down again counts as one.
func (r Reach) linked(base View) bool {
	return slices.ContainsFunc(base.Base.Entries, func(e workspace.Entry) bool {
		if e.Kind != workspace.Symlink {
			return false
		}
		from, _ := r.Owner(e.Path)
		to, _ := r.Owner(path.Join(path.Dir(e.Path), e.Target))
		return from != to || path.IsAbs(e.Target) || path.Clean(e.Target) != strings.TrimPrefix(e.Target, "./")
	})
}

var (
	// upward matches a path that leads out of a directory, in any text.
	upward = lazyregexp.New(`(?:^|[^.\w])(\.\.(?:/[^"'\x60\s:;,)]*)?)(?:["'\x60\s:;,)]|$)`)
	// between matches the separator in a path whose parts are joined where it is used.
	between = lazyregexp.New(`["'\x60]\s*,\s*["'\x60]`)
)

// Above lists the packages that paths in the text of the file at p lead to.
func (r Reach) Above(p string, text []byte) (found []string) {
	for i, t := range [][]byte{text, between.ReplaceAll(text, []byte("/"))} {
		for _, m := range upward.FindAllSubmatch(t, -1) {
			// It is the first part of a path, or it is found in the joined text as well.
			if i == 0 && string(m[1]) == ".." {
				continue
			}
			// A path in no package is "", as in Family.Needs.
			root, ok := r.Owner(path.Join(path.Dir(p), string(m[1])))
			if !ok {
				root = ""
			}
			found = append(found, root)
		}
	}
	return found
}
