// Package credential knows which parts of settings and of an environment are secret, and how to show them.
package credential

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"agent/orchestrator/llm"
)

// Variables are the environment variables that hold secrets and are not settings of the agent. No box gets any of them.
// But an answer of a registry, a vendor or a database may quote one, and the answer is kept.
const Variables = "PGPASSWORD GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN GOOGLE_API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY " +
	"AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN NPM_TOKEN PYPI_TOKEN HF_TOKEN"

// URLVariables are the variables whose URLs may hold a password, or a token in place of a name. Some are lists. Each is
// looked up in lower case too, as the proxies and npm do.
const URLVariables = "HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NPM_CONFIG_REGISTRY NPM_CONFIG_PROXY NPM_CONFIG_HTTPS_PROXY " +
	"PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_PROXY UV_INDEX_URL UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL GOPROXY"

// PasswordOf returns the secret part of a URL, or "". A name alone is a token; a proxy may be written without a scheme.
func PasswordOf(text string) string {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		// Programs accept a password with characters that should be escaped.
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

// Ordinary reports whether a secret is a short word of one case, followed by at most three digits or exclamation marks,
// as documentation gives for local services.
func Ordinary(secret string) bool {
	const wordLength = 12 // a random secret of letters alone is longer
	letters := func(r rune) bool { return r >= 'a' && r <= 'z' }
	word := strings.TrimRight(strings.ToLower(secret), "0123456789!")
	rest := len(secret) - len(word)
	return len(secret) <= wordLength && rest <= 3 && strings.TrimFunc(word, letters) == "" && (word == secret[:len(word)] || strings.ToUpper(word) == secret[:len(word)])
}

// Named returns a secret under a name instead of a digest, from which a weak password could be guessed. It returns nil
// for an empty secret.
func Named(name, secret string) []llm.Key {
	key := llm.NewKey(secret)
	if key.ID == "" {
		return nil
	}
	key.ID = name
	return []llm.Key{key}
}

// URLPassword returns the password in the address that the setting name holds.
func URLPassword(name, text string) []llm.Key {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	return Named("password of "+name, password)
}

// Environment returns the values of a box's environment whose variables have the name of a secret; a value such as
// "production" is not secret by itself.
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

// secretName reports whether a variable with that name holds a secret. Too many matches are better than too few: hiding
// a word needlessly costs a word in a log.
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
	// libpq also accepts the password as a parameter. The user's name stays: it is not secret, and tells whose database
	// it is.
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil { // what cannot be read may be a password
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

// KeyIDs shows keys by their IDs. A list that cannot be read may hold secrets too, so it is not shown.
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

// MaskHost hides the parts before the host and after the path of an address, where people put passwords.
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
