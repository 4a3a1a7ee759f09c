package policy

import (
	"cmp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/testform"
)

// Bounds on what is read of one assertion, in lines and in bytes, and on the clauses of one function. Anything longer
// is compared up to the bound.
const (
	longestAssertion = 40
	largestAssertion = 2 << 10
	mostClauses      = 500
)

// whole returns an assertion with the lines on which it continues, without and with its literals.
func (f sourceFile) whole(a statement) (code, raw string) {
	if f.lang == lang.Go {
		if cond := f.guard(a.line); cond != "" {
			return goCondition + cond, goCondition + cond
		}
	}
	code, depth := a.code, balance(a.code)
	raw = strings.TrimSpace(f.lines[a.line].Raw)
	for i := a.line + 1; i < min(len(f.lines), a.line+longestAssertion) && len(raw) < largestAssertion; i++ {
		next := strings.TrimSpace(f.lines[i].Code)
		if depth <= 0 && !strings.HasPrefix(next, ".") || testform.Of(f.lang).Assertion.MatchString(next) {
			break
		}
		code, raw = code+" "+next, raw+" "+strings.TrimSpace(f.lines[i].Raw)
		depth += balance(next)
	}
	return code[:min(len(code), largestAssertion)], raw[:min(len(raw), largestAssertion)]
}

// balance counts the brackets that a text leaves open.
func balance(code string) int {
	return strings.Count(code, "(") + strings.Count(code, "[") - strings.Count(code, ")") - strings.Count(code, "]")
}

// goIf matches a condition in Go, without the statement in front of it.
var goIf = lazyregexp.New(`^(?:\}\s*else\s+)?if\s+(?:.*;\s*)?(.*?)\s*\{$`)

// guard returns the condition under which a failing call on a line of Go is reached, "" if there is none.
func (f sourceFile) guard(line int) string {
	if !goFailing.MatchString(f.lines[line].Code) {
		return ""
	}
	indent := lang.Indent(f.lines[line].Code)
	for i := line - 1; i >= max(0, line-longestAssertion); i-- {
		code := f.lines[i].Code
		if strings.TrimSpace(code) == "" || lang.Indent(code) >= indent {
			continue
		}
		if m := goIf.FindStringSubmatch(strings.TrimSpace(code)); m != nil {
			return m[1]
		}
		return ""
	}
	return ""
}

// goFailing matches a call that makes a Go test fail.
var goFailing = lazyregexp.New(`\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(`)

// clauses lists what a function asserts, part by part.
func (b *block) clauses() (list []clause) {
	for _, a := range b.assertions {
		if len(list) >= mostClauses {
			break
		}
		code, raw := b.file.whole(a)
		list = append(list, clausesIn(b.file.lang, code, raw, a.line)...)
	}
	return list
}

// softened returns the assertions of tests and their helpers that ask less than before: in the same function, an
// assertion that asked more was removed and its replacement asks less. A different expected value asks as much.
func (s *suite) softened(old suite) (list []mark) {
	was, is := old.byName(), s.byName()
	gone := map[string]int{} // by text, how many fewer there are in the changeset
	blocks := map[*block][]clause{}
	for side, of := range []*suite{&old, s} {
		for _, b := range of.blocks {
			blocks[b] = b.clauses()
			for _, c := range blocks[b] {
				gone[c.key()] += 1 - 2*side
			}
		}
	}
	words, helpers := s.fresh(old), s.helpers()
	for _, b := range old.blocks {
		if len(is[b.name]) != 1 || len(was[b.name]) != 1 {
			continue
		}
		now := is[b.name][0]
		if now.test != b.test || now.callsHelper(b, helpers) {
			continue
		}
		removed, added := difference(blocks[b], blocks[now])
		removed = slices.DeleteFunc(removed, func(c clause) bool {
			if gone[c.key()]--; gone[c.key()] >= 0 {
				return false
			}
			gone[c.key()]++
			return true // it moved
		})
		weaker, lost := weakerOf(removed, added, words)
		for _, c := range weaker {
			list = append(list, now.file.mark(c.line, "softened", "", false))
		}
		// A removed condition that was one of several has no line of its own.
		for _, c := range lost {
			if len(b.assertions) == len(now.assertions) && (len(added) == 0 || !restated(c.text, words)) {
				list = append(list, now.file.mark(now.near(c.line-b.from), "softened", "", false))
			}
		}
	}
	return list
}

// near returns the line of the assertion closest to the given number of lines into a function.
func (b *block) near(lines int) int {
	best := b.from
	for _, a := range b.assertions {
		if abs(a.line-b.from-lines) < abs(best-b.from-lines) || best == b.from {
			best = a.line
		}
	}
	return best
}

// abs returns the absolute value of n.
func abs(n int) int { return max(n, -n) }

// difference returns the clauses that only one of two lists has.
func difference(old, now []clause) (removed, added []clause) {
	count := map[string]int{}
	for _, c := range old {
		count[c.key()]++
	}
	for _, c := range now {
		if count[c.key()]--; count[c.key()] < 0 {
			added = append(added, c)
		}
	}
	for _, c := range now {
		count[c.key()] = max(count[c.key()], 0)
	}
	for _, c := range slices.Backward(old) {
		if count[c.key()] > 0 {
			count[c.key()]--
			removed = append(removed, c)
		}
	}
	return removed, added
}

// key identifies a clause: clauses with equal keys are the same.
func (c clause) key() string { return c.text + "\x00" + strings.Repeat("!", c.level) }

// weakerOf returns the clauses of added that replace one of removed and ask less, and the clauses of removed that
// nothing replaces. A clause that asks as much makes up for one removed clause, or for all that it restates.
func weakerOf(removed, added []clause, words map[string]bool) (weaker, lost []clause) {
	closest := func(r clause) (most int) {
		for _, a := range added {
			if a.covers(r) {
				most = max(most, common(a, r))
			}
		}
		return most
	}
	slices.SortStableFunc(removed, func(a, b clause) int {
		return cmp.Or(cmp.Compare(b.asks(), a.asks()), cmp.Compare(min(closest(b), 1), min(closest(a), 1)))
	})
	used := make([]bool, len(added))
	for _, r := range removed {
		// The added clauses closest to it come first.
		best, weak := -1, -1
		for i, a := range added {
			switch {
			case a.covers(r) && (best < 0 || used[best] && !used[i] || !used[i] && common(a, r) > common(added[best], r)):
				best = i
			case !a.covers(r) && !used[i] && (weak < 0 || common(a, r) > common(added[weak], r)):
				weak = i
			}
		}
		// The clause may have been split and joined with others.
		if best >= 0 && (!used[best] || speaksOf(added[best], r)) {
			used[best] = true
			continue
		}
		if weak < 0 {
			lost = append(lost, r)
			continue
		}
		// A clause about something else replaces nothing, unless it is the only one.
		if common(added[weak], r) == 0 && len(r.words) > 0 && len(added) > 1 && restated(r.text, words) {
			continue
		}
		used[weak] = true
		weaker = append(weaker, added[weak])
	}
	return weaker, lost
}

// asks returns how much a removed clause asked: an unknown form counts for little.
func (c clause) asks() int {
	if c.level == asksUnknown {
		return asksTruth
	}
	return c.level
}

// covers reports whether c asks as much as r did.
func (c clause) covers(r clause) bool {
	if c.slack > usualSlack && c.slack > r.slack && r.level >= asksPart {
		return false
	}
	for _, pair := range strict {
		if pair[0].MatchString(r.raw) && pair[1].MatchString(c.raw) && !pair[0].MatchString(c.raw) {
			return false
		}
	}
	// "== []" and "not x" are two ways of saying the same.
	if r.falsy && c.level == asksTruth && negated.MatchString(c.raw) && common(c, r) > 0 {
		return true
	}
	return c.level >= r.asks()
}

// negated matches an assertion that a value counts as false.
var negated = lazyregexp.New(`^assert\s*\(?not\b|\.assertFalse\(|\.toBeFalsy\(|\(\s*!|\.be\.false|\bis (?:None|False)$`)

// common counts the words that two clauses share.
func common(a, b clause) (n int) {
	for _, w := range a.words {
		if slices.Contains(b.words, w) {
			n++
		}
	}
	return n
}

// speaksOf reports whether a clause refers to everything that another one did.
func speaksOf(c, r clause) bool {
	return !slices.ContainsFunc(r.words, func(w string) bool { return !slices.Contains(c.words, w) })
}
