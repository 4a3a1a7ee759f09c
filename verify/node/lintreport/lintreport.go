// Package lintreport reads the reports of the linters that packages of node bring. It says why a report is none, and
// never takes a part of one for the whole.
package lintreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"agent/verify/check"
)

// Unread is the trouble with a report that is none.
const Unread = "no report"

// An eslintFile is what eslint's formatter json writes of a file, the fields that
// are used here.
type eslintFile struct {
	// Absolute.
	Path     string `json:"filePath"`
	Errors   int    `json:"errorCount"`
	Messages []struct {
		// Null for what does not parse.
		Rule string `json:"ruleId"`
		// 2 is an error; warnings are not asked for.
		Severity int    `json:"severity"`
		Message  string `json:"message"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
		// How it would repair the finding; null when it cannot.
		Fix *struct{} `json:"fix"`
	} `json:"messages"`
}

// ESLint reads what eslint's formatter json wrote, with its exit status, and says why it cannot be taken for an answer.
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
			return nil, fmt.Sprintf("eslint counts %d errors and tells of %d", f.Errors, n)
		}
	}
	return found, ""
}

// stylelintFailed is its exit status when it finds errors.
const stylelintFailed = 2

// A stylelintFile is what stylelint's formatter json writes of a file, the fields
// that are used here.
type stylelintFile struct {
	// Absolute.
	Path string `json:"source"`
	// It has errors, or options that no rule takes.
	Errored  bool                    `json:"errored"`
	Options  []struct{ Text string } `json:"invalidOptionWarnings"`
	Warnings []struct {
		Line   int    `json:"line"`
		Column int    `json:"column"`
		Rule   string `json:"rule"`
		// "error" or "warning"; the latter are not asked for.
		Severity string `json:"severity"`
		// Ends with the rule in parentheses.
		Text string `json:"text"`
	} `json:"warnings"`
}

// Stylelint reads what stylelint's formatter json wrote, as [ESLint] does.
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
			return nil, fmt.Sprintf("stylelint says %t of errors in a file and tells of %d", f.Errored, n)
		}
	}
	return found, ""
}
