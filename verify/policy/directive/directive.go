// Package directive is the table of the comments and attributes by which a source file addresses the tools that judge
// it: those that make a tool report less, and those that make it report more. They are read by form, without running
// anything. What happens to a changeset that adds the former or drops the latter is up to package policy.
package directive

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A Row is a form of comment or attribute.
type Row struct {
	Langs []lang.Family
	// The name by which a person knows it, for example "noqa". The forms of one family are counted together, so that
	// one may replace another.
	Family string
	// Group 1 is what it is about. Without the group, it is about everything.
	form *lazyregexp.Regexp
	// Whether it applies to more than one line.
	Wide bool
	// Whether it is in the code and not in a comment.
	Code bool
}

// Generated is the family of comments that say that a program wrote the file. Linters report less about such a file,
// and reviewers hardly see it. New files may say so for good reasons.
const Generated = "generated"

// Suppressions lists the forms that keep a tool from reporting something.
func Suppressions() []Row { return suppressions }

// suppressions lists those forms. Most tools require that a comment begins with their word, so that prose that
// mentions it has no effect. The forms are anchored in the same way.
var suppressions = slices.Concat(
	suppressing([]lang.Family{lang.Python}, false, [][2]string{
		{"noqa", `(?i)^noqa\b(?:\s*:\s*([A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?`},
		{"type: ignore", `^type:\s*ignore\b(?:\[([^\]]*)\])?`},
		{"type: ignore", `^(?:pyright|ty|pyrefly):\s*ignore\b(?:\[([^\]]*)\])?`},
		{"type: ignore", `^pyre-(?:ignore|fixme)\b(?:\[([^\]]*)\])?`},
		{"pylint", `(?:^|\s)pylint:\s*disable(?:-next)?\s*=\s*([\w, -]+)`},
		{"no cover", `(?i)^pragma[:\s]?\s*no\s?(?:cover|branch)`},
		{"noqa", `^ruff:\s*ignore\b(?:\s*\[([^\]]*)\])?`},
		// The options of mypy for a file that take something away, by how they are named.
		{"type: ignore", `^mypy:\s*(?:.*,\s*)?(?:(?:allow|ignore[-_]m|implicit|follow|always|no[-_](?:[^i]|i[^m]))[\w-]*\s*(?:[=,]|$)|[\w-]+\s*=\s*(?i:false|0|no|off)\b)`},
		{"nosec", `(?i)^(?:nosec|nosemgrep)\b[:\s]*((?:B[0-9]+[,\s]*)*)`},
	}),
	suppressing([]lang.Family{lang.Python}, true, [][2]string{
		{"noqa", `(?i)^(?:ruff|flake8)\s*:\s*noqa\b(?:\s*:\s*([A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?`},
		{"noqa", `^ruff:\s*(?:disable|file-ignore)\b(?:\s*\[([^\]]*)\])?`},
		{"type: ignore", `^mypy:\s*(?:.*,\s*)?ignore[-_]errors\b`},
		{"type: ignore", `^mypy:\s*(?:.*,\s*)?disable[-_]error[-_]code\s*=\s*(.*)`},
		{"type: ignore", `^pyright:\s*(?:.*,\s*)?(?:basic|standard)\b`},
		{"type: ignore", `^(?:pyre-ignore-all-errors|pyrefly:\s*ignore-errors)\b`},
		{"type: ignore", `^pyright:\s*(?:.*,\s*)?(\w+)\s*=\s*(?:false|none|warning|information)\b`},
		{"pylint", `(?:^|\s)pylint:\s*skip-file`},
	}),
	suppressing([]lang.Family{lang.Script, lang.Markup}, false, [][2]string{
		{"eslint", `^(?:eslint|oxlint)-disable-(?:next-)?line\b(.*)`},
		{"tslint", `^tslint:disable-(?:next-)?line\b(.*)`},
		{"deno-lint", `^deno-lint-ignore(?:\s(.*)|$)`},
		{"typescript", `^@ts-(?:ignore|expect-error)\b`},
		{"biome", `^biome-ignore\s+([^\s:]+)`},
		{"coverage", `^(?:istanbul|c8|v8)\s+ignore\s+(next|if|else)\b`},
	}),
	suppressing([]lang.Family{lang.Script, lang.Markup}, true, [][2]string{
		{"eslint", `^(?:eslint|oxlint)-disable(?:\s(.*)|$|\*/)`},
		{"eslint", `^eslint\s(?:.*[\s,])?["']?([\w@/-]+)["']?\s*:\s*\[?\s*["']?(?:0|off|1|warn)\b`},
		{"tslint", `^tslint:disable(?:\s|:|$|\*/)`},
		{"deno-lint", `^deno-lint-ignore-file(?:\s(.*)|$)`},
		{"typescript", `^@ts-nocheck\b`},
		{"biome", `^biome-ignore-(?:all|start)\s+([^\s:]+)`},
		{"coverage", `^(?:istanbul|c8|v8)\s+ignore\s+(?:file|start)\b`},
	}),
	suppressing([]lang.Family{lang.Go}, false, [][2]string{
		{"nolint", `^nolint\b(?:\s*:\s*([\w,-]+))?`},
		{"staticcheck", `^lint:ignore\s+(\S+)`},
		{"nosec", `^#?nosec\b[:\s]*((?:G[0-9]+[,\s]*)*)`},
		{"revive", `^revive:disable-(?:next-)?line\b(.*)`},
	}),
	suppressing([]lang.Family{lang.Go}, true, [][2]string{
		{"staticcheck", `^lint:file-ignore\s+(\S+)`},
		{"revive", `^revive:disable(?:\s|:|$)(.*)`},
		{Generated, `^Code generated .* DO NOT EDIT\.$`},
	}),
	// Scanners for vulnerabilities and for secrets, which have one comment for all languages.
	suppressing([]lang.Family{lang.Python, lang.Script, lang.Markup, lang.Go, lang.Shell, lang.CSS, lang.Rust, lang.JVM}, false, [][2]string{
		{"scanner", `(?i)^(?:(?:NOSONAR|gitleaks:allow|trufflehog:ignore|ggignore)\b|(?:checkov:skip|tfsec:ignore|trivy:ignore|kics-scan\s+ignore|snyk:ignore)\S*|(?:codeql|lgtm)\s*\[)`},
		{"scanner", `(?i)^pragma:\s*(?:allow|white)list\b`},
	}),
	suppressing([]lang.Family{lang.Script, lang.Markup, lang.Go, lang.Shell, lang.CSS, lang.Rust, lang.JVM}, false, [][2]string{{"scanner", `(?i)^nosemgrep\b(.*)`}}),
	suppressing([]lang.Family{lang.Shell}, false, [][2]string{{"shellcheck", `^shellcheck\s(?:.*\s)?disable=(\S+)`}}),
	suppressing([]lang.Family{lang.CSS, lang.Markup}, false, [][2]string{{"stylelint", `^stylelint-disable-(?:next-)?line\b(.*)`}}),
	suppressing([]lang.Family{lang.CSS, lang.Markup}, true, [][2]string{{"stylelint", `^stylelint-disable(?:\s(.*)|$|\*/)`}}),
	suppressing([]lang.Family{lang.Markup}, false, [][2]string{{"html-validate", `^\[?html-validate-disable-next\b(.*)`}}),
	suppressing([]lang.Family{lang.Markup}, true, [][2]string{{"html-validate", `^\[?html-validate-disable(?:-block)?(?:[\s\]](.*)|$)`}}),
	[]Row{
		{[]lang.Family{lang.Python}, "type: ignore", lazyregexp.New(`^\s*@(?:\w+\.)*no_type_check\b`), false, true},
		// Under another name, nobody would look for it.
		{[]lang.Family{lang.Python}, "type: ignore", lazyregexp.New(`\bno_type_check\s+as\s+(?:[^\sn]|n[^o]|no[^_]|no_[^t])\w*|^\s*\w+\s*(?::[^=]*)?=\s*(?:\w+\.)*no_type_check\s*$`), true, true},
		{[]lang.Family{lang.Rust}, "allow", lazyregexp.New(`#\[\s*(?:allow|expect)\s*\(([^\])]*)`), false, true},
		{[]lang.Family{lang.Rust}, "allow", lazyregexp.New(`#!\[\s*(?:allow|expect)\s*\(([^\])]*)`), true, true},
		{[]lang.Family{lang.JVM}, "SuppressWarnings", lazyregexp.New(`@(?:java\.lang\.)?Suppress(?:Warnings)?\b\s*\(([^)]*)`), false, true},
		{[]lang.Family{lang.JVM}, "SuppressWarnings", lazyregexp.New(`@file:\s*Suppress\b\s*\(([^)]*)`), true, true},
	},
)

// suppressing returns the rows for forms in comments. Each form is a pair of a family and an expression.
func suppressing(langs []lang.Family, wide bool, forms [][2]string) (list []Row) {
	for _, f := range forms {
		list = append(list, Row{langs, f[0], lazyregexp.New(f[1]), wide, false})
	}
	return list
}

// marks lists words of which every suppression contains one, in lower case. A search for them avoids matching the
// expressions against most lines.
var marks = []string{"noqa", "nosec", "nosemgrep", "ignore", "disable", "pyright", "pragma", "mypy", "pylint", "ts-", "nolint", "no_type_check", "allow", "expect", "suppress", "pyre", "eslint", "nosonar", "gitleaks", "checkov", "codeql", "lgtm", "whitelist", "generated"}

// In calls give for each suppression on a line of a language, with its codes.
func In(family lang.Family, line lang.Line, give func(r Row, codes string)) {
	// Most files have few comments, and most comments none of the words.
	if len(line.Notes) == 0 && !strings.ContainsAny(line.Code, "@#") && !strings.Contains(line.Code, "no_type_check") {
		return
	}
	lower := strings.ToLower(line.Raw)
	if !slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(lower, m) }) {
		return
	}
	for _, r := range suppressions {
		if slices.Contains(r.Langs, family) {
			for _, codes := range r.Find(family, line) {
				give(r, codes)
			}
		}
	}
}

// Commands lists what a line has `go generate` run, on the machine of the person who runs it.
func Commands(family lang.Family, line lang.Line) []string {
	if command, ok := strings.CutPrefix(line.Raw, "//go:generate"); ok && family == lang.Go {
		return []string{strings.TrimSpace(command)}
	}
	return nil
}

// Suppresses reports whether a comment by itself holds a suppression.
func Suppresses(family lang.Family, note string) bool {
	return slices.ContainsFunc(suppressions, func(r Row) bool {
		return !r.Code && slices.Contains(r.Langs, family) && len(r.Find(family, lang.Line{Notes: []string{note}})) > 0
	})
}

// demands lists the forms by which a file has a tool look closer than its configuration says.
var demands = slices.Concat(
	suppressing([]lang.Family{lang.Python}, true, [][2]string{
		{"mypy", `^mypy:\s*((?:.*,\s*)?(?:strict|disallow|check|warn|no[-_]im|enable|extra|local)[\w-]*)`},
		{"pyright", `^pyright:\s*(?:.*,\s*)?(strict)\b`},
		{"pyright", `^pyright:\s*(?:.*,\s*)?(\w+)\s*=\s*(?:true|error)\b`},
	}),
	suppressing([]lang.Family{lang.Script}, true, [][2]string{
		{"typescript", `^@ts-check\b`},
		{"flow", `^@flow\b(\s+strict\b)?`},
		{"eslint", `^eslint\s["']?([\w@/-]+)["']?\s*:\s*\[?\s*["']?(?:2|error)\b`},
	}),
)

// Demands lists what a line has tools report beyond their configuration, as the family and the codes. A comment that
// also has them report less counts only as a suppression.
func Demands(family lang.Family, line lang.Line) (found []string) {
	notes := slices.DeleteFunc(slices.Clone(line.Notes), func(note string) bool { return Suppresses(family, note) })
	for _, r := range demands {
		if len(notes) > 0 && slices.Contains(r.Langs, family) {
			for _, codes := range r.Find(family, lang.Line{Notes: notes}) {
				found = append(found, strings.TrimSpace(r.Family+" "+codes))
			}
		}
	}
	return found
}

// Find returns the codes of each occurrence of the form on a line.
//
// A line may have several occurrences: for several tools, or the same one in several comments.
func (r Row) Find(family lang.Family, line lang.Line) (found []string) {
	if r.Code {
		// Codes may be strings, which the code of a line no longer has.
		if r.form.MatchString(line.Code) {
			if m := r.form.FindStringSubmatch(line.Raw); m != nil {
				found = append(found, codesOf(m[1:]))
			}
		}
		return found
	}
	for _, note := range line.Notes {
		for _, body := range bodies(family, note) {
			if m := r.form.FindStringSubmatch(body); m != nil {
				found = append(found, codesOf(m[1:]))
			}
			// To a person who looks, this many on one line are one.
			if len(found) == mostCodes {
				return found
			}
		}
	}
	return found
}

// bodies returns the parts of a comment that may be a directive, without the comment marks.
//
// In Python, each part after a "#" may be one. In other languages, a comment is one directive or none.
func bodies(family lang.Family, note string) []string {
	switch {
	case family == lang.Python:
		// One comment often serves several tools: # type: ignore # noqa
		parts := strings.Split(note, "#")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return parts
	case strings.HasPrefix(note, "<!--"):
		return []string{strings.TrimSpace(note[4:])}
	case strings.HasPrefix(note, "/"), strings.HasPrefix(note, "#"):
		return []string{strings.Trim(note, "/*!# \t")}
	}
	// Further inside a comment, only directives of TypeScript have an effect.
	if body := strings.TrimLeft(note, "* \t"); strings.HasPrefix(body, "@ts-") {
		return []string{body}
	}
	return nil
}

// mostCodes bounds the codes of one suppression: one with more counts as one of everything.
const mostCodes = 64

// codesOf normalizes the codes of a suppression: sorted and joined by spaces, or "" for all.
func codesOf(groups []string) string {
	text := strings.Join(groups, "")
	// What follows is a reason or the end of the comment.
	for _, end := range []string{"--", "*/", "]", "//"} {
		text, _, _ = strings.Cut(text, end)
	}
	codes := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\"'{}()=", r) })
	for i, c := range codes {
		codes[i] = strings.ToLower(c)
	}
	slices.Sort(codes)
	codes = slices.Compact(codes)
	if len(codes) > mostCodes || slices.ContainsFunc(codes, func(c string) bool { return c == "all" || c == "*" }) {
		return ""
	}
	return strings.Join(codes, " ")
}
