package check

import (
	"context"
	"path"
	"slices"

	"agent/sandbox/workspace/lazyregexp"
)

// A Variant is a candidate without some of its changes. A check judges it as well, so that no part of a patch hides
// what another part introduces.
type Variant struct {
	// Back reports which files are as in the base; Counts reports in which files a finding counts.
	Back, Counts func(p string) bool
}

// A Closure finds the files that a configuration is made of, as the tool itself finds them.
type Closure struct {
	// May reports which files can belong to it at all: for a patch without any of these, Files is not called.
	May func(p string) bool
	// Files lists the files as they are in the box.
	Files func(ctx context.Context, b Bench) (files []string, out Outcome, done bool)
}

// extends matches a key whose value names other configurations, or a numeric escape, which may be a letter of such a key.
var extends = lazyregexp.New(`\b(?:extends?|plugins)["']?\s*[=:]|\\[uUx]`)

// Extends reports whether a file in the view with one of these names refers to other files that it is made of.
func Extends(v View, config []string) bool {
	return slices.ContainsFunc(v.Paths(), func(p string) bool {
		return slices.Contains(config, path.Base(p)) && extends.MatchString(v.Text(p))
	})
}

// Extending returns the variants for a tool whose configuration names other files. Every changed file that the tool
// does not judge by its extension, one of sources, is as in the base. A package manifest stays, since rules ask for
// what it says.
func Extending(config, sources []string) func(base, cand View) []Variant {
	return func(base, _ View) []Variant {
		if !Extends(base, config) {
			return nil
		}
		back := func(p string) bool {
			return base.Has(p) && !slices.Contains(sources, path.Ext(p)) && path.Base(p) != "package.json"
		}
		return []Variant{{Back: back, Counts: func(p string) bool { return !back(p) }}}
	}
}
