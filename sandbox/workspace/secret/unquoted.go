package secret

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// textKindOf returns how to read an unquoted value in a file, by the file's name. In unknown text a value counts only
// if it can be nothing else. Shell scripts are data here, because assignments in them need no quotes.
func textKindOf(name string) lang.Values {
	base := strings.ToLower(path.Base(name))
	if l := lang.Of(base); l != nil && l.Values != lang.Unknown {
		return l.Values
	}
	is := func(end string) bool { return strings.HasSuffix(base, end) }
	if slices.ContainsFunc([]string{"dockerfile", "containerfile", "makefile"}, is) || strings.HasPrefix(base, ".env") || strings.HasPrefix(base, "dockerfile") {
		return lang.Data
	}
	return lang.Unknown
}

// An assignment is a form in which a secret is assigned to a name. Group 1 is the name, if there is one, and group 2
// the value.
type assignment struct {
	// Every line that the expression matches contains one of these, in lower case; nil means nameWords. The expression
	// is tried on no other line.
	marks []string
	form  *lazyregexp.Regexp
	// The form occurs in programs too, not only in data: "NAME=value" of a command, a tag, a header.
	anywhere bool
	quoted   bool
	// The value is a password whatever the name is.
	password bool
}

// secretWord matches the ends of names of secrets: "password_file" and "token_url" name something else.
const secretWord = `((?i:[\w.-]*(?:password|passwd|passwort|passphrase|kennwort|pwd|pass|secret|token|credentials?|api[_-]?key|access[_-]?key|` +
	`private[_-]?key|auth[_-]?key|secret[_-]?key|account[_-]?key|shared[_-]?key|encryption[_-]?key|signing[_-]?key|master[_-]?key|_auth)))`

// assignments are tried on every line that has one of their marks. No value is longer than a handwritten line.
var assignments = []assignment{
	// password: str = "x", password := 'x', "password": "x", Password => `x`.
	{form: lazyregexp.New(secretWord + "[\"'`]?\\]?(?:\\s*\\??:\\s*[A-Za-z][\\w.\\[\\]| ]{0,40}|\\s+string)?\\s*(?::=|=>|\\?=|=|:)\\s*[brfuBRFU]{0,2}(?:\"([^\"\\s]{4,})\"|'([^'\\s]{4,})'|`([^`\\s]{4,})`)"), anywhere: true, quoted: true},
	// password: x, db.password = x, TOKEN=x, ENV TOKEN x, "- PASSWORD=x".
	{form: lazyregexp.New(`(?:^|[\s;,&?/:+{(\]"'-])["']?` + secretWord + "[\"']?(?:\\s*[:=]\\s*|\\s*\\?=\\s*)([^\\s\"'`#][^\\s\"'`]*)")},
	// A passphrase may have spaces.
	{form: lazyregexp.New(`(?i)(?:^|[\s_.-])(passphrase)["']?\s*[:=]\s*["']?([^\s"'][^"'#]*[^\s"'#])["']?\s*$`)},
	{form: lazyregexp.New(`^\s*(?:ENV|ARG)\s+` + secretWord + `\s+["']?([^\s"'=]+)`)},
	// A variable before a command, also within a string of a program.
	{form: lazyregexp.New("(?:^|[\\s;&|\"'`(])([A-Z][A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|PWD|PASS|SECRET|TOKEN|KEY))=([^\\s\"'`;&|,)]+)"), anywhere: true},
	{form: lazyregexp.New("[\"'`]" + secretWord + "\\s*:\\s*([^\\s\"'`;,]{8,})[\"'`]"), anywhere: true}, // a header in a string
	{form: lazyregexp.New(`(?i)<((?:[\w.-]+:)?[\w.-]*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key))(?:\s[^<>]{0,200})?>\s*([^<>\s]+)\s*</`), anywhere: true},
	{form: lazyregexp.New(`(?i)\b(?:name|key|id)["']?\s*[:=]\s*["']?` + secretWord + `["']?[\s,;]+["']?value["']?\s*[:=]\s*["']?([^\s"'<>,]+)`), anywhere: true},
	// What programs accept on their command line.
	{form: lazyregexp.New("(?i)(?:^|[\\s\"'`\\[,])--?(password|passwd|pass|passphrase|storepass|keypass|token|secret|api-?key|auth-?token|access-?token|client-?secret|secret-?key|pw)(?:[ =]|[\"'],\\s*[\"'])\\s*[\"']?([^\\s\"'`\\],]+)"), anywhere: true},
	{marks: []string{"curl", "wget", "http", "xh"}, form: lazyregexp.New("\\b(?:curl|wget|http|https|xh)\\b.*?\\s(-u|--user|--proxy-user|-U|-a|--auth)(?:[ =]|[\"'],)\\s*[\"']?[^\\s:\"'`$<{]+:([^\\s\"'`\\],]+)"), anywhere: true, password: true},
	{marks: []string{"-u", "--user"}, form: lazyregexp.New("(?:^|[\\s\"'`])(-u|--user)(?:[ =]|[\"'],)\\s*[\"']?[A-Za-z][\\w.@+-]*:([^\\s\"'`\\],]{6,})"), anywhere: true},
	{marks: []string{"ssh-keygen"}, form: lazyregexp.New("\\b(ssh-keygen)\\s(?:.*?\\s)?-[NP]\\s*[\"']?([^\\s\"'`-][^\\s\"'`]{3,})"), anywhere: true, password: true},
	{marks: []string{"password-stdin"}, form: lazyregexp.New("\\b(echo|printf)\\s+(?:-n\\s+)?[\"']?([^\\s\"'`|]{6,})[\"']?\\s*\\|.*--password-stdin\\b"), anywhere: true, password: true},
	{marks: []string{"key-"}, form: lazyregexp.New(`(?:^|[^\w-])(key)-([0-9a-f]{32})\b`), anywhere: true, password: true}, // of Mailgun
	// What a program passes to a database.
	{form: lazyregexp.New("(?i)\\b(?:server|data source|host|user id|uid|username|user|database|initial catalog)\\s*=[^;\"'`]*;(?:[^\"'`]*;)?\\s*(password|pwd)\\s*=\\s*([^;\\s\"'`]{6,})"), anywhere: true},
	{marks: []string{"sshpass"}, form: lazyregexp.New("\\b(sshpass)\\s+-p\\s*[\"']?([^\\s\"'`]+)"), anywhere: true, password: true},
	{marks: []string{"mysql", "mariadb"}, form: lazyregexp.New("\\b(mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\\b.*?\\s-p[\"']?([^\\s\"'`-][^\\s\"'`]*)"), anywhere: true, password: true},
	{marks: []string{"docker", "podman", "helm", "az", "oc"}, form: lazyregexp.New("\\b(docker|podman|helm|az|oc)\\s.*?\\s-p[ =][\"']?([^\\s\"'`:/]{6,})"), anywhere: true},
	{marks: []string{"redis-cli"}, form: lazyregexp.New("\\b(redis-cli)\\s(?:.*?\\s)?-a[ =]?[\"']?([^\\s\"'`]{6,})"), anywhere: true, password: true},
	{marks: []string{"openssl"}, form: lazyregexp.New("\\b(openssl)\\s.*?\\s-[kK]\\s+[\"']?([^\\s\"'`-][^\\s\"'`]{5,})"), anywhere: true, password: true},
	{marks: []string{"7z", "zip", "rar"}, form: lazyregexp.New("\\b(7z[ar]?|unzip|zip|rar|unrar)\\s(?:.*?\\s)?-(?:p|hp|P\\s*)[\"']?([^\\s\"'`]{6,})"), anywhere: true, password: true},
	{marks: []string{"sqlcmd", "osql", "bcp"}, form: lazyregexp.New("\\b(sqlcmd|osql|bcp)\\s.*?\\s-P\\s*[\"']?([^\\s\"'`]{6,})"), anywhere: true, password: true},
	{marks: []string{"ldap"}, form: lazyregexp.New("\\b(ldap(?:search|add|modify|modrdn|delete|passwd|whoami|compare))\\s(?:.*?\\s)?-w\\s*[\"']?([^\\s\"'`]{6,})"), anywhere: true, password: true},
	{marks: []string{"net use"}, form: lazyregexp.New("(?i)\\b(net\\s+use)\\s+(?:\\S+\\s+)?\\\\\\\\\\S+\\s+([^\\s/*\"'`][^\\s\"'`]{5,})"), anywhere: true, password: true},
	{marks: []string{"setx"}, form: lazyregexp.New(`(?i)\bsetx\s+` + secretWord + `\s+["']?([^\s"']+)`), anywhere: true},
	{marks: []string{"from-literal"}, form: lazyregexp.New("--from-literal[ =][\"']?" + secretWord + "=([^\\s\"'`]+)"), anywhere: true},
	{marks: []string{"from-literal"}, form: lazyregexp.New("(?i)--from-literal[ =][\"']?([\\w.-]*(?:pw|psk))=([^\\s\"'`]+)"), anywhere: true, password: true},
	// What a program sends in a request, or keeps of one.
	{marks: []string{"cookie"}, form: lazyregexp.New("(?i)\\b(cookie)[\"']?\\s*[:=]\\s*[\"'`]?(?:[^\"'`]*;)?\\s*[\\w.-]*(?:sess|sid|auth|token|jwt)[\\w.-]*=([^\\s;\"'`]{8,})"), anywhere: true},
	{marks: []string{"auth"}, form: lazyregexp.New(`\b(auth)\s*=\s*\(\s*(?:"[^"\s]*"|'[^'\s]*')\s*,\s*(?:"([^"\s]{4,})"|'([^'\s]{4,})')`), anywhere: true, quoted: true, password: true},
	{marks: []string{`"auth"`}, form: lazyregexp.New(`"(auth)"\s*:\s*"([A-Za-z0-9+/]{12,}={0,2})"`), anywhere: true, quoted: true},
	{marks: []string{"mnemonic", "phrase", "recovery"}, form: lazyregexp.New(`(?i)\b(mnemonic|seed[ _-]?phrase|recovery[ _-]?(?:phrase|words))["']?\s*[:=]\s*["']?((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b`), anywhere: true, quoted: true, password: true},
	{marks: []string{"pass:"}, form: lazyregexp.New("(?i)-(pass(?:in|out)?)\\s+pass:([^\\s\"'`]+)"), anywhere: true, password: true},
	{marks: []string{"login", "machine"}, form: lazyregexp.New(`(?i)\b(login|machine)\s+\S+\s+password\s+(\S+)`), anywhere: true, password: true},
	{marks: []string{"identified", "password"}, form: lazyregexp.New(`(?i)\b(identified\s+by|password)\s+'([^'\s]{6,})'`), anywhere: true, password: true},
	{marks: []string{"authorization"}, form: lazyregexp.New("(?i)\\b(authorization)[\"']?\\s*[:=,]\\s*[\"'`]?\\s*(?:bearer|basic|token|apikey)\\s+([A-Za-z0-9._~+/=-]{6,})"), anywhere: true},
	{marks: []string{"bearer"}, form: lazyregexp.New(`(?i)\b(bearer)\s+([A-Za-z0-9._~+/=-]{20,})`), anywhere: true},
	{marks: []string{"://"}, form: lazyregexp.New(`\b([a-z][a-z0-9+.-]*)://[^\s/:@'"<>{}$]*:([^\s/:@'"<>{}$][^\s/:@'"<>{}]*)@[^\s/'"]`), anywhere: true, password: true},
}

// nameWords are what the names of secrets contain, in lower case.
var nameWords = []string{"pass", "pwd", "kennwort", "secret", "token", "key", "credential", "_auth", "pw"}

// assignedSpans returns the secret values that a line of this kind assigns to a name, by their offsets in the line.
func assignedSpans(line string, kind lang.Values) (found []Span) {
	lower := strings.ToLower(line)
	has := func(w string) bool { return strings.Contains(lower, w) }
	names := slices.ContainsFunc(nameWords, has) // checked once: most forms have these marks
	for _, a := range assignments {
		if kind == lang.Code && !a.anywhere || a.marks == nil && !names || a.marks != nil && !slices.ContainsFunc(a.marks, has) {
			continue
		}
		for _, m := range a.form.FindAllStringSubmatchIndex(line, -1) {
			name, at := line[m[2]:m[3]], m[4:]
			for len(at) > 2 && at[0] < 0 { // skips the unmatched groups of other quotation marks
				at = at[2:]
			}
			value := line[at[0]:at[1]]
			if !a.quoted {
				value = strings.TrimRight(value, `,;\)}]>|`)
			}
			if a.password {
				name = "password"
			}
			if given(name, value, kind, a) {
				found = append(found, Span{at[0], at[0] + len(value)})
			}
		}
	}
	return found
}

// leastAssigned is the length, in bytes, from which an unquoted value may hold a change.
const leastAssigned = 16

// Assigned returns the credentials that a text assigns to names as Hide recognises them, quoted or not, at most one per
// line. The value must be as random as Find requires, since a person is asked about each. name is the file's, which
// says how values are written there. Assigned ignores lines in known, without the space around them. In a program only
// what InLine finds counts, since all else there is quoted.
func Assigned(name string, text []byte, known map[string]bool) (list []Finding) {
	kind, n := textKindOf(name), 0
	if kind == lang.Code {
		return nil
	}
	for raw := range bytes.Lines(text) {
		n++
		line := string(raw)
		// A recorded answer is full of cookies, which are worthless later.
		if len(line) > MaxLine || known[strings.TrimSpace(line)] || strings.Contains(strings.ToLower(line), "cookie") {
			continue
		}
		strong := func(s Span) bool {
			value := line[s.From:s.To]
			if i := strings.IndexAny(value, "&)] "); i >= 0 { // as in a badge of a readme, or in a sentence
				value = value[:i]
			}
			return len(value) >= leastAssigned && random(value, 3.5) && strings.ContainsAny(value, "0123456789") && !words(value)
		}
		if slices.ContainsFunc(assignedSpans(line, kind), strong) {
			list = append(list, Finding{"a secret given to a name", n})
		}
	}
	return list
}

// given reports whether a value is itself a secret, and not an expression that yields one, a reference to where it is
// kept, a type, or an example.
func given(name, value string, kind lang.Values, a assignment) bool {
	if !a.password && otherName(name) || reference(value) || example(value) {
		return false
	}
	if a.password {
		return true
	}
	lower := strings.ToLower(name)
	password := strings.Contains(lower, "passw") || strings.HasSuffix(lower, "pwd") || strings.HasSuffix(lower, "pass") || strings.HasSuffix(lower, "passphrase") || strings.HasSuffix(lower, "kennwort")
	digits, letters := strings.ContainsAny(value, "0123456789"), strings.ContainsFunc(value, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
	signs := strings.ContainsAny(value, "!@#%^&*+=~?")
	switch {
	case password && digits && !letters:
		return len(value) >= 6 // a PIN; under other names a number is just a number
	case password && kind == lang.Data && !a.quoted && !digits && !signs:
		// A word in lower case may be a password here; "Passwort" is a translation.
		return len(value) >= 8 && value == strings.ToLower(value) || drawnLetters(value)
	case password:
		return len(value) >= 6 && (digits || signs) || drawnLetters(value)
	}
	return len(value) >= 8 && letters && digits && !words(value) && random(value, 2.5)
}

// otherPass are ends of names that only look like those of passwords.
var otherPass = []string{"bypass", "compass", "surpass", "trespass", "overpass", "underpass", "multipass", "oldpwd"}

// otherName reports whether a name only ends like that of a secret.
func otherName(name string) bool {
	return slices.ContainsFunc(otherPass, func(end string) bool { return strings.HasSuffix(strings.ToLower(name), end) })
}

// Expressions and references, by their beginning or as a whole.
var (
	referenceForm = lazyregexp.New(`^(?:[$%{<\[!@*&|>(\\]|\.{1,2}/|~/|(?i:https?|file|vault|ssm|op|env|arn|secret|aws|gcp|sops|keyring)[:]|ENC[\[(]|(?i:sha\d+|md5|bcrypt|argon2\w*)[:$-])`)
	expression    = lazyregexp.New(`^(?:[A-Za-z_]\w*[\[(]|(?:[A-Za-z_]\w*\??(?:\.|::|->))+[A-Za-z_]\w*(?:[\[(].*)?$)`)
	unixPath      = lazyregexp.New(`^/[\w./-]*$`)
	interpolated  = lazyregexp.New(`\$\{|\$\(|\{\{|%\(|#\{|<[A-Za-z_ -]+>|\{\w*\}`)
)

// reference reports whether a value says where a secret comes from.
func reference(value string) bool {
	if referenceForm.MatchString(value) {
		// A password may begin with a sign; then what follows is not the syntax of any language.
		return !regexpSigns.MatchString(value) || windowsVariable.MatchString(value)
	}
	return expression.MatchString(value) || unixPath.MatchString(value) || interpolated.MatchString(value)
}

// windowsVariable matches what a Windows shell expands.
var windowsVariable = lazyregexp.New(`^%[A-Za-z_]\w*%$`)

// regexpSigns matches values that begin with a sign but are not references.
var regexpSigns = lazyregexp.New(`^(?:[@!*&%][A-Za-z0-9]+[!@#%^&*+=~?0-9-][^\s{}()]*|\$[A-Za-z]*[0-9][A-Za-z0-9]*[!@#%^&*+?~][^\s{}()$/]*)$`)

// plainWords are words that stand in place of a value, and the words that example values consist of.
var plainWords = []string{
	"undefined", "required", "please", "optional", "placeholder", "password", "passwort", "passphrase", "passwd", "changeme", "change", "example", "sample", "redacted",
	"replace", "insert", "dummy", "string", "number", "boolean", "integer", "object", "unknown", "default", "postgres", "secret", "token", "hidden", "public",
	"private", "enter", "false", "value", "local", "admin", "guest", "mysql", "redis", "empty", "never", "bytes", "your", "true", "null", "none", "test", "fake",
	"mock", "user", "root", "here", "goes", "this", "todo", "pass", "auth", "name", "word", "text", "main", "demo", "with", "from", "none", "nil", "yes", "key",
	"api", "app", "str", "int", "any", "foo", "bar", "baz", "dev", "the", "not", "set", "and", "off", "my", "me", "db", "on", "no", "is", "to", "a",
}

// example reports whether a value consists of words that stand for another value, and of what separates them. Hiding
// one would take more from the model than it protects.
func example(value string) bool {
	rest := strings.ToLower(value)
	seen := map[rune]bool{}
	for _, r := range rest {
		seen[r] = true
	}
	if len(value) > 3 && len(seen) <= 2 { // "********", "xxxx"
		return true
	}
	for _, w := range plainWords {
		rest = strings.ReplaceAll(rest, w, " ")
	}
	return strings.Contains(rest, " ") && strings.Trim(rest, " 0123456789_-./!:xX") == "" || strings.TrimFunc(value, func(r rune) bool { return strings.ContainsRune("0123456789.,;-_*", r) }) == "" && strings.Contains("12345678901234567890", strings.Trim(value, ".,;-_*"))
}

// words reports whether a value consists of words with a number here and there, as a name does: "tls-cert-v2",
// "projects/app/versions/3".
func words(value string) bool {
	parts := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("-_./:@", r) })
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool {
		word := strings.TrimFunc(p, func(r rune) bool { return r >= '0' && r <= '9' })
		return len(p)-len(word) > 4 || strings.ContainsAny(word, "0123456789+=!#%^&*~?") || mixed(word)
	})
}

// humps matches the parts of a name: a word with its capital, and each letter of an abbreviation.
var humps = lazyregexp.New(`[A-Z]?[a-z]+|[A-Z]`)

// drawnLetters reports whether a value of letters alone is random and not a name: the parts of names are longer, and
// some are words.
func drawnLetters(value string) bool {
	lower, upper := 0, 0
	for _, r := range value {
		switch {
		case r >= 'a' && r <= 'z':
			lower++
		case r >= 'A' && r <= 'Z':
			upper++
		default:
			return false
		}
	}
	known := func(w string) bool { return len(w) > 2 && strings.Contains(strings.ToLower(value), w) }
	parts := len(humps.FindAllString(value, -1))
	return len(value) >= 8 && lower > 1 && upper > 1 && 5*parts >= 2*len(value) && random(value, 2.5) && !slices.ContainsFunc(nameWords, known)
}

// mixed reports whether lowercase and uppercase letters of a word alternate more than in any name.
func mixed(word string) bool {
	turns := 0
	for i := 1; i < len(word); i++ {
		if (word[i] >= 'a') != (word[i-1] >= 'a') {
			turns++
		}
	}
	return turns > 4
}
