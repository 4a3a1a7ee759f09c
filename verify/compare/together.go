package compare

import "agent/verify/check"

// Together combines the results of a gate's checks into one gate. The weightiest verdict counts, and its details come
// first.
func Together(parts []check.Gate) check.Gate {
	g := check.Gate{Name: parts[0].Name, Verdict: Overall(parts), Findings: []check.Finding{}, OldFindings: []check.Finding{}}
	if parts[0].Verdict == "" && g.Verdict == check.Pass {
		g.Verdict = "" // a baseline is no judgement
	}
	var details, others, outputs, tools []string
	for _, p := range parts {
		if p.Verdict == g.Verdict {
			details = append(details, p.Detail)
		} else {
			others = append(others, p.Detail)
		}
		outputs, tools = append(outputs, p.Output), append(tools, p.Tool)
		g.Findings = append(g.Findings, p.Findings...)
		g.OldFindings = append(g.OldFindings, p.OldFindings[:min(len(p.OldFindings), MaxOld-len(g.OldFindings))]...)
		g.Seconds, g.Old, g.Fixed, g.Peak = g.Seconds+p.Seconds, g.Old+p.Old, g.Fixed+p.Fixed, max(g.Peak, p.Peak)
	}
	g.Detail, g.Tool = check.Join(append(details, others...), "; "), check.Join(tools, ", ")
	g.Output = check.Tail(check.Join(outputs, "\n"), check.MaxTail)
	return g
}

// verdictOrder ranks the verdicts of a gate, the weightiest first. Fail comes first, since one certain fault needs no
// other evidence. OOM and timeout are also caused by the patch, but leave open what it would have done. Infra comes
// next: nothing is known, so it is not a pass, and a person's approval (policy) would cover something that was not
// proved.
var verdictOrder = []check.Verdict{check.Fail, check.OOM, check.Timeout, check.Infra, check.Policy}

// Overall returns the verdict of a candidate: that of its weightiest gate, or pass if no gate objects. The order of the
// gates does not matter.
func Overall(gates []check.Gate) check.Verdict {
	for _, v := range verdictOrder {
		for _, g := range gates {
			if g.Verdict == v {
				return v
			}
		}
	}
	return check.Pass
}
