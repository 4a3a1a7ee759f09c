package check

import (
	"context"
	"path"
	"slices"

	"agent/sandbox/workspace/lazyregexp"
)

// A Variant is a candidate without some of its changes. A check judges it as well, so that
// nothing of a patch hides what another part of it brings.
type Variant struct {
	// Back tells which files are as in the base, Counts in which files a finding counts.
	Back, Counts func(p string) bool
}

// A Closure is the files that a configuration is made of, as the tool itself finds them.
type Closure struct {
	// May tells which files can be of it at all: a patch without such does not ask.
	May func(p string) bool
	// Files lists them as they stand in the box.
	Files func(ctx context.Context, b Bench) (files []string, out Outcome, done bool)
}

// extends matches a key behind which a configuration names others, or a letter that may be
// part of such a key and is written as a number.
var extends = lazyregexp.New(`\b(?:extends?|plugins)["']?\s*[=:]|\\[uUx]`)

// Extends reports whether a file of these names in a view names other files that it is made of.
func Extends(v View, config []string) bool {
	return slices.ContainsFunc(v.Paths(), func(p string) bool {
		return slices.Contains(config, path.Base(p)) && extends.MatchString(v.Text(p))
	})
}

// Extending makes the variants of a tool with such a configuration: all that a patch changed and that
// the tool does not judge by its ending, one of sources, is as in the base. A manifest of
// packages stays, since rules ask for what it says.
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
