package directive

import "testing"

func TestStyleIsWhatEachCodeIsAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		family, codes string
		want          bool
	}{
		{"nolint", "revive", true},
		{"nolint", "funlen gocognit revive", true},
		{"nolint", "errcheck", false},
		{"nolint", "gosec revive", false},
		{"nolint", "staticcheck", false},
		{"nolint", "", false},
		{"pylint", "too-many-arguments", true},
		{"pylint", "c0103 r0913", true},
		{"pylint", "w0613", false},
		{"pylint", "no-member", false},
		{"pylint", "line-too-long no-member", false},
		{"noqa", "e501", true},
		{"noqa", "slf001 up007", true},
		{"noqa", "e722", false},
		{"noqa", "e712 b006", false},
		{"noqa", "f401", false}, // ruff is run without it
		{"noqa", "s102", false},
		{"noqa", "", false},
		{"allow", "clippy::too_many_arguments", true},
		{"allow", "clippy::unwrap_used", false},
		{"allow", "unsafe_code", false},
		{"eslint", "revive", false},
		{"eslint", "no-console max-len", true},
		{"eslint", "@typescript-eslint/naming-convention import/order", true},
		{"eslint", "no-await-in-loop", true},
		{"eslint", "unicorn/prefer-at", true},
		{"eslint", "unicorn/no-thenable", false},
		{"eslint", "@stylistic/indent jsdoc/require-jsdoc", true},
		{"eslint", "@typescript-eslint/no-extraneous-class", true},
		{"eslint", "@typescript-eslint/no-unsafe-call", false},
		{"eslint", "no-unused-vars", false},
		{"eslint", "no-console no-eval", false},
		{"eslint", "no-console-log", false},
	} {
		if got := OfStyle(c.family, c.codes); got != c.want {
			t.Errorf("%s %q: %v", c.family, c.codes, got)
		}
	}
}
