package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Proof is the result of a run in the form that a model needs.
type Proof struct {
	Run     string `json:"run"`
	State   string `json:"state,omitempty" jsonschema:"the state of the run, as verified, promoted or rejected"`
	Verdict string `json:"verdict" jsonschema:"pass, fail, policy, timeout, oom, infra, conflict, cancelled or budget"`
	// Passed says that it could be applied, Applied that it has been.
	Passed  bool   `json:"passed" jsonschema:"every gate passed and nothing holds it"`
	Applied bool   `json:"applied" jsonschema:"it was written to the workspace"`
	Summary string `json:"summary,omitempty" jsonschema:"why it did not pass"`
	Next    string `json:"next,omitempty" jsonschema:"what to do about it"`
	// Findings are those that the patch adds; Omitted counts further ones.
	Findings []Finding `json:"findings"`
	Omitted  int       `json:"omitted,omitempty" jsonschema:"how many findings are left out"`
	Holds    []Hold    `json:"holds" jsonschema:"what a person must approve"`
	Unproven []string  `json:"unproven" jsonschema:"what was not judged, and why"`
	Diff     string    `json:"diff,omitempty" jsonschema:"the change as it was judged, formatted"`
}

// A Finding is one new finding of a gate.
type Finding struct {
	Gate    string `json:"gate"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
}

// A Hold is a reason why a person must approve.
type Hold struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// The bounds on an answer, which a model reads completely.
const (
	mostFindings = 100
	longestDiff  = 64 << 10 // bytes
)

// A document is the part used here of what `agent sandbox run --json` and `agent runs show --json` print.
type document struct {
	Run        string `json:"run"`
	State      string `json:"state"`
	Verdict    string `json:"verdict"`
	Candidates []struct {
		Gates []struct {
			Name     string    `json:"name"`
			Verdict  string    `json:"verdict"`
			Findings []Finding `json:"findings"`
			Reason   string    `json:"reason"`
		} `json:"gates"`
		Holds []struct {
			Hold
			Block bool `json:"block"`
		} `json:"holds"`
		Unproven []struct {
			Reason string `json:"reason"`
		} `json:"unproven"`
		Diff string `json:"diff"`
	} `json:"candidates"`
	Promotion *json.RawMessage `json:"promotion"`
	Error     *struct {
		Message string `json:"message"`
		Next    string `json:"next"`
	} `json:"error"`
}

// proofOf reads the document of a run. A command that printed none says why on standard error.
func proofOf(ended Ended) (*sdk.CallToolResult, Proof, error) {
	var d document
	if err := json.Unmarshal([]byte(ended.Stdout), &d); err != nil || d.Run == "" {
		return nil, Proof{}, trouble(ended, err)
	}
	p := Proof{Run: d.Run, State: d.State, Verdict: d.Verdict, Applied: d.State == "promoted", Findings: []Finding{}, Holds: []Hold{}, Unproven: []string{}}
	p.Passed = d.Verdict == "pass"
	if d.Error != nil {
		p.Summary, p.Next = d.Error.Message, d.Error.Next
	}
	// The verdict is about the last candidate.
	if len(d.Candidates) > 0 {
		last := d.Candidates[len(d.Candidates)-1]
		for _, g := range last.Gates {
			for _, f := range g.Findings {
				f.Gate = g.Name
				p.Findings = append(p.Findings, f)
			}
		}
		for _, h := range last.Holds {
			if h.Block {
				p.Holds = append(p.Holds, h.Hold)
			}
		}
		for _, u := range last.Unproven {
			p.Unproven = append(p.Unproven, u.Reason)
		}
		p.Diff = last.Diff
	}
	if over := len(p.Findings) - mostFindings; over > 0 {
		p.Findings, p.Omitted = p.Findings[:mostFindings], over
	}
	if len(p.Diff) > longestDiff {
		p.Diff = fmt.Sprintf("%s\n… %d bytes more: the resource agent://runs/%s/diff has all of it\n", strings.ToValidUTF8(p.Diff[:longestDiff], ""), len(p.Diff)-longestDiff, p.Run)
	}
	return nil, p, nil
}

// saidOf passes on the document of a command.
func saidOf(ended Ended) (*sdk.CallToolResult, Said, error) {
	said := Said{Exit: ended.Exit}
	if err := json.Unmarshal([]byte(ended.Stdout), &said.Result); err != nil {
		return nil, Said{}, trouble(ended, nil)
	}
	return nil, said, nil
}

// trouble returns the error of a command without a document.
func trouble(ended Ended, err error) error {
	said := strings.TrimSpace(strings.ReplaceAll(ended.Stderr, "agent: ", ""))
	if said == "" {
		return errors.Join(fmt.Errorf("the command exited with status %d and no message", ended.Exit), err)
	}
	return fmt.Errorf("exit %d: %s", ended.Exit, said)
}
