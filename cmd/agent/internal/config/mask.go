package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/cmd/agent/internal/config/credential"
	"agent/orchestrator/llm"
	"agent/sandbox/workspace/secret/disguise"
)

// LogMasker returns a function that removes secrets from a text for the log: those that this process knows, in any form
// in which they may appear, and everything that looks like a credential. The result is one short line.
//
// password is the password of the database connection, or "": it may come from a file or a service of libpq, where no
// setting shows it. The function is safe for concurrent use.
func (s Settings) LogMasker(getenv func(string) string, password string) func(string) string {
	mask := llm.Masker(s.secrets(getenv, password)...)
	return func(text string) string {
		// Known secrets come first and are replaced by their names. As something that looks like a credential they
		// would become a number, which does not tell which key leaked.
		text, _ = disguise.Hide(mask(text))
		return llm.Line(text)
	}
}

// OutputMasker returns a function that removes the configured secrets from a box's output before it is recorded, shown
// or sent. password is as for LogMasker. The function keeps the layout and length of the text, and everything that only
// looks like a credential.
//
// It keeps a password that is an ordinary word: "postgres" appears in every other line of a program that uses one, and
// a mark would tell the reader of the output nothing.
func (s Settings) OutputMasker(getenv func(string) string, password string) func(string) string {
	return llm.OutputMasker(slices.DeleteFunc(s.secrets(getenv, password), func(k llm.Key) bool { return credential.Ordinary(k.Secret()) })...)
}

// secrets returns the secrets that this process knows; password is as for LogMasker.
func (s Settings) secrets(getenv func(string) string, password string) []llm.Key {
	var keys []llm.Key
	// Any row of the table may have a secret, including those of every vendor. They come first, and in order: a secret
	// with two names gets the same mark every time.
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if secrets := s.kindOf(name).secrets; secrets != nil {
			keys = append(keys, secrets(name, s[name].Text)...)
		}
	}
	// A variable that another one overrides is still in the environment.
	for _, k := range table {
		if k.kind.secrets != nil {
			for _, env := range strings.Fields(k.Env) {
				keys = append(keys, k.kind.secrets(k.Name, getenv(env))...)
			}
		}
	}
	keys = append(keys, credential.Named("password of the database", password)...)
	for _, name := range strings.Fields(credential.Variables) {
		keys = append(keys, credential.Named(name, getenv(name))...)
	}
	for _, name := range strings.Fields(credential.URLVariables + " " + strings.ToLower(credential.URLVariables)) {
		list := strings.FieldsFunc(getenv(name), func(r rune) bool { return strings.ContainsRune(",| \t\n", r) })
		for i, text := range list {
			keys = append(keys, credential.Named(strings.TrimSuffix(fmt.Sprintf("password of %s %d", name, i+1), " 1"), credential.PasswordOf(text))...)
		}
	}
	return keys
}
