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

// A Protection names the paths of a workspace that no patch changes without an approval of its own. Nil protects nothing. It does not
// change and may be used by several goroutines.
type Protection struct {
	// As they were given.
	patterns []string
	// Folded, one a pattern, since a person is told which one holds.
	matchers []*patternmatcher.PatternMatcher
}

// Protect reads patterns in the syntax of a .dockerignore file: what matches is protected, and all that is below it. Capital letters and
// the Unicode form make no difference, as on some file systems. Exceptions (!) are refused: of two patterns the later would take back
// what the earlier promised. No pattern gives nil.
func Protect(patterns []string) (*Protection, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	p := &Protection{patterns: slices.Clone(patterns)}
	for _, pattern := range patterns {
		clean := strings.TrimSpace(pattern)
		switch {
		case clean == "":
			return nil, fmt.Errorf("a pattern is empty: name a path, as \"migrations/**\"")
		case strings.HasPrefix(clean, "!"):
			return nil, fmt.Errorf("%q takes a protection back: name what is protected instead", pattern)
		// A pattern that can match nothing would look like a protection.
		case path.IsAbs(clean), strings.HasPrefix(path.Clean(clean), ".."), strings.Contains(clean, `\`):
			return nil, fmt.Errorf("%q is no path in the workspace: write it from its top, with /, as \"migrations/**\"", pattern)
		}
		m, err := patternmatcher.New([]string{workspace.Fold(path.Clean(clean))})
		if err == nil {
			// New leaves some of what it cannot read to the first match.
			_, err = m.MatchesOrParentMatches("a")
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no pattern: %w", pattern, err)
		}
		p.matchers = append(p.matchers, m)
	}
	return p, nil
}

// Patterns are those that were given.
func (p *Protection) Patterns() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.patterns)
}

// holds lists the changes of cs to paths that are protected, either end of a
// rename. All of them block.
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
		// What cannot be compared is not let through.
		if matched, err := m.MatchesOrParentMatches(workspace.Fold(name)); matched || err != nil {
			return p.patterns[i], true
		}
	}
	return "", false
}
