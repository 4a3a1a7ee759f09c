package main

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

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
	"agent/verify"
)

// SARIF 2.1.0 is the OASIS standard in which tools hand findings to code
// hosts and editors. Only what those read is written; the names are the
// standard's own, and its sections are named where a rule needs one.
const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion = "2.1.0"

	// sarifRoot stands for the workspace. Its place on this machine is
	// not told: the document is read on others.
	sarifRoot = "SRCROOT"
)

// A sarifLog is the document.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

// A sarifRun is what one tool said. Results is never null, which would
// mean that the tool did not look.
type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Automation  sarifID             `json:"automationDetails"`
	Invocations []sarifInvocation   `json:"invocations"`
	Bases       map[string]sarifDir `json:"originalUriBaseIds"`
	// ColumnKind is how ruff counts columns.
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

// A sarifDriver is a tool, with the rules that it has results of.
type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID   string `json:"id"`
	Help string `json:"helpUri,omitempty"`
}

type sarifID struct {
	ID string `json:"id"`
}

type sarifDir struct {
	Description sarifText `json:"description"`
}

type sarifText struct {
	Text string `json:"text"`
}

// A sarifInvocation is one gate. One that did not get to judge is no
// success, so that its empty list does not read as good news.
type sarifInvocation struct {
	Successful    bool          `json:"executionSuccessful"`
	Notifications []sarifNotice `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotice struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

// A sarifResult is one finding.
type sarifResult struct {
	Rule         string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Baseline     string            `json:"baselineState"`
	Properties   sarifProperties   `json:"properties"`
}

type sarifProperties struct {
	Gate    string `json:"gate"`
	Fixable bool   `json:"fixable"`
	Source  string `json:"source,omitempty"`
}

type sarifLocation struct {
	Physical sarifPlace `json:"physicalLocation"`
}

type sarifPlace struct {
	Artifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn,omitempty"`
}

// newSarif writes what the gates said of the last candidate of a run: the
// one that was promoted, or that ended it. The others are other texts, whose
// lines mean nothing beside it.
func newSarif(d run.Document) sarifLog {
	log := sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{}}
	if len(d.Candidates) == 0 {
		return log
	}
	// One run for each tool, whichever gates it served.
	at := map[string]int{}
	for _, g := range d.Candidates[len(d.Candidates)-1].Gates {
		versions := sarifTools(g)
		for _, tool := range slices.Sorted(maps.Keys(versions)) {
			i, ok := at[tool]
			if !ok {
				i = len(log.Runs)
				at[tool] = i
				log.Runs = append(log.Runs, newSarifRun(d.Run, tool, versions[tool]))
			}
			log.Runs[i].add(g, tool)
		}
	}
	log.unproven(d)
	return log
}

// unproven notes what no gate judged, which no tool is there to tell: a run of the agent
// itself has it. It is no result, as it has no place, and no gate objects.
func (l *sarifLog) unproven(d run.Document) {
	list := d.Candidates[len(d.Candidates)-1].Unproven
	if len(list) == 0 {
		return
	}
	call := sarifInvocation{Successful: true}
	for _, u := range list {
		call.Notifications = append(call.Notifications, sarifNotice{"warning", sarifMessage(u.Gate + ": " + u.Reason)})
	}
	i := slices.IndexFunc(l.Runs, func(r sarifRun) bool { return r.Tool.Driver.Name == sarifAgent })
	if i < 0 {
		i = len(l.Runs)
		l.Runs = append(l.Runs, newSarifRun(d.Run, sarifAgent, ""))
	}
	l.Runs[i].Invocations = append(l.Runs[i].Invocations, call)
}

// sarifTools are the tools behind a gate with their versions, "" where none is
// known. What no tool is named for, such as a gate that did not run, the agent
// itself tells.
func sarifTools(g verify.Gate) map[string]string {
	tools := map[string]string{}
	for _, program := range strings.Split(g.Tool, ", ") {
		if name, version, _ := strings.Cut(program, " "); name != "" {
			tools[name] = version
		}
	}
	for _, f := range slices.Concat(g.Findings, g.OldFindings) {
		if _, ok := tools[sarifTool(g, f)]; !ok {
			tools[sarifTool(g, f)] = ""
		}
	}
	if len(tools) == 0 {
		tools[sarifAgent] = ""
	}
	return tools
}

// sarifAgent is the tool where there is no other.
const sarifAgent = "agent"

// sarifTool names the tool of a finding. Records of older versions tell it only
// where a gate has just one.
func sarifTool(g verify.Gate, f verify.Finding) string {
	only := ""
	if !strings.Contains(g.Tool, ", ") {
		only, _, _ = strings.Cut(g.Tool, " ")
	}
	return cmp.Or(f.Tool, only, sarifAgent)
}

// newSarifRun begins the run of a tool.
func newSarifRun(id, tool, version string) sarifRun {
	r := sarifRun{
		// What stands before the last slash is the category under which a
		// code host compares one run with the next (3.17.3).
		Automation: sarifID{"agent/" + id}, Invocations: []sarifInvocation{},
		Bases:      map[string]sarifDir{sarifRoot: {sarifText{"The root of the workspace."}}},
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
	}
	r.Tool.Driver = sarifDriver{Name: tool, Version: version, Rules: []sarifRule{}}
	return r
}

// add adds what a tool found for a gate, the old findings as well.
func (r *sarifRun) add(g verify.Gate, tool string) {
	call, level := sarifInvocation{}, "error"
	switch g.Verdict {
	case verify.Pass, verify.Fail:
		call.Successful = true
	case verify.Policy:
		// A person may still want it.
		call.Successful, level = true, "warning"
	}
	if g.Verdict != verify.Pass && len(g.Findings) == 0 {
		call.Notifications = []sarifNotice{{level, sarifMessage(fmt.Sprintf("%s: %s: %s", g.Name, g.Verdict, g.Detail))}}
	}
	r.Invocations = append(r.Invocations, call)
	for _, f := range g.Findings {
		if sarifTool(g, f) == tool {
			r.result(g.Name, level, "new", f)
		}
	}
	for _, f := range g.OldFindings {
		if sarifTool(g, f) == tool {
			r.result(g.Name, "error", "unchanged", f)
		}
	}
}

// result adds one finding of a gate.
func (r *sarifRun) result(gate, level, state string, f verify.Finding) {
	// Code hosts refuse a result without a rule.
	id := f.Rule
	if id == "" {
		id = gate
	}
	res := sarifResult{
		Rule: id, RuleIndex: r.rule(id, f.Help), Level: level, Message: sarifMessage(f.Message), Baseline: state,
		Fingerprints: map[string]string{"finding/v1": f.Fingerprint()},
		Properties:   sarifProperties{Gate: gate, Fixable: f.Fixable, Source: f.Source},
	}
	// A refused patch may name any path; one outside of the workspace has
	// no place in a document of it.
	if filepath.IsLocal(f.File) {
		res.Locations = []sarifLocation{{sarifPlaceOf(f)}}
	}
	r.Results = append(r.Results, res)
}

// rule returns the index of a rule, which it adds when it is new.
func (r *sarifRun) rule(id, help string) int {
	rules := &r.Tool.Driver.Rules
	for i, known := range *rules {
		if known.ID == id {
			return i
		}
	}
	*rules = append(*rules, sarifRule{id, help})
	return len(*rules) - 1
}

// sarifPlaceOf returns where a finding with a file is. The path becomes a
// relative reference (RFC 3986), everything else than plain characters
// percent-encoded.
func sarifPlaceOf(f verify.Finding) sarifPlace {
	var p sarifPlace
	p.Artifact.URI, p.Artifact.Base = (&url.URL{Path: f.File}).String(), sarifRoot
	if f.Line > 0 {
		p.Region = &sarifRegion{Line: f.Line, Column: max(f.Column, 0)}
	}
	return p
}

// checkSarif reports a file that --sarif cannot write, before anything is
// done.
func checkSarif(name string) error {
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

// deliver reports the result of a run, and writes what was found to the
// file that --sarif names. The exit code stays the run's own.
func (c *cmdline) deliver(ctx *cli.Context, set config.Settings, doc run.Document) error {
	reported := c.report(doc, set.On("json"))
	name := ctx.String("sarif")
	if name == "" {
		return reported
	}
	if err := writeSarif(name, doc); err != nil {
		fmt.Fprintf(c.Stderr, "agent: %s\nnext: `agent runs show %s --sarif -` prints them\n", term.CleanLine(err.Error()), doc.Run)
	}
	return reported
}

// writeSarif writes what was found in a run to a file.
func writeSarif(name string, doc run.Document) error {
	var text bytes.Buffer
	err := term.PrintJSON(&text, newSarif(doc))
	if err == nil {
		err = os.WriteFile(name, text.Bytes(), 0o644)
	}
	if err != nil {
		return fault.Infra("name another file: --sarif FILE", "write the findings: %w", err)
	}
	return nil
}

// sarifMessage makes text of unknown origin a message: braces are doubled,
// since a single pair is a placeholder (3.11.5), and what would be read as
// a link is taken apart (3.11.6).
func sarifMessage(text string) sarifText {
	return sarifText{strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(term.Clean(text))}
}
