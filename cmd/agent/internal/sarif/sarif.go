// Package sarif writes a run's findings as SARIF 2.1.0, the OASIS standard in which tools hand findings to code hosts
// and editors.
//
// It owns the shape of that document. The document does not say where things are on this machine, since it is read on
// others.
package sarif

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
	"agent/verify"
)

// SARIF 2.1.0 is the OASIS standard in which tools hand findings to code hosts and editors. The package writes only
// what those read. The names are the standard's own, and comments cite its sections where a rule needs one.
const (
	schemaURL = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	version   = "2.1.0"

	// rootName stands for the workspace. Its location on this machine is left out: the document is read on others.
	rootName = "SRCROOT"
)

// A Log is the document.
type Log struct {
	Schema  string    `json:"$schema"`
	Version string    `json:"version"`
	Runs    []toolRun `json:"runs"`
}

// A toolRun holds the results of one tool. Results is never null, which would mean that the tool did not look.
type toolRun struct {
	Tool struct {
		Driver driver `json:"driver"`
	} `json:"tool"`
	Automation  identity             `json:"automationDetails"`
	Invocations []invocation         `json:"invocations"`
	Bases       map[string]directory `json:"originalUriBaseIds"`
	// ColumnKind is how ruff counts columns.
	ColumnKind string   `json:"columnKind"`
	Results    []result `json:"results"`
}

// A driver is a tool, with the rules that its results refer to.
type driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Rules   []rule `json:"rules"`
}

type rule struct {
	ID   string `json:"id"`
	Help string `json:"helpUri,omitempty"`
}

type identity struct {
	ID string `json:"id"`
}

type directory struct {
	Description message `json:"description"`
}

type message struct {
	Text string `json:"text"`
}

// An invocation is one gate. A gate that did not get to judge counts as unsuccessful, so that its empty list does not
// read as good news.
type invocation struct {
	Successful    bool     `json:"executionSuccessful"`
	Notifications []notice `json:"toolExecutionNotifications,omitempty"`
}

type notice struct {
	Level   string  `json:"level"`
	Message message `json:"message"`
}

// A result is one finding.
type result struct {
	Rule         string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      message           `json:"message"`
	Locations    []location        `json:"locations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Baseline     string            `json:"baselineState"`
	Properties   properties        `json:"properties"`
}

type properties struct {
	Gate    string `json:"gate"`
	Fixable bool   `json:"fixable"`
	Source  string `json:"source,omitempty"`
}

type location struct {
	Physical place `json:"physicalLocation"`
}

type place struct {
	Artifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	} `json:"artifactLocation"`
	Region *region `json:"region,omitempty"`
}

type region struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn,omitempty"`
}

// New returns what the gates found in the candidate that decided a run: the promoted one, or the one that ended it. The
// other candidates are different texts, whose lines mean nothing next to it.
func New(d run.Document) Log {
	log := Log{Schema: schemaURL, Version: version, Runs: []toolRun{}}
	if len(d.Candidates) == 0 {
		return log
	}
	// One run for each tool, whichever gates it served.
	at := map[string]int{}
	for _, g := range d.Candidates[d.Deciding()].Gates {
		versions := toolsOf(g)
		for _, tool := range slices.Sorted(maps.Keys(versions)) {
			i, ok := at[tool]
			if !ok {
				i = len(log.Runs)
				at[tool] = i
				log.Runs = append(log.Runs, newRun(d.Run, tool, versions[tool]))
			}
			log.Runs[i].add(g, tool)
		}
	}
	log.unproven(d)
	return log
}

// unproven adds a note about what no gate judged. No tool exists that could report it, so it goes into a run of the
// agent itself. It is not a result, since it has no location and no gate objects.
func (l *Log) unproven(d run.Document) {
	list := d.Candidates[d.Deciding()].Unproven
	if len(list) == 0 {
		return
	}
	call := invocation{Successful: true}
	for _, u := range list {
		call.Notifications = append(call.Notifications, notice{"warning", messageOf(u.Gate + ": " + u.Reason)})
	}
	i := slices.IndexFunc(l.Runs, func(r toolRun) bool { return r.Tool.Driver.Name == agentTool })
	if i < 0 {
		i = len(l.Runs)
		l.Runs = append(l.Runs, newRun(d.Run, agentTool, ""))
	}
	l.Runs[i].Invocations = append(l.Runs[i].Invocations, call)
}

// toolsOf returns the tools behind a gate with their versions, "" if unknown. The agent itself reports anything that no
// tool is named for, such as a gate that did not run.
func toolsOf(g verify.Gate) map[string]string {
	tools := map[string]string{}
	for _, program := range strings.Split(g.Tool, ", ") {
		if name, version, _ := strings.Cut(program, " "); name != "" {
			tools[name] = version
		}
	}
	for _, f := range slices.Concat(g.Findings, g.OldFindings) {
		if _, ok := tools[toolOf(g, f)]; !ok {
			tools[toolOf(g, f)] = ""
		}
	}
	if len(tools) == 0 {
		tools[agentTool] = ""
	}
	return tools
}

// agentTool is the name of the tool if there is no other.
const agentTool = "agent"

// toolOf returns the tool of a finding. Records of older versions name it only if a gate has just one.
func toolOf(g verify.Gate, f verify.Finding) string {
	only := ""
	if !strings.Contains(g.Tool, ", ") {
		only, _, _ = strings.Cut(g.Tool, " ")
	}
	return cmp.Or(f.Tool, only, agentTool)
}

// newRun returns a new run of a tool.
func newRun(id, tool, version string) toolRun {
	r := toolRun{
		// The part before the last slash is the category under which a code host compares one run with the next
		// (3.17.3).
		Automation: identity{"agent/" + id}, Invocations: []invocation{},
		Bases:      map[string]directory{rootName: {message{"The root of the workspace."}}},
		ColumnKind: "unicodeCodePoints", Results: []result{},
	}
	r.Tool.Driver = driver{Name: tool, Version: version, Rules: []rule{}}
	return r
}

// add adds what a tool found for a gate, including the old findings.
func (r *toolRun) add(g verify.Gate, tool string) {
	call, level := invocation{}, "error"
	switch g.Verdict {
	case verify.Pass, verify.Fail:
		call.Successful = true
	case verify.Policy:
		// A person may still want the change.
		call.Successful, level = true, "warning"
	}
	if g.Verdict != verify.Pass && len(g.Findings) == 0 {
		call.Notifications = []notice{{level, messageOf(fmt.Sprintf("%s: %s: %s", g.Name, g.Verdict, g.Detail))}}
	}
	r.Invocations = append(r.Invocations, call)
	for _, f := range g.Findings {
		if toolOf(g, f) == tool {
			r.result(g.Name, level, "new", f)
		}
	}
	for _, f := range g.OldFindings {
		if toolOf(g, f) == tool {
			r.result(g.Name, "error", "unchanged", f)
		}
	}
}

// result adds one finding of a gate.
func (r *toolRun) result(gate, level, state string, f verify.Finding) {
	// Code hosts refuse a result without a rule.
	id := f.Rule
	if id == "" {
		id = gate
	}
	res := result{
		Rule: id, RuleIndex: r.rule(id, f.Help), Level: level, Message: messageOf(f.Message), Baseline: state,
		Fingerprints: map[string]string{"finding/v1": f.Fingerprint()},
		Properties:   properties{Gate: gate, Fixable: f.Fixable, Source: f.Source},
	}
	// A refused patch may name any path. One outside of the workspace has no place in a document about the workspace.
	if filepath.IsLocal(f.File) {
		res.Locations = []location{{placeOf(f)}}
	}
	r.Results = append(r.Results, res)
}

// rule returns the index of a rule, and adds the rule if it is new.
func (r *toolRun) rule(id, help string) int {
	rules := &r.Tool.Driver.Rules
	for i, known := range *rules {
		if known.ID == id {
			return i
		}
	}
	*rules = append(*rules, rule{id, help})
	return len(*rules) - 1
}

// placeOf returns the location of a finding with a file. The path becomes a relative reference (RFC 3986), with
// everything except plain characters percent-encoded.
func placeOf(f verify.Finding) place {
	var p place
	p.Artifact.URI, p.Artifact.Base = (&url.URL{Path: f.File}).String(), rootName
	if f.Line > 0 {
		p.Region = &region{Line: f.Line, Column: max(f.Column, 0)}
	}
	return p
}

// CheckFile reports a file that --sarif cannot write, before any work is done.
func CheckFile(name string) error {
	const next = "name a file in a directory that exists: --sarif FILE"
	if name == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil {
		return fault.Usage(next, "--sarif: %w", err)
	} else if !info.IsDir() {
		return fault.Usage(next, "--sarif: %s is not a directory", filepath.Dir(name))
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fault.Usage(next, "--sarif: %s is a directory", name)
	}
	return nil
}

// WriteFile writes the findings of a run to a file.
func WriteFile(name string, doc run.Document) error {
	var text bytes.Buffer
	err := term.PrintJSON(&text, New(doc))
	if err == nil {
		err = os.WriteFile(name, text.Bytes(), 0o644)
	}
	if err != nil {
		return fault.Infra("name another file: --sarif FILE", "write the findings: %w", err)
	}
	return nil
}

// messageOf turns text of unknown origin into a message: it doubles braces, since a single pair is a placeholder
// (3.11.5), and breaks up anything that would be read as a link (3.11.6).
func messageOf(text string) message {
	return message{strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(term.Clean(text))}
}
