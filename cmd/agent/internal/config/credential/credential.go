// Package credential knows what of settings and of an environment is secret, and how it is shown.
package credential

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"agent/orchestrator/llm"
)

// Variables are the variables of an environment that hold secrets and
// are no settings of the agent.
// None is given to a box. But what a registry, a vendor or a database answers may quote
// one, and the answer is kept.
const Variables = "PGPASSWORD GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN GOOGLE_API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY " +
	"AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN NPM_TOKEN PYPI_TOKEN HF_TOKEN"

// URLVariables are those whose URLs may hold a password, or a token in place of a name.
// Some are lists. Each is looked for in small letters too, as the proxies and npm are.
const URLVariables = "HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NPM_CONFIG_REGISTRY NPM_CONFIG_PROXY NPM_CONFIG_HTTPS_PROXY " +
	"PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_PROXY UV_INDEX_URL UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL GOPROXY"

// PasswordOf returns what of a URL is secret, "" for nothing.
// A name alone is a token; a proxy may be written without a scheme.
func PasswordOf(text string) string {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		// Programs take a password with signs in it that should be escaped.
		_, rest, _ := strings.Cut(text, "://")
		user := rest[:max(0, strings.LastIndexByte(rest, '@'))]
		if _, password, ok := strings.Cut(user, ":"); ok {
			return password
		}
		return user
	}
	if u.User == nil {
		return ""
	}
	if password, ok := u.User.Password(); ok {
		return password
	}
	return u.User.Username()
}

// Ordinary reports whether a secret is a short word of one case with at most three digits
// behind it, as documentation gives for local services.
func Ordinary(secret string) bool {
	const wordLength = 12 // a random secret of letters alone has more
	letters := func(r rune) bool { return r >= 'a' && r <= 'z' }
	word := strings.TrimRight(strings.ToLower(secret), "0123456789!")
	rest := len(secret) - len(word)
	return len(secret) <= wordLength && rest <= 3 && strings.TrimFunc(word, letters) == "" && (word == secret[:len(word)] || strings.ToUpper(word) == secret[:len(word)])
}

// Named is a secret under a name in place of a digest, from which a weak password could
// be guessed; nothing for an empty one.
func Named(name, secret string) []llm.Key {
	key := llm.NewKey(secret)
	if key.ID == "" {
		return nil
	}
	key.ID = name
	return []llm.Key{key}
}

// URLPassword is the password in the address of that setting.
func URLPassword(name, text string) []llm.Key {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	return Named("password of "+name, password)
}

// Environment are those of a box's environment that are called a secret:
// "production" is none.
func Environment(name, text string) (keys []llm.Key) {
	var env map[string]string
	if json.Unmarshal([]byte(text), &env) != nil {
		return nil
	}
	for _, variable := range slices.Sorted(maps.Keys(env)) {
		if secretName(variable) {
			keys = append(keys, Named(name+" "+variable, env[variable])...)
		}
	}
	return keys
}

// secretName reports whether a variable of that name holds a secret.
// Too many are better than too few: what is hidden for nothing costs a word in a log.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// MaskPassword hides the password of a database URL.
func MaskPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "***"
	}
	// libpq also takes the password as a parameter. The user's name
	// stays: it is no secret, and tells whose database it is.
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil { // what cannot be read may be one
		return "***"
	}
	for name := range q {
		if slices.Contains([]string{"password", "sslpassword", "passfile"}, strings.ToLower(name)) {
			q.Set(name, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return u.Redacted()
}

// KeyIDs shows keys by their IDs. A list that cannot be read may hold
// secrets all the same.
func KeyIDs(text string) string {
	keys, err := llm.ParseKeys(text)
	if err != nil {
		return "not readable"
	}
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	return strings.Join(ids, ",")
}

// MaskHost hides what stands before the host or behind the path of an
// address, where people put passwords.
func MaskHost(text string) string {
	if !strings.ContainsAny(text, "@?#") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "***"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
