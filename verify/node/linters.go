package node

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"agent/verify/check"
	"agent/verify/node/lintreport"
)

// ESLintName is the name of the check of eslint.
const ESLintName = "eslint"

// eslint lints JavaScript and TypeScript.
var eslint = packageLinter{
	name: ESLintName, kinds: []string{"lint"}, status: 1, look: ".", parse: lintreport.ESLint, planted: plantedESLint, faulty: "a.js", rule: "no-undef",
	config: []string{
		"eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", "eslint.config.mts", "eslint.config.cts", ".eslintignore",
		".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml",
	},
	keys: eslintKeys,
	// certain lists those of eslint's own rules of the type "problem" that find faults whatever the style.
	certain: []string{
		"parse", "constructor-super", "no-class-assign", "no-const-assign", "no-dupe-args", "no-dupe-class-members", "no-dupe-keys", "no-func-assign", "no-import-assign",
		"no-new-native-nonconstructor", "no-obj-calls", "no-setter-return", "no-this-before-super", "no-undef", "no-unreachable", "no-unsafe-negation", "use-isnan", "valid-typeof",
		"react-hooks/rules-of-hooks",
	},
	options: map[string]bool{
		"--fix": false, "--fix-dry-run": false, "-f": true, "--format": true, "-o": true, "--output-file": true, "--max-warnings": true, "--quiet": false,
		"--cache": false, "--cache-file": true, "--cache-location": true, "--cache-strategy": true, "--color": false, "--no-color": false, "--debug": false,
	},
	args: func(version, report string) []string {
		args := []string{"--quiet", "--format=json", "--output-file=" + report}
		if atLeast(version, 6, 8) {
			args = append(args, "--no-error-on-unmatched-pattern") // an older eslint refuses an option that it does not know
		}
		return args
	},
}

// atLeast reports whether a version is major.minor or later. A version that cannot be read counts as new.
func atLeast(version string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(version, "%d.%d", &a, &b); n < 2 {
		return true
	}
	return a > major || a == major && b >= minor
}

// ESLintFix repairs what a package's eslint finds.
var ESLintFix = check.Fixer{Check: ESLintName, Group: ESLintName, Fix: eslintFix}

// eslintFix makes the eslint of the package that contains a file repair one text. Rules cannot be selected.
func eslintFix(ctx context.Context, b check.Bench, name string, text []byte, _ []string) ([]byte, check.Outcome) {
	uses := map[string]packageUse{}
	for _, u := range eslint.uses(b.View) {
		uses[u.root] = u
	}
	u, ok := uses[check.Nearest(uses, path.Dir(name))]
	if !ok {
		return nil, check.Outcome{}
	}
	found, out, done := installed(ctx, b, ESLintName, ESLintName, []packageUse{u})
	if !done || found[0] == nil {
		return nil, out
	}
	cmd := useCommand(b, u, *found[0], append(without(u.args, eslint.options), "--fix-dry-run", "--format=json", "--stdin", "--stdin-filename="+path.Join(check.Work, name))...)
	cmd.Stdin, cmd.MaxOutput = text, check.MaxToolOutput
	res, out, done := b.Command(ctx, cmd)
	var files []struct {
		// Output is absent if eslint repaired nothing.
		Output string `json:"output"`
	}
	if !done || json.Unmarshal(res.Stdout.Head, &files) != nil || len(files) != 1 || files[0].Output == "" {
		return nil, out
	}
	return []byte(files[0].Output), out
}

// plantedESLint is the report of the planted package.
const plantedESLint = `[{"filePath": "/work/a.js", "errorCount": 1, "messages": [{"ruleId": "no-undef", "severity": 2, "message": "planted", "line": 1, "column": 1}]}]
`

// StylelintName is the name of the check of stylelint.
const StylelintName = "stylelint"

// stylelintFailed is the exit status of stylelint when it finds errors.
const stylelintFailed = 2

// stylelint lints CSS and its dialects.
var stylelint = packageLinter{
	name: StylelintName, kinds: []string{"lint", "stylelint"}, status: stylelintFailed, look: "**/*.css", parse: lintreport.Stylelint, planted: plantedStylelint, faulty: "a.css",
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
	args: func(_, report string) []string {
		return []string{"--quiet", "--allow-empty-input", "--formatter=json", "--output-file=" + report}
	},
}

// plantedStylelint is the report of the planted package.
const plantedStylelint = `[{"source": "/work/a.css", "errored": true, "warnings": [{"rule": "color-no-invalid-hex", "severity": "error", "text": "planted", "line": 1, "column": 1}]}]
`
