package node

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/verify/check"
)

// A remainder deals with the packages whose own call of a runner gave no results. Their tests may be among those that the
// runner of an enclosing package runs, as where the root of a monorepo runs all.
type remainder struct {
	// refused maps a package to what its runner said instead of giving results.
	refused map[string]string
	// beyond maps a package to what the runners of enclosing packages said of its tests.
	beyond map[string][]check.TestResult
}

// around returns the index in uses of the nearest package that encloses root, -1 for none.
func around(uses []packageUse, root string) int {
	best := -1
	for i, u := range uses {
		if u.root != root && (u.root == "." || strings.HasPrefix(root, u.root+"/")) && (best < 0 || len(path.Join("/", u.root)) > len(path.Join("/", uses[best].root))) {
			best = i
		}
	}
	return best
}

// asked makes the runners of enclosing packages run the requested files, if only some files are requested.
func (m *remainder) asked(ctx context.Context, b check.Bench, r packageRunner, uses []packageUse, found []*installedPackage, roots map[string]string) (total check.Outcome, done bool) {
	for _, root := range slices.Sorted(maps.Keys(m.refused)) {
		at := around(uses, root)
		if len(b.Asked()) == 0 || at < 0 || found[at] == nil {
			continue
		}
		var files []string
		for _, id := range b.Asked() {
			file, _, _ := strings.Cut(id, "::")
			name := "./" + strings.TrimPrefix(file, strings.TrimPrefix(uses[at].root+"/", "./"))
			if check.Nearest(roots, path.Dir(file)) == root && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
		if len(files) == 0 {
			continue
		}
		results, out, done := r.use(ctx, b, uses[at], *found[at], "/tmp/agent-"+r.name+"-around-"+strings.ReplaceAll(root, "/", "-"), append(slices.Clone(r.byPath), files...))
		total.Seconds, total.Peak = total.Seconds+out.Seconds, max(total.Peak, out.Peak)
		total.Witnesses = append(total.Witnesses, used(out.Witnesses, uses[at].mark)...)
		if !done {
			return out, false
		}
		m.sort(marked(results, uses[at].mark), uses[at].root, roots)
	}
	return total, true
}

// sort returns the results of the package at root, and keeps those of packages inside it.
func (m *remainder) sort(results []check.TestResult, root string, roots map[string]string) (own []check.TestResult) {
	for _, t := range results {
		// The runner of a package also finds the tests of the packages inside it.
		file, _, _ := strings.Cut(t.ID, "::")
		if inner := check.Nearest(roots, path.Dir(file)); inner == root || !strings.HasPrefix(path.Join(check.Work, inner), path.Join(check.Work, root)+"/") {
			own = append(own, t)
		} else {
			m.beyond[inner] = append(m.beyond[inner], t)
		}
	}
	return own
}

// settle returns the results of packages whose own runner gave none, each with one more that fails, so that a patch that
// causes this is seen. blocked is what the runner said for the first package whose tests nothing ran.
func (m *remainder) settle(runner string) (results []check.TestResult, blocked string) {
	for _, root := range slices.Sorted(maps.Keys(m.refused)) {
		if len(m.beyond[root]) == 0 {
			blocked = cmp.Or(blocked, m.refused[root])
			continue
		}
		results = append(append(results, m.beyond[root]...), check.TestResult{
			ID: path.Join(root, "package.json") + "::" + runner, Outcome: "error", Message: check.Shorten(m.refused[root]),
		})
	}
	return results, blocked
}
