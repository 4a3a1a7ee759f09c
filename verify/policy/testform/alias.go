package testform

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// aliases match a line that gives a name to what skips a test on a condition, with the name: in JavaScript only of single tests,
// since what holds several may be put around old ones.
var aliases = map[lang.Family]*lazyregexp.Regexp{
	lang.Python: lazyregexp.New(`^([A-Za-z_]\w*)\s*=\s*(?:pytest\.)?mark\.skipif\(`),
	lang.Script: lazyregexp.New(`^(?:const|let|var)\s+([A-Za-z_]\w*)\s*=\s*[^=?].*\?\s*(?:it|test|specify)(?:\.skip)?\s*:\s*(?:it|test|specify)(?:\.skip)?\s*;?$`),
}

// notAliases are names that concern tests which do not say them.
var notAliases = " pytestmark it test specify describe suite context "

// Alias returns the name that a line of code, without its strings and comments, gives to skipping a test on a condition; "" for
// another line, and where the name counts for tests by itself.
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
