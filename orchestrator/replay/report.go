package replay

import (
	"cmp"
	"fmt"
	"strings"

	"agent/verify"
	"agent/verify/policy"
)

// A Difference is one result of a replay that differs from the record.
type Difference struct {
	// Candidate counts from 1; 0 means that it is about the run.
	Candidate int `json:"candidate,omitempty"`
	// What differs: response, tree, changeset, verdict, hold, unproven, the name of a gate, or that name and "found" for one of its
	// findings. For a response and a tree, the values are digests.
	What     string `json:"what"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// A Report is the result of a replay. It is printed as JSON, so its lists are never null. Identical means that Differs is empty. Notes
// are not differences: they say what may explain one, or what could not be compared.
type Report struct {
	Run       string `json:"run"`
	Identical bool   `json:"identical"`
	// Snapshot is the digest of the rebuilt workspace; Toolchain is the image of the tools here, and Recorded that of the run. Snapshot
	// equals the recorded one, since a rebuilt workspace with another digest ends the replay with an error.
	Snapshot  string       `json:"snapshot"`
	Toolchain string       `json:"toolchain"`
	Recorded  string       `json:"toolchain_recorded"`
	Verdicts  []Verdict    `json:"candidates"`
	Differs   []Difference `json:"differences"`
	Notes     []string     `json:"notes"`
}

// A Verdict is the result for one candidate.
type Verdict struct {
	// Step is the question whose answer the candidate was made from, "" for none.
	Step     string         `json:"step,omitempty"`
	Recorded verify.Verdict `json:"recorded"`
	// Replayed is "" if there was nothing to judge.
	Replayed verify.Verdict `json:"replayed"`
	// Tree is the digest of the workspace with the candidate.
	Tree string `json:"tree"`
}

// An UnfitError says that the evidence of a run is not whole. Bytes are missing, changed or of another format, so what would be judged
// is not what was judged. It says nothing about the verdict.
type UnfitError struct {
	Run    string
	Reason string
}

// Error names the run and what is wrong with its evidence.
func (e *UnfitError) Error() string { return "the evidence of run " + e.Run + ": " + e.Reason }

// byName indexes gates by their names. The caller deletes those that it has compared.
func byName(gates []verify.Gate) map[string]verify.Gate {
	m := map[string]verify.Gate{}
	for _, g := range gates {
		m[g.Name] = g
	}
	return m
}

// gateVerdict returns the verdict of a gate, or says that there was none.
func gateVerdict(g verify.Gate) string { return string(cmp.Or(g.Verdict, "left out")) }

// found words new findings, without what the record could not keep. It leaves out columns and the old source line, and the zero bytes
// and bytes that are not UTF-8, which the database does not take.
func found(list []verify.Finding) []string {
	var words []string
	for _, f := range list {
		words = append(words, strings.Map(func(r rune) rune {
			if r == 0 || r == '\uFFFD' {
				return -1
			}
			return r
		}, fmt.Sprintf("%s:%d: %s %s", f.File, f.Line, f.Rule, f.Message)))
	}
	return words
}

// heldBack words holds, except those that need the repository, which is not kept.
func heldBack(holds []policy.Hold) []string {
	var words []string
	for _, h := range holds {
		if h.Kind != policy.Unseen {
			words = append(words, h.Kind+" "+h.Path)
		}
	}
	return words
}

// unproven words what was not judged. It leaves out the sentences, which may change.
func unproven(list []verify.Unproven) []string {
	var words []string
	for _, u := range list {
		words = append(words, u.Gate+" "+string(u.Kind))
	}
	return words
}
