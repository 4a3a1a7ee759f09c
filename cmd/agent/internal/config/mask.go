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

// LogMasker returns what takes secrets out of a text for the log: those that this process
// knows, in whatever form they may stand, and what looks like a credential. What is
// left is one short line.
//
// password is that of the connection to the database, "" for none: it may stand in a
// file or a service of libpq, where no setting shows it. The function is safe for
// concurrent use.
func (s Settings) LogMasker(getenv func(string) string, password string) func(string) string {
	mask := llm.Masker(s.secrets(getenv, password)...)
	return func(text string) string {
		// Known ones first, by their name: as something that looks like a credential they
		// would be replaced by a number, which tells nobody which key leaked.
		text, _ = disguise.Hide(mask(text))
		return llm.Line(text)
	}
}

// OutputMasker returns what takes the configured secrets out of what a box wrote,
// before it is recorded, shown or sent. password is as for LogMasker. Layout and length of
// the text stay; so does everything that only looks like a credential.
//
// A password that is an ordinary word is left: "postgres" stands in every other line of
// a program that uses one, and who reads the output would learn nothing from a mark.
func (s Settings) OutputMasker(getenv func(string) string, password string) func(string) string {
	return llm.OutputMasker(slices.DeleteFunc(s.secrets(getenv, password), func(k llm.Key) bool { return credential.Ordinary(k.Secret()) })...)
}

// secrets returns those that this process knows; password is as for LogMasker.
func (s Settings) secrets(getenv func(string) string, password string) []llm.Key {
	var keys []llm.Key
	// Whatever row of the table has a secret, those of every vendor included. They come
	// first, and in order: one that has two names has the same mark every time.
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if secrets := s.kindOf(name).secrets; secrets != nil {
			keys = append(keys, secrets(name, s[name].Text)...)
		}
	}
	// A variable that another one outranks is in the environment all the same.
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
