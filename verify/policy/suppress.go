package policy

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/verify/policy/directive"
)

// suppressionsIn returns the suppressions of a file.
func suppressionsIn(f sourceFile) (list []mark) {
	for i, line := range f.lines {
		directive.In(f.lang, line, func(r directive.Row, codes string) {
			if !f.created || r.Family != directive.Generated {
				list = append(list, f.mark(i, r.Family, codes, r.Wide))
			}
		})
	}
	return list
}

// saying returns a function that lists the places where a file says something to a tool, by what it says.
func saying(what func(lang.Family, lang.Line) []string) func(sourceFile) []mark {
	return func(f sourceFile) (list []mark) {
		for i, line := range f.lines {
			for _, form := range what(f.lang, line) {
				list = append(list, f.mark(i, form, "", true))
			}
		}
		return list
	}
}

// dropped returns the comments that are gone and that had tools report more than their configuration says, in files that are still there.
func dropped(before, after []sourceFile) (list []mark) {
	left := filter(before, func(f sourceFile) bool {
		return slices.ContainsFunc(after, func(now sourceFile) bool { return now.path == f.path })
	})
	list, _ = surplus(each(after, saying(directive.Demands)), each(left, saying(directive.Demands)), byFile)
	return list
}

// mostCompared bounds the number of pairwise comparisons of codes.
const mostCompared = 100_000

// newSuppressions returns the suppressions that are new or wider.
func newSuppressions(before, after []mark) []mark {
	after, before = surplus(before, after, byLine, byFile, byForm)
	// A suppression that named more codes before, or none and so everything, was narrowed.
	used, compared := make([]bool, len(before)), 0
	return slices.DeleteFunc(after, func(m mark) bool {
		for i, old := range before {
			compared++
			if compared > mostCompared {
				return false
			}
			// One suppression of a whole file makes up for any number of its lines.
			local := old.wide && !m.wide && old.path == m.path
			if (used[i] && !local) || old.form != m.form || old.wide != m.wide && !local || !covers(old.codes, m.codes) {
				continue
			}
			used[i] = true
			return true
		}
		return false
	})
}

// covers reports whether codes include all of others.
func covers(codes, others string) bool {
	if codes == "" || others == "" {
		return codes == ""
	}
	list := strings.Fields(codes)
	return !slices.ContainsFunc(strings.Fields(others), func(c string) bool { return !slices.Contains(list, c) })
}
