package config

import (
	"strings"
	"testing"
)

// Of two variables for one setting the first takes precedence, but both are in the environment.
func TestAVariableThatIsOutrankedIsMaskedToo(t *testing.T) {
	t.Parallel()
	const first, second = "first-key-q7Rk2vXm9TbL4wZp8NcY", "second-key-J3hJd6FsG1aVeU5oQ7rk"
	getenv := func(name string) string {
		return map[string]string{"GEMINI_API_KEYS": first, "GEMINI_API_KEY": second}[name]
	}
	s := Settings{}
	for name, mask := range map[string]func(string) string{"log": s.LogMasker(getenv, ""), "output": s.OutputMasker(getenv, "")} {
		if got := mask("with " + first + " and " + second); strings.Contains(got, first) || strings.Contains(got, second) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
