package replay

import (
	"cmp"
	"fmt"
	"strings"

	"agent/verify"
	"agent/verify/policy"
)

// A Difference is one thing that a replay found otherwise than recorded.
type Difference struct {
	// Candidate counts from 1; 0 where it is about the run.
	Candidate int `json:"candidate,omitempty"`
	// What differs: response, tree, changeset, verdict, hold, unproven, the name of a gate, or that
	// and "found" for one of its findings. Of a response and a tree the digests are told.
	What     string `json:"what"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// A Report is what came of a replay.
// It is printed as JSON: its lists are never null. Identical is that Differs is empty. Notes
// say what may explain a difference, or what could not be compared: they are none.
type Report struct {
	Run       string `json:"run"`
	Identical bool   `json:"identical"`
	// Snapshot is the digest of the rebuilt workspace, Toolchain the image of the tools
	// here and Recorded that of the run.
	// Snapshot equals the recorded one: a rebuilt workspace that is another ends the replay with an error.
	Snapshot  string       `json:"snapshot"`
	Toolchain string       `json:"toolchain"`
	Recorded  string       `json:"toolchain_recorded"`
	Verdicts  []Verdict    `json:"candidates"`
	Differs   []Difference `json:"differences"`
	Notes     []string     `json:"notes"`
}

// A Verdict is what came of one candidate.
type Verdict struct {
	// Step is the question whose answer the candidate was made of, "" for none.
	Step     string         `json:"step,omitempty"`
	Recorded verify.Verdict `json:"recorded"`
	// Replayed is "" where nothing was to be judged.
	Replayed verify.Verdict `json:"replayed"`
	// Tree is the digest of the workspace with the candidate.
	Tree string `json:"tree"`
}

// An UnfitError says that the evidence of a run is not whole.
// Bytes are missing or changed, or belong to another format: what would be judged is not what was. It says nothing about
// the verdict.
type UnfitError struct {
	Run    string
	Reason string
}

// Error names the run and what is wrong.
func (e *UnfitError) Error() string { return "the evidence of run " + e.Run + ": " + e.Reason }

// byName indexes gates. Of those already compared nothing is left.
func byName(gates []verify.Gate) map[string]verify.Gate {
	m := map[string]verify.Gate{}
	for _, g := range gates {
		m[g.Name] = g
	}
	return m
}

// gateVerdict is the verdict of a gate, or that there was none.
func gateVerdict(g verify.Gate) string { return string(cmp.Or(g.Verdict, "left out")) }

// found words new findings, without what the record could not keep.
// Columns and the old source line are left out, and bytes that are no UTF-8 or zero, which the database does not take.
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

// heldBack words holds, but for those that need the repository, which is not kept.
func heldBack(holds []policy.Hold) []string {
	var words []string
	for _, h := range holds {
		if h.Kind != policy.Unseen {
			words = append(words, h.Kind+" "+h.Path)
		}
	}
	return words
}

// unproven words what was not judged, without the sentences, which may change.
func unproven(list []verify.Unproven) []string {
	var words []string
	for _, u := range list {
		words = append(words, u.Gate+" "+string(u.Kind))
	}
	return words
}
