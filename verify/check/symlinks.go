package check

import (
	"path"
	"strings"

	"agent/sandbox/workspace"
)

const (
	// maxLinks bounds how many links of a workspace are examined.
	maxLinks = 200
	// maxHops is how many links the kernel follows in one path.
	maxHops = 40
)

// LoopsInside lists the links below a directory that lead back to where they lie. A tool that follows links visits
// everything there some 40 times if there is one such link, and with two of them more often than it could ever finish.
func (v View) LoopsInside(dir string) (links []string) {
	base := v.Base
	for _, p := range Recall(v.Unpatched(), "loops", func() []string { return loops(base) }) {
		if Below(p, dir) {
			links = append(links, p)
		}
	}
	return links
}

// loops is View.LoopsInside for a whole workspace.
func loops(m *workspace.Manifest) (links []string) {
	// to maps each link to where it leads; all has the links in order.
	to, all := map[string]string{}, []string{}
	for _, e := range m.Entries {
		if e.Kind != workspace.Symlink || len(all) == maxLinks {
			continue
		}
		if dir, inside := resolve(m, e.Path); inside {
			to[e.Path], all = dir, append(all, e.Path)
		}
	}
	// back reports whether a walk from dir reaches link again.
	var back func(dir, link string, been map[string]bool) bool
	back = func(dir, link string, been map[string]bool) bool {
		for _, next := range all {
			if been[next] || !Below(next, dir) {
				continue
			}
			been[next] = true
			if next == link || back(to[next], link, been) {
				return true
			}
		}
		return false
	}
	for _, link := range all {
		if back(to[link], link, map[string]bool{}) {
			links = append(links, link)
		}
	}
	return links
}

// resolve follows every link of a path in the workspace. It reports false if the path leads out of the workspace or
// nowhere.
func resolve(m *workspace.Manifest, p string) (to string, inside bool) {
	to = "."
	todo := strings.Split(p, "/")
	for hops := 0; len(todo) > 0; {
		next := path.Join(to, todo[0])
		todo = todo[1:]
		e, ok := m.Lookup(next)
		switch {
		case next == "." || ok && e.Kind != workspace.Symlink:
			to = next
		case !ok || hops == maxHops || path.IsAbs(e.Target):
			return "", false
		default:
			hops++
			todo = append(strings.Split(e.Target, "/"), todo...)
		}
	}
	return to, true
}
