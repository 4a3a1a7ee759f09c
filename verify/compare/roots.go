package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/verify/check"
)

// ByRoot wraps a judgement so that it leaves out the roots that could not be judged before the patch, and fails under
// rule for a root that can no longer be judged.
func ByRoot(rule string, judge func(base, cand check.Outcome, d check.Diff) check.Gate) func(base, cand check.Outcome, d check.Diff) check.Gate {
	return func(base, cand check.Outcome, d check.Diff) check.Gate {
		seen := func(file string) bool { return base.Roots[check.Nearest(base.Roots, file)] == "" }
		g := judge(base.Within(seen), cand.Within(seen), d)
		if cand.Verdict != "" {
			return g
		}
		left := 0
		for _, root := range slices.Sorted(maps.Keys(base.Roots)) {
			if why := base.Roots[root]; why != "" {
				left++
				g.Detail += fmt.Sprintf("; %s not judged: even before the patch, %s", root, why)
			}
		}
		for _, root := range slices.Sorted(maps.Keys(cand.Roots)) {
			why := cand.Roots[root]
			told := func(f check.Finding) bool {
				return f.File != "" && f.Message != "" && strings.HasSuffix(why, f.Message)
			}
			if why == "" || check.SameMessage(base.Roots[root], why) {
				continue
			}
			if !slices.ContainsFunc(g.Findings, told) {
				g.Findings = append(g.Findings, check.Finding{Rule: rule, Message: root + ": " + why})
			}
			g.Verdict = check.Fail
		}
		if left > 0 && left == len(base.Roots) && g.Verdict == check.Pass {
			g.Verdict = ""
		}
		return g
	}
}
