// Package secret recognises what looks like a credential in a text, and hides it. It also masks secrets that are known,
// in every form in which they may occur.
//
// It owns the rules: keys and tokens by the forms that their issuers document, literals of high entropy by the names
// that they are assigned to, passwords where programs, files and addresses take them. Find and InLine serve a
// judgement, where one too many costs an approval. Hide serves a question to a model or a log, where one too many costs
// little, so it also reads unquoted values.
//
// A function that finds a value never returns, records or shows it, except for the function from Hide that puts values
// back. The scan decides which files of a workspace are secret by their names. The package executes nothing in a text,
// and searches a line over MaxLine only for forms that are certain by themselves.
package secret

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A Finding is a credential in a text. It never holds the credential itself, so that it may be shown and recorded.
type Finding struct {
	Rule string // what it is, for a person: "an AWS access key"
	Line int    // from 1
}

// A rule is one form of credential that can be recognised by its look.
type rule struct {
	name string
	// Every text that the expression matches contains one of these: searching for a fixed string spares most lines the
	// expression.
	marks []string
	form  *lazyregexp.Regexp
	// The least entropy of group 1, in bits per character; 0 for a form that is certain by itself. A key of random
	// letters and digits has above 4, a word about 3.
	entropy float64
}

// rules are tried in order; the first that matches a line counts. The prefixes are those that the issuers document for
// scanners.
var rules = []rule{
	{"a private key", []string{"PRIVATE KEY"}, lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----`), 0},
	{"an AWS access key", []string{"AKIA", "ASIA"}, lazyregexp.New(`\b((?:AKIA|ASIA)[A-Z2-7]{16})\b`), 3},
	{"a GitHub token", []string{"gh", "github_pat_"}, lazyregexp.New(`\b(gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{50,})\b`), 3},
	{"a GitLab token", []string{"glpat-"}, lazyregexp.New(`\b(glpat-[0-9A-Za-z_-]{20,})`), 3},
	{"a Slack token", []string{"xox"}, lazyregexp.New(`\b(xox[abeoprs]-[0-9A-Za-z-]{20,})`), 3},
	{"a Google API key", []string{"AIza"}, lazyregexp.New(`\b(AIza[0-9A-Za-z_-]{35})`), 3},
	{"an API key", []string{"sk-", "sk_live_", "rk_live_"}, lazyregexp.New(`(?:^|[^0-9A-Za-z_-])(sk-[0-9A-Za-z_-]{32,}|[sr]k_live_[0-9A-Za-z]{20,})`), 3.5},
	{"an npm token", []string{"npm_"}, lazyregexp.New(`\b(npm_[0-9A-Za-z]{36})\b`), 3},
	{"a PyPI token", []string{"pypi-"}, lazyregexp.New(`\b(pypi-[0-9A-Za-z_-]{60,})`), 3},
	{"a signed token (JWT)", []string{"eyJ"}, lazyregexp.New(`\b(eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{20,})`), 3},
	{"a Slack webhook", []string{"hooks.slack.com"}, lazyregexp.New(`hooks\.slack\.com/(?:services|workflows|triggers)/([A-Z0-9]{8,}/[A-Z0-9]{8,}/[0-9A-Za-z]{16,})`), 3},
	{"a Discord webhook", []string{"/api/webhooks/"}, lazyregexp.New(`discord(?:app)?\.com/api/webhooks/[0-9]{15,}/([0-9A-Za-z_-]{50,})`), 3},
	{"a key of an Azure account", []string{"AccountKey=", "SharedAccessKey="}, lazyregexp.New(`(?:AccountKey|SharedAccessKey)=([0-9A-Za-z+/]{42,86}={1,2})`), 3.5},
	{"a Telegram bot token", []string{":AA"}, lazyregexp.New(`(?:^|[^0-9A-Za-z]|\bbot)([0-9]{8,10}:AA[0-9A-Za-z_-]{33})(?:[^0-9A-Za-z_-]|$)`), 3},
	{"a signature of an Azure address", []string{"sig="}, lazyregexp.New(`\bsig=([0-9A-Za-z+/%]{42,80}(?:%3[dD]|=))(?:[^0-9A-Za-z+/%=]|$)`), 3.5},
	{"an access token", accessMarks, lazyregexp.New(`(?:^|[^0-9A-Za-z_-])(` + accessForms + `)`), 3},
	{"an access token of Airtable", []string{"pat"}, lazyregexp.New(`\b(pat[0-9A-Za-z]{14}\.[0-9a-f]{64})\b`), 3},
	{"a password in an address", []string{"://"}, lazyregexp.New(`\b[a-z][a-z0-9+.-]*://[^\s/:@'"<>{}$%]+:([^\s/:@'"<>{}$]{6,})@[^\s/'"]`), 2.5},
	{"a secret given as a literal", []string{"=", ":"}, lazyregexp.New(
		`(?i)(?:password|passwd|secret|token|api_?key|apikey|access_?key|private_?key|auth_?key)["']?\s*(?::=|=>|=|:)\s*["']([^\s"'<>{}$]{12,})["']`), 3.5},
}

// accessForms are the forms of issuers whose tokens begin with a prefix of their own, and accessMarks the prefixes.
const accessForms = `gl(?:dt|rt|ptt|cbt|soat|ft|imt|agent|ffct)-[0-9A-Za-z_-]{20,}|xapp-[0-9]-[0-9A-Za-z-]{20,}|GOCSPX-[0-9A-Za-z_-]{28}|ya29\.[0-9A-Za-z_-]{20,}|whsec_[0-9A-Za-z+/]{24,}|` +
	`SG\.[0-9A-Za-z_-]{20,24}\.[0-9A-Za-z_-]{39,50}|SK[0-9a-f]{32}\b|hf_[0-9A-Za-z]{34,}|do[opr]_v1_[0-9a-f]{64}|dckr_(?:pat|oat)_[0-9A-Za-z_-]{24,}|hv[bsr]\.[0-9A-Za-z_-]{24,}|` +
	`AGE-SECRET-KEY-1[0-9A-Z]{58}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|gsk_[0-9A-Za-z]{40,}|xai-[0-9A-Za-z]{60,}|pplx-[0-9A-Za-z]{40,}|r8_[0-9A-Za-z]{37,}|sbp_[0-9a-f]{40}|glsa_[0-9A-Za-z_]{40,}|` +
	`lin_api_[0-9A-Za-z]{32,}|NRAK-[0-9A-Z]{27}|dp\.(?:pt|st|ct)\.[0-9A-Za-z.]{40,}|pul-[0-9a-f]{40}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|dapi[0-9a-f]{32}\b|ATATT3[0-9A-Za-z_=-]{60,}|ntn_[0-9A-Za-z]{40,}|` +
	`tvly-[0-9A-Za-z-]{30,}|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|figd_[0-9A-Za-z_-]{38,}|fo1_[0-9A-Za-z_-]{40,}|sntrys_[0-9A-Za-z_+/=-]{40,}|sntryu_[0-9a-f]{64}|` +
	`tskey-(?:auth|api|client)-[0-9A-Za-z]{8,}-[0-9A-Za-z]{20,}|ops_eyJ[0-9A-Za-z_-]{60,}|sq0csp-[0-9A-Za-z_-]{43}|sq0atp-[0-9A-Za-z_-]{22}`

var accessMarks = []string{
	"gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-", "glffct-", "xapp-", "GOCSPX-", "ya29.", "whsec_", "SG.", "SK", "hf_", "doo_v1_", "dop_v1_", "dor_v1_",
	"dckr_pat_", "dckr_oat_", "hvb.", "hvs.", "hvr.", "AGE-SECRET-KEY-1", "shpat_", "shpca_", "shppa_", "shpss_", "gsk_", "xai-", "pplx-", "r8_", "sbp_", "glsa_", "lin_api_", "NRAK-",
	"dp.pt.", "dp.st.", "dp.ct.", "pul-", "PMAK-", "dapi", "ATATT3", "ntn_",
	"tvly-", "lsv2_", "figd_", "fo1_", "sntrys_", "sntryu_", "tskey-", "ops_eyJ", "sq0csp-", "sq0atp-",
}

// secretWords are the words, in lower case, of a line that gives a secret as a literal: the expression above is too
// slow to try on every line.
var secretWords = []string{"passw", "secret", "token", "key"}

// examples are parts of values that stand for a secret but are not one.
var examples = []string{"example", "sample", "dummy", "changeme", "placeholder", "your", "xxxx", "test", "fake", "redacted", "****", "secret", "password", "1234567890"}

// MaxLine bounds how much of one line is searched, in bytes: longer lines are data or generated, and look random all
// over.
const MaxLine = 4 << 10

// Find returns the credentials in a text, at most one per line: keys and tokens of well-known form, and literals of
// high entropy that are assigned to a name such as password. It ignores lines in known, without the space around them,
// and values that are plainly examples.
func Find(text []byte, known map[string]bool) (list []Finding) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if len(line) > MaxLine || known[string(bytes.TrimSpace(line))] {
			continue
		}
		if rule, ok := InLine(string(line)); ok {
			list = append(list, Finding{rule, n})
		}
	}
	return list
}

// InLine returns the rule that a line matches, in the words of Finding.Rule. ok is false if the line contains no
// credential. The caller bounds the line by MaxLine.
func InLine(line string) (rule string, ok bool) { return inLine(line, rules) }

// OfForm is InLine for the forms of issuers alone, which do not depend on a name. It is for text with digests in it, or
// text that the caller has put together.
func OfForm(line string) (rule string, ok bool) { return inLine(line, rules[:len(rules)-1]) }

// inLine tries the rules in among.
func inLine(line string, among []rule) (rule string, ok bool) {
	for i, r := range among {
		if !slices.ContainsFunc(r.marks, func(m string) bool { return strings.Contains(line, m) }) {
			continue
		}
		literal := i == len(rules)-1
		if literal && !mayAssign(line) {
			continue
		}
		for _, m := range r.form.FindAllStringSubmatch(line, -1) {
			if r.entropy == 0 || random(m[1], r.entropy) && !(literal && isName(m[1])) {
				return r.name, true
			}
		}
	}
	return "", false
}

// mayAssign reports whether a line may give a secret as a literal.
func mayAssign(line string) bool {
	if !strings.ContainsAny(line, "\"'") {
		return false
	}
	lower := strings.ToLower(line)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(lower, w) })
}

// random reports whether a value looks random rather than chosen as an example: by the entropy of its characters, in
// bits, and its words.
func random(value string, least float64) bool {
	lower := strings.TrimPrefix(strings.ToLower(value), "age-secret-key-") // an issuer's prefix, which contains one of the words
	if slices.ContainsFunc(examples, func(e string) bool { return strings.Contains(lower, e) }) {
		return false
	}
	count := map[rune]float64{}
	for _, r := range value {
		count[r]++
	}
	bits, n := 0.0, float64(len([]rune(value)))
	for _, c := range count {
		bits -= c / n * math.Log2(c/n)
	}
	return bits >= least
}

// isName reports whether a value looks like a name: it has no digits, like an identifier or the key of a translation,
// or it has the signs of a path or an expression.
func isName(value string) bool {
	return !strings.ContainsAny(value, "0123456789") || strings.ContainsAny(value, "/()[]") && !strings.ContainsAny(value, "+=")
}
