package lex

import "testing"

func TestPlainUnicodeChangesPunctuationOnly(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":             "plain",
		"\u201ca\u201d":     `"a"`,
		"\u2018a\u2019":     "'a'",
		"a\u00a0b":          "a b",
		"a \u2013 b \u2014": "a - b -",
		"wait\u2026":        "wait...",
		"caf\u00e9":         "caf\u00e9",
		"\u00d7":            "\u00d7",
		"\xff\xfe":          "\xff\xfe",
	} {
		if got := PlainUnicode(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
