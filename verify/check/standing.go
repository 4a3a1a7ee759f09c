package check

import "slices"

// GateOwn stands for all gates that a workspace defines.
const GateOwn = "own"

// Among returns the checks in defs whose gates are in asked, in their order. builtIn are the names of the gates that no workspace defines.
func Among(defs []Check, asked, builtIn []string) (list []Check) {
	for _, def := range defs {
		if slices.Contains(asked, def.Gate) || slices.Contains(asked, GateOwn) && !slices.Contains(builtIn, def.Gate) {
			list = append(list, def)
		}
	}
	return list
}

// A Standing is what one check reports on a workspace as it is, before any patch.
type Standing struct {
	// Check is the check's name, such as "ruff"; Gate.Name is its gate's, such as "lint".
	Check string
	// Gate has everything that the check found, as new. Without a verdict nothing was judged.
	Gate Gate
	// Skipped says why the check does not apply or could not judge; "" if it judged.
	Skipped string
	// Passed, Failed and Idle count, for a check of tests, those that passed, that failed, and that were not run or not counted.
	Passed, Failed, Idle int
	// Flaky are the tests that failed and then passed; they count as passed.
	Flaky []string
}

// Flaky is the outcome of a test that failed and then passed.
const Flaky = "flaky"

// NewStanding returns the standing of def: g is its judgement without a baseline, and skipped is why there is none.
func NewStanding(def Check, g Gate, skipped string, tests []TestResult) Standing {
	g.Name = def.Gate
	s := Standing{Check: def.Name, Gate: g, Skipped: skipped}
	for _, t := range tests {
		switch {
		case t.Bad() && !t.Within:
			s.Failed++
		case t.Outcome == Flaky:
			s.Passed, s.Flaky = s.Passed+1, append(s.Flaky, Shorten(t.ID))
		case t.Skipped():
			s.Idle++
		case t.Outcome == "passed" && t.Ran():
			s.Passed++
		}
	}
	for i := range s.Gate.Findings {
		s.Gate.Findings[i].Tool = def.Name
	}
	return s
}

// Hidden returns the standing with hide applied to its texts.
func (s Standing) Hidden(hide func(string) string) Standing {
	s.Gate = s.Gate.Hidden(hide)
	if hide != nil {
		s.Skipped = hide(s.Skipped)
		s.Flaky = slices.Clone(s.Flaky)
		for i, id := range s.Flaky {
			s.Flaky[i] = hide(id)
		}
	}
	return s
}

// Asked returns an outcome in which every finding counts, whether or not the project asks for its rule: the cache does
// not record that.
func (o Outcome) Asked() Outcome {
	o.Findings = slices.Clone(o.Findings)
	for i := range o.Findings {
		o.Findings[i].Unasked = false
	}
	return o
}

// A Skip is a gate that does not apply, with the reason.
type Skip struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Hidden returns the skip with hide applied to its reason.
func (s Skip) Hidden(hide func(string) string) Skip {
	if hide != nil {
		s.Reason = hide(s.Reason)
	}
	return s
}
