package node

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"agent/verify/check"
)

// ESLintName is the name of its check.
const ESLintName = "eslint"

// eslint lints JavaScript and TypeScript.
var eslint = packageLinter{
	name: ESLintName, kinds: []string{"lint"}, status: 1, look: ".", parse: parseESLint, planted: plantedESLint, faulty: "a.js", rule: "no-undef",
	config: []string{
		"eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", "eslint.config.mts", "eslint.config.cts", ".eslintignore",
		".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml",
	},
	keys: eslintKeys,
	// Of eslint's own rules of the type "problem" those that are faults whatever the style.
	certain: []string{
		"parse", "constructor-super", "no-class-assign", "no-const-assign", "no-dupe-args", "no-dupe-class-members", "no-dupe-keys", "no-func-assign", "no-import-assign",
		"no-new-native-nonconstructor", "no-obj-calls", "no-setter-return", "no-this-before-super", "no-undef", "no-unreachable", "no-unsafe-negation", "use-isnan", "valid-typeof",
		"react-hooks/rules-of-hooks",
	},
	options: map[string]bool{
		"--fix": false, "--fix-dry-run": false, "-f": true, "--format": true, "-o": true, "--output-file": true, "--max-warnings": true, "--quiet": false,
		"--cache": false, "--cache-file": true, "--cache-location": true, "--cache-strategy": true, "--color": false, "--no-color": false, "--debug": false,
	},
	args: func(report string) []string {
		return []string{"--quiet", "--no-error-on-unmatched-pattern", "--format=json", "--output-file=" + report}
	},
}

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

// parseESLint reads what eslint's formatter json wrote.
func parseESLint(exit int, data []byte) (found []check.Finding, trouble string) {
	var files []eslintFile
	if err := json.Unmarshal(data, &files); err != nil || exit > 1 {
		return nil, unread
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

// plantedESLint is the report of the planted package.
const plantedESLint = `[{"filePath": "/work/a.js", "errorCount": 1, "messages": [{"ruleId": "no-undef", "severity": 2, "message": "planted", "line": 1, "column": 1}]}]
`

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
