package check

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Nearest returns the closest of the roots at or above dir.
//
// The workspace itself is always a root, so every directory has one.
func Nearest[T any](roots map[string]T, dir string) string {
	for {
		if _, ok := roots[dir]; ok || dir == "." {
			return dir
		}
		dir = path.Dir(dir)
	}
}

// Installed reports whether a directory cannot hold projects of the workspace, because it holds installed packages or
// files that tests work on.
func Installed(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return part[0] == '.' || slices.Contains([]string{"node_modules", "site-packages", "vendor", "testdata", "fixtures"}, part)
	})
}

// Rooted converts a list of roots to the map that Nearest takes.
func Rooted(roots []string) map[string]string {
	set := map[string]string{}
	for _, root := range roots {
		set[root] = ""
	}
	return set
}

// InsideOf lists the roots inside root.
func InsideOf(roots []string, root string) (inner []string) {
	for _, r := range roots {
		if r != root && Below(r, root) {
			inner = append(inner, r)
		}
	}
	return inner
}

// OverRoots runs a tool in some of the roots of a workspace, one after the other, and sums up what it finds. A root's
// results are those of its own files: what it reports in files of another root, which has another configuration, is
// dropped.
//
// All roots together have the time of one. What keeps a root from being judged is in Roots and hides nothing of the
// others; with a single root it is in Blocked.
func (b Bench) OverRoots(roots, run []string, do func(b Bench, root string) Outcome) Outcome {
	all, total := Rooted(roots), Outcome{Roots: map[string]string{}}
	deadline := time.Now().Add(b.Timeout)
	for i, root := range run {
		if i > 0 {
			b.Timeout = max(time.Until(deadline).Round(time.Second), time.Second)
		}
		out := do(b, root)
		if len(roots) > 1 {
			out = out.Within(func(file string) bool { return Nearest(all, file) == root })
		}
		if len(run) == 1 {
			return out
		}
		total = AddCost(total, out)
		total.Tests, total.Findings = append(total.Tests, out.Tests...), append(total.Findings, out.Findings...)
		total.Witnesses = append(total.Witnesses, out.Witnesses...)
		total.Altered = append(total.Altered, out.Altered...)
		total.Roots[root] = out.Blocked
		if out.Verdict == Timeout && i > 0 {
			total.Detail += fmt.Sprintf(", which was left for %s of the time that all directories share", root)
		}
		if out.Verdict != "" {
			return total
		}
		total.Output, total.Detail = Tail(Join([]string{total.Output, out.Output}, "\n"), MaxTail), out.Detail
	}
	return total
}
