package lsp

import (
	"cmp"
	"maps"
	"math"
	"net/url"
	"path/filepath"
	"slices"

	"agent/cmd/agent/internal/command/watch"
	"agent/cmd/agent/internal/term"
)

// The severities of diagnostics and messages; see the specification of the protocol.
const (
	isError, isWarning, isInfo, isLog = 1, 2, 3, 4
)

// A position is a place in a file, counted from 0.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// A span is a part of a file.
type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// A diagnostic is one finding, as editors show it.
type diagnostic struct {
	Range           span             `json:"range"`
	Severity        int              `json:"severity"`
	Code            string           `json:"code,omitempty"`
	CodeDescription *codeDescription `json:"codeDescription,omitempty"`
	Source          string           `json:"source"`
	Message         string           `json:"message"`
}

// A codeDescription says where a rule is explained.
type codeDescription struct {
	Href string `json:"href"`
}

// A publication holds all diagnostics of one file.
type publication struct {
	URI         string       `json:"uri"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// A message is text for the user of the editor.
type message struct {
	Type    int    `json:"type"`
	Message string `json:"message"`
}

// of returns the diagnostic of a finding. It marks the whole line: tools count columns in units of their own.
func of(f watch.Finding, severity int) diagnostic {
	line := max(f.Line-1, 0)
	d := diagnostic{
		Range:    span{position{line, 0}, position{line, math.MaxInt32}}, // an end beyond the line's is its end
		Severity: severity, Code: f.Rule, Source: "agent " + f.Gate, Message: term.Clean(cmp.Or(f.Message, f.Rule, f.Gate)),
	}
	if f.Help != "" && f.Rule != "" {
		d.CodeDescription = &codeDescription{f.Help}
	}
	return d
}

// publications returns the publications of a state, in the order of files: everything that it finds, and an empty one
// for each file in before without findings now. Findings without a file of the workspace have none.
func publications(root string, s watch.State, before map[string]bool) (list []publication) {
	severity := isWarning
	if s.State == "failed" {
		severity = isError
	}
	found := map[string][]diagnostic{}
	for uri := range before {
		found[uri] = []diagnostic{}
	}
	for _, f := range s.Findings {
		if filepath.IsLocal(f.File) {
			uri := (&url.URL{Scheme: "file", Path: filepath.Join(root, f.File)}).String()
			found[uri] = append(found[uri], of(f, severity))
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(found)) {
		list = append(list, publication{uri, found[uri]})
	}
	return list
}

// urgent returns the type of the message about a state, and whether the user must see it at once: the state failed and
// no line of a file shows why.
func urgent(s watch.State) (kind int, show bool) {
	switch s.State {
	case "failed":
		return isError, !slices.ContainsFunc(s.Findings, func(f watch.Finding) bool { return filepath.IsLocal(f.File) })
	case "held", "unjudged":
		return isWarning, false
	case "proving":
		return isLog, false
	}
	return isInfo, false
}
