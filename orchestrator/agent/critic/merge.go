package critic

import (
	"slices"
	"strings"
	"unicode"
)

// Findings about lines within nearLines of each other count as the same if they share a significant word; if one names no
// line, they must share more of their words.
const (
	nearLines    = 5
	alikeNear    = 0.1
	alikeFar     = 0.3
	shortestWord = 4 // bytes of a significant word
)

// Merge returns the findings of all opinions, the worst first, with equal ones merged. A finding is agreed if agree
// critics have it. Its severity is the worst that at least that many critics give it, or the mildest if fewer have it,
// so that no critic alone can make anything worse.
func Merge(opinions []Opinion, agree int) []Finding {
	type group struct {
		Finding
		given []Severity
	}
	var groups []*group
	for _, o := range opinions {
		for _, f := range o.Findings {
			i := slices.IndexFunc(groups, func(g *group) bool { return !slices.Contains(g.By, o.Critic) && same(g.Finding, f) })
			if i < 0 {
				f.By = []string{o.Critic}
				groups = append(groups, &group{f, []Severity{f.Severity}})
				continue
			}
			g := groups[i]
			// Take the words of the critic who takes it most seriously; if all agree on that, those of the first.
			if f.Severity.rank() < g.Severity.rank() {
				g.Severity, g.Text = f.Severity, f.Text
			}
			if g.Line == 0 {
				g.Line = f.Line
			}
			g.By, g.given = append(g.By, o.Critic), append(g.given, f.Severity)
		}
	}
	list := make([]Finding, 0, len(groups))
	for _, g := range groups {
		slices.SortFunc(g.given, func(a, b Severity) int { return a.rank() - b.rank() })
		g.Severity = g.given[min(max(1, agree), len(g.given))-1]
		g.Agreed = len(g.By) >= max(1, agree)
		list = append(list, g.Finding)
	}
	sortFindings(list)
	return list
}

// same reports whether findings of two critics are about the same thing.
func same(a, b Finding) bool {
	if a.File != b.File {
		return false
	}
	alike := likeness(a.Text, b.Text)
	if a.Line > 0 && b.Line > 0 {
		if d := a.Line - b.Line; d >= -nearLines && d <= nearLines {
			return a.Line == b.Line && a.Severity == b.Severity || alike >= alikeNear
		}
		return false
	}
	return alike >= alikeFar
}

// likeness returns the share of significant words that two texts have in common.
func likeness(a, b string) float64 {
	x, y := weighty(a), weighty(b)
	common := 0
	for w := range x {
		if y[w] {
			common++
		}
	}
	if all := len(x) + len(y) - common; all > 0 {
		return float64(common) / float64(all)
	}
	return 0
}

// weighty returns the significant words of a text, in lower case.
func weighty(text string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if len(w) >= shortestWord {
			all[w] = true
		}
	}
	return all
}
