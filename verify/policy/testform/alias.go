package testform

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// aliases matches a line that gives a name to what skips a test on a condition; group 1 is the name. In JavaScript it
// only matches single tests, since a name for a group could be put around old tests.
var aliases = map[lang.Family]*lazyregexp.Regexp{
	lang.Python: lazyregexp.New(`^([A-Za-z_]\w*)\s*=\s*(?:pytest\.)?mark\.skipif\(`),
	lang.Script: lazyregexp.New(`^(?:const|let|var)\s+([A-Za-z_]\w*)\s*=\s*[^=?].*\?\s*(?:it|test|specify)(?:\.skip)?\s*:\s*(?:it|test|specify)(?:\.skip)?\s*;?$`),
}

// notAliases lists names that affect tests that do not mention them.
var notAliases = " pytestmark it test specify describe suite context "

// Alias returns the name that a line of code, without its strings and comments, gives to skipping a test on a
// condition. It returns "" for any other line, and for a name that affects tests by itself.
func Alias(family lang.Family, code string) string {
	form := aliases[family]
	if form == nil {
		return ""
	}
	m := form.FindStringSubmatch(strings.TrimSpace(code))
	if m == nil || strings.Contains(notAliases, " "+m[1]+" ") {
		return ""
	}
	return m[1]
}
