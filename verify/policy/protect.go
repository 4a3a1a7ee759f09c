package policy

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"

	"github.com/moby/patternmatcher"
)

// A Protection names the paths of a workspace that a patch may change only with a separate approval. A nil Protection
// protects nothing. A Protection is immutable and safe for use by several goroutines.
type Protection struct {
	// The patterns as given.
	patterns []string
	// One folded matcher for each pattern, so that a hold can name the pattern that applies.
	matchers []*patternmatcher.PatternMatcher
}

// Protect parses patterns in the syntax of a .dockerignore file. A path that matches is protected, and so is
// everything below it. Case and Unicode form make no difference, as on some file systems. Protect refuses exceptions
// (!), since a later pattern would take back what an earlier one promised. Without patterns it returns nil.
func Protect(patterns []string) (*Protection, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	p := &Protection{patterns: slices.Clone(patterns)}
	for _, pattern := range patterns {
		clean := strings.TrimSpace(pattern)
		switch {
		case clean == "":
			return nil, fmt.Errorf("a pattern is empty: name a path, such as \"migrations/**\"")
		case strings.HasPrefix(clean, "!"):
			return nil, fmt.Errorf("%q removes a protection: name what is protected instead", pattern)
		// A pattern that cannot match anything would look like protection.
		case path.IsAbs(clean), strings.HasPrefix(path.Clean(clean), ".."), strings.Contains(clean, `\`):
			return nil, fmt.Errorf("%q is not a path in the workspace: write it relative to its top, with /, such as \"migrations/**\"", pattern)
		}
		m, err := patternmatcher.New([]string{workspace.Fold(path.Clean(clean))})
		if err == nil {
			// New leaves some syntax errors to the first match.
			_, err = m.MatchesOrParentMatches("a")
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a pattern: %w", pattern, err)
		}
		p.matchers = append(p.matchers, m)
	}
	return p, nil
}

// Patterns returns the patterns as they were given to Protect.
func (p *Protection) Patterns() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.patterns)
}

// holds lists the changes of cs to protected paths, at either end of a rename. All of them block.
func (p *Protection) holds(cs workspace.Changeset) (holds []Hold) {
	if p == nil {
		return nil
	}
	for _, c := range cs.Sorted() {
		for _, name := range slices.Compact([]string{c.Path, cmp.Or(c.From, c.Path)}) {
			if pattern, ok := p.protects(name); ok {
				holds = append(holds, Hold{Path: name, Kind: Protected, Block: true, Reason: fmt.Sprintf("The configuration protects %q.", pattern)})
			}
		}
	}
	return holds
}

// protects returns the first pattern that covers a path.
func (p *Protection) protects(name string) (pattern string, ok bool) {
	for i, m := range p.matchers {
		// A path that cannot be compared counts as protected.
		if matched, err := m.MatchesOrParentMatches(workspace.Fold(name)); matched || err != nil {
			return p.patterns[i], true
		}
	}
	return "", false
}
