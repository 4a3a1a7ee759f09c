package secret

import (
	"strings"
	"testing"

	"agent/sandbox/workspace/secret/secrettest"
)

func TestCredentialsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range secrettest.Credentials {
		list := Find([]byte("first\n"+c.Line+"\nlast\n"), nil)
		if len(list) != 1 || list[0].Line != 2 || !strings.Contains(list[0].Rule, c.Rule) {
			t.Errorf("%s: %v, want %s at line 2", c.Line, list, c.Rule)
		}
	}
}

func TestWhatOnlySpeaksOfSecretsIsNotFound(t *testing.T) {
	t.Parallel()
	for _, s := range secrettest.Harmless {
		if list := Find([]byte(s), nil); len(list) > 0 {
			t.Errorf("%s: %v", s, list)
		}
	}
}
