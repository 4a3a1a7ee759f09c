package verify

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
)

// A reach says of the packages of a workspace, by their directories, whether a patch
// can affect them. Nil means that it can affect all of them.
type reach map[string]bool

// owner is the package that the file or directory at p lies in, the innermost.
func (r reach) owner(p string) (root string, ok bool) {
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
func (r reach) spares(root string) bool {
	hit, known := r[root]
	return known && !hit
}

// affected counts the packages that the patch can affect.
func (r reach) affected() (n int) {
	for _, hit := range r {
		if hit {
			n++
		}
	}
	return n
}

// only leaves of r the packages that a check works in: what it finds in another one
// is found from the one around that. Nil where these are not all known, or all affected.
func (r reach) only(roots []string) reach {
	some := reach{}
	for _, root := range roots {
		hit, known := r[root]
		if !known {
			return nil
		}
		some[root] = hit
	}
	if some.affected() == len(some) {
		return nil
	}
	return some
}

// note says in a sentence how much that is, "" for all.
func (r reach) note(unit string) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d %s: the patch cannot affect the others", r.affected(), len(r), unit)
}

// manifests are the files that make a directory a package of some language.
var manifests = []string{"go.mod", "package.json", "pyproject.toml"}

// A family is the packages of one language in a workspace, each a directory with
// its own manifest, and how they depend on one another. Whatever cannot be told
// for certain affects all of them: a mistake may cost time, and nothing else.
type family struct {
	// What people call them, in the plural.
	unit  string
	roots func(v view) []string
	// shared reports whether a change of the file at p may say anew what belongs
	// together, as that of a manifest does. No patch makes a package independent by what it writes there.
	shared func(p string) bool
	// needs lists for each package those whose files it is made of besides its own,
	// "" for files of another language's; false when that cannot be told. A package
	// whose needs the patch alters is affected itself, so the candidate's count.
	needs func(v view, r reach) (map[string][]string, bool)
	// A tool that works in a package looks at those inside it as well.
	around bool
}

// reach finds the packages that a changeset can affect: those it touches and all
// that depend on them, through others too.
func (f *family) reach(base, cand view, cs workspace.Changeset) reach {
	r, roots := reach{}, f.roots(cand)
	for _, root := range roots {
		r[root] = false
	}
	if len(r) == 0 || r.linked(base) {
		return nil
	}
	hit := map[string]bool{}
	for _, c := range cs.Changes {
		for _, p := range []string{c.Path, oldPath(c)} {
			root, ok := r.owner(p)
			switch {
			case f.shared(p):
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
	needs, ok := f.needs(cand, r)
	if !ok {
		return nil
	}
	spread(hit, needs)
	for root := range r {
		r[root] = hit[root] || f.around && slices.ContainsFunc(roots, func(inner string) bool { return hit[inner] && below(inner, root) })
	}
	return r
}

// spread adds to hit all that need what is in it, until there is no more.
func spread(hit map[string]bool, needs map[string][]string) {
	for again := true; again; {
		again = false
		for root, list := range needs {
			if !hit[root] && slices.ContainsFunc(list, func(n string) bool { return hit[n] }) {
				hit[root], again = true, true
			}
		}
	}
}

// below reports whether dir is outer or lies in it.
func below(dir, outer string) bool {
	return outer == "." || dir == outer || strings.HasPrefix(dir, outer+"/")
}

// elsewhere reports whether the file at p lies in a package of another language
// that has none of these in it, before the patch.
func (r reach) elsewhere(base view, p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		for root := range r {
			if below(root, dir) {
				return false
			}
		}
		if slices.ContainsFunc(manifests, func(name string) bool { return base.has(path.Join(dir, name)) }) {
			return true
		}
	}
	return false
}

// linked reports whether a symbolic link leads from one package to another, which
// no text tells of. One that goes up and down again is taken for such.
func (r reach) linked(base view) bool {
	return slices.ContainsFunc(base.base.Entries, func(e workspace.Entry) bool {
		if e.Kind != workspace.Symlink {
			return false
		}
		from, _ := r.owner(e.Path)
		to, _ := r.owner(path.Join(path.Dir(e.Path), e.Target))
		return from != to || path.IsAbs(e.Target) || path.Clean(e.Target) != strings.TrimPrefix(e.Target, "./")
	})
}

// inOrder goes through what a check looks at in each package, with its place in
// list: first where the patch may be felt, then, if at all, the others. Each
// package has a process of its own, so nothing inside one is run in another order.
func inOrder[T any](b bench, list []T, root func(T) string) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for _, spared := range []bool{false, true} {
			if spared && b.leave {
				return
			}
			if spared && len(b.reach) > 0 && b.affectedDone != nil {
				b.affectedDone()
			}
			for i, item := range list {
				if b.reach.spares(root(item)) == spared && !yield(i, item) {
					return
				}
			}
		}
	}
}

// itself is the root of what is one.
func itself(root string) string { return root }

// beside puts what the base has of the packages that the candidate's check left out
// beside what it found in the others. So it is the outcome of the whole workspace,
// and the comparison and the next baseline need not know.
func (o outcome) beside(base outcome, r reach) outcome {
	if r == nil || o.Verdict != "" {
		return o
	}
	// What another package is told of along with the rest is not told twice.
	have := map[Finding]int{}
	for _, f := range o.Findings {
		have[f]++
	}
	for _, f := range base.Findings {
		if root, ok := r.owner(f.File); ok && r[root] {
			continue
		}
		if have[f]--; have[f] < 0 {
			o.Findings = append(o.Findings, f)
		}
	}
	for _, scope := range base.Unjudged {
		if root, ok := r.owner(path.Dir(scope)); ok && !r[root] && !slices.Contains(o.Unjudged, scope) {
			o.Unjudged = append(o.Unjudged, scope)
		}
	}
	ran := map[string]bool{}
	for _, t := range o.Tests {
		ran[t.ID] = true
	}
	for _, t := range base.Tests {
		file, _, _ := strings.Cut(t.ID, "::")
		if root, ok := r.owner(file); ok && !r[root] && !ran[t.ID] {
			o.Tests = append(o.Tests, t)
		}
	}
	return o
}

// beside does the same for a trial.
func (t *trial) beside(base outcome, r reach) {
	if t != nil && t.out != nil {
		out := t.out.beside(base, r)
		t.out = &out
	}
}

// find finds out what the changeset can affect for a check that will run.
func (s *session) find(def check, cand view) {
	if def.family == nil {
		return
	}
	r, ok := s.families[def.family]
	if !ok {
		r = def.family.reach(s.base, cand, s.req.Changeset)
		s.families[def.family] = r
	}
	s.reach[def.name] = r.only(def.places(cand))
	if s.leaves(def) {
		s.results.leave(def.name, s.reach[def.name])
	}
}

// leaves reports whether a check leaves out what the patch cannot affect. Tests do
// so by request only: what they read while they run, no text tells for certain.
func (s *session) leaves(def check) bool {
	return def.gate != gateTests || s.req.Config.AffectedTests
}

// idle reports whether that is all.
func (s *session) idle(def check) bool {
	r := s.reach[def.name]
	return r != nil && r.affected() == 0 && s.leaves(def)
}

// within tells a candidate's check what the patch can affect.
func (s *session) within(b bench, def check) bench {
	b.reach, b.leave = s.reach[def.name], s.leaves(def)
	b.affectedDone = func() { s.results.reached(def, b.reach) }
	return b
}

// leave records what the candidate's run of a check leaves out.
func (r *results) leave(name string, left reach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left[name] = left
}

// reached tells that a check is done with what the patch can affect.
func (r *results) reached(def check, affected reach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	detail := fmt.Sprintf("%s: done with the %d of %d %s that the patch can affect", def.name, affected.affected(), len(affected), def.family.unit)
	r.tell("reached "+def.name, Event{Gate: def.gate, Detail: detail})
}
