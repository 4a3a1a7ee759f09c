package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
)

// A Reach says of the packages of a workspace, by their directories, whether a patch
// can affect them. Nil means that it can affect all of them.
type Reach map[string]bool

// Owner is the package that the file or directory at p lies in, the innermost.
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

// Only leaves of r the packages that a check works in: what it finds in another one
// is found from the one around that. Nil where these are not all known, or all affected.
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

// Note says in a sentence how much that is, "" for all.
func (r Reach) Note(unit string) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d %s: the patch cannot affect the others", r.Affected(), len(r), unit)
}

// manifests are the files that make a directory a package of some language.
var manifests = []string{"go.mod", "package.json", "pyproject.toml"}

// A Family is the packages of one language in a workspace, each a directory with
// its own manifest, and how they depend on one another. Whatever cannot be told
// for certain affects all of them: a mistake may cost time, and nothing else.
type Family struct {
	// What people call them, in the plural.
	Unit  string
	Roots func(v View) []string
	// Shared reports whether a change of the file at p may say anew what belongs
	// together, as that of a manifest does. No patch makes a package independent by what it writes there.
	Shared func(p string) bool
	// Needs lists for each package those whose files it is made of besides its own,
	// "" for files of another language's; false when that cannot be told. A package
	// whose needs the patch alters is affected itself, so the candidate's count.
	Needs func(v View, r Reach) (map[string][]string, bool)
	// A tool that works in a package looks at those inside it as well.
	Around bool
}

// Reach finds the packages that a changeset can affect: those it touches and all
// that depend on them, through others too.
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
	// What holds for most workspaces, of one package, is known without a look.
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

// Spread adds to hit all that need what is in it, until there is no more.
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

// elsewhere reports whether the file at p lies in a package of another language
// that has none of these in it, before the patch.
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

// linked reports whether a symbolic link leads from one package to another, which
// no text tells of. One that goes up and down again is taken for such.
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
	// upward matches a path that leads out of a directory, in whatever text.
	upward = lazyregexp.New(`(?:^|[^.\w])(\.\.(?:/[^"'\x60\s:;,)]*)?)(?:["'\x60\s:;,)]|$)`)
	// between is what separates the parts of a path that is joined where it is used.
	between = lazyregexp.New(`["'\x60]\s*,\s*["'\x60]`)
)

// Above lists the packages that the text of the file at p leads to.
func (r Reach) Above(p string, text []byte) (found []string) {
	for i, t := range [][]byte{text, between.ReplaceAll(text, []byte("/"))} {
		for _, m := range upward.FindAllSubmatch(t, -1) {
			// It is the first part of a path, or found below as well.
			if i == 0 && string(m[1]) == ".." {
				continue
			}
			// What lies in no package is "", as in family.needs.
			root, ok := r.Owner(path.Join(path.Dir(p), string(m[1])))
			if !ok {
				root = ""
			}
			found = append(found, root)
		}
	}
	return found
}
