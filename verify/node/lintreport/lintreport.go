// Package lintreport reads the reports of the linters that npm packages bring into a workspace. It says why a report cannot
// be used, and never takes part of a report for the whole.
package lintreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"agent/verify/check"
)

// Unread is the trouble with something that is not a report.
const Unread = "no report"

// An eslintFile is what eslint's formatter json writes about a file, limited to the fields used here.
type eslintFile struct {
	// Path is absolute.
	Path     string `json:"filePath"`
	Errors   int    `json:"errorCount"`
	Messages []struct {
		// Rule is null for text that does not parse.
		Rule string `json:"ruleId"`
		// Severity 2 is an error; warnings are not requested.
		Severity int    `json:"severity"`
		Message  string `json:"message"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
		// Fix is how eslint would repair the finding; null when it cannot.
		Fix *struct{} `json:"fix"`
	} `json:"messages"`
}

// ESLint reads the output of eslint's formatter json, given its exit status. trouble says why it cannot be taken for an answer.
func ESLint(exit int, data []byte) (found []check.Finding, trouble string) {
	var files []eslintFile
	if err := json.Unmarshal(data, &files); err != nil || exit > 1 {
		return nil, Unread
	}
	for _, f := range files {
		n := 0
		for _, m := range f.Messages {
			if m.Severity != 2 {
				continue
			}
			n++
			found = append(found, check.Finding{
				File: check.Relative(f.Path, check.Work), Line: max(m.Line, 0), Column: max(m.Column, 0),
				Rule: cmp.Or(check.Shorten(m.Rule), "parse"), Message: check.Shorten(m.Message), Fixable: m.Fix != nil,
			})
		}
		if n != f.Errors {
			return nil, fmt.Sprintf("eslint counts %d errors and lists %d", f.Errors, n)
		}
	}
	return found, ""
}

// stylelintFailed is the exit status of stylelint when it finds errors.
const stylelintFailed = 2

// A stylelintFile is what stylelint's formatter json writes about a file, limited to the fields used here.
type stylelintFile struct {
	// Path is absolute.
	Path string `json:"source"`
	// Errored says that the file has errors, or that there are options that no rule takes.
	Errored  bool                    `json:"errored"`
	Options  []struct{ Text string } `json:"invalidOptionWarnings"`
	Warnings []struct {
		Line   int    `json:"line"`
		Column int    `json:"column"`
		Rule   string `json:"rule"`
		// Severity is "error" or "warning"; warnings are not requested.
		Severity string `json:"severity"`
		// Text ends with the rule in parentheses.
		Text string `json:"text"`
	} `json:"warnings"`
}

// Stylelint reads the output of stylelint's formatter json, as [ESLint] does.
func Stylelint(exit int, data []byte) (found []check.Finding, trouble string) {
	var files []stylelintFile
	if err := json.Unmarshal(data, &files); err != nil || exit != 0 && exit != stylelintFailed {
		return nil, Unread
	}
	for _, f := range files {
		n := len(f.Options)
		for _, o := range f.Options {
			found = append(found, check.Finding{File: check.Relative(f.Path, check.Work), Rule: "options", Message: check.Shorten(o.Text)})
		}
		for _, w := range f.Warnings {
			if w.Severity != "error" {
				continue
			}
			n++
			found = append(found, check.Finding{
				File: check.Relative(f.Path, check.Work), Line: max(w.Line, 0), Column: max(w.Column, 0), Rule: check.Shorten(w.Rule),
				Message: check.Shorten(strings.TrimSuffix(w.Text, " ("+w.Rule+")")),
			})
		}
		if f.Errored != (n > 0) {
			return nil, fmt.Sprintf("stylelint reports errors in a file as %t and lists %d", f.Errored, n)
		}
	}
	return found, ""
}
