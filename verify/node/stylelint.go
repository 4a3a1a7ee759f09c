package node

import (
	"encoding/json"
	"fmt"
	"strings"

	"agent/verify/check"
)

// StylelintName is the name of its check.
const StylelintName = "stylelint"

// stylelintFailed is its exit status when it finds errors.
const stylelintFailed = 2

// stylelint lints CSS and its dialects.
var stylelint = packageLinter{
	name: StylelintName, kinds: []string{"lint", "stylelint"}, status: stylelintFailed, look: "**/*.css", parse: parseStylelint, planted: plantedStylelint, faulty: "a.css",
	rule: "color-no-invalid-hex",
	config: []string{
		"stylelint.config.js", "stylelint.config.mjs", "stylelint.config.cjs", "stylelint.config.ts", ".stylelintignore",
		".stylelintrc", ".stylelintrc.js", ".stylelintrc.cjs", ".stylelintrc.mjs", ".stylelintrc.json", ".stylelintrc.yml", ".stylelintrc.yaml",
	},
	keys: stylelintKeys,
	options: map[string]bool{
		"--fix": false, "-f": true, "--formatter": true, "--custom-formatter": true, "-o": true, "--output-file": true, "--max-warnings": true, "--mw": true,
		"-q": false, "--quiet": false, "--cache": false, "--cache-location": true, "--cache-strategy": true, "--color": false, "--no-color": false,
		"--suppress": false, "--suppress-location": true,
	},
	args: func(report string) []string {
		return []string{"--quiet", "--allow-empty-input", "--formatter=json", "--output-file=" + report}
	},
}

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

// parseStylelint reads what stylelint's formatter json wrote.
func parseStylelint(exit int, data []byte) (found []check.Finding, trouble string) {
	var files []stylelintFile
	if err := json.Unmarshal(data, &files); err != nil || exit != 0 && exit != stylelintFailed {
		return nil, unread
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

// plantedStylelint is the report of the planted package.
const plantedStylelint = `[{"source": "/work/a.css", "errored": true, "warnings": [{"rule": "color-no-invalid-hex", "severity": "error", "text": "planted", "line": 1, "column": 1}]}]
`
