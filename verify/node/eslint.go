package node

import (
	"cmp"
	"encoding/json"
	"fmt"

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
