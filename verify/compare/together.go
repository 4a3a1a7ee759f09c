package compare

import "agent/verify/check"

// Together makes one gate of what its checks say. The weightiest verdict counts,
// and its detail comes first.
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

// verdictOrder ranks what one gate may say, the weightiest first. Fail comes
// before all, since one certain fault needs no other evidence. OOM and timeout
// are the patch's doing as well, but leave open what it would have done. Infra
// comes next: nobody knows, so it is no pass, and a person's approval (policy)
// would approve something that was not proved.
var verdictOrder = []check.Verdict{check.Fail, check.OOM, check.Timeout, check.Infra, check.Policy}

// Overall is the verdict of a candidate: that of its weightiest gate, pass when
// there is none that objects. The order of the gates does not matter.
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
