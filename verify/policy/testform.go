package policy

import (
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A testForm is how a language writes what weakens a test.
type testForm struct {
	// A statement that may make a test fail.
	assertion *lazyregexp.Regexp
	// An assertion that never does.
	always *lazyregexp.Regexp
	// A mark that keeps a test from counting, or others beside it.
	skip *lazyregexp.Regexp
	// A condition or a call that may: of no weight in a new file.
	maybe *lazyregexp.Regexp
	// What an empty test looks like, on one line.
	empty *lazyregexp.Regexp
}

// testForms are those that are known.
var testForms = map[lang.Family]testForm{
	lang.Python: {
		assertion: lazyregexp.New(`^assert\b|\.(?:assert|fail)\w*\s*\(|^(?:with\s+)?(?:pytest\.)?(?:raises|warns|fail)\s*\(|^with\s+pytest\.(?:raises|warns)|^(?:\w+\.)*assert_\w+\s*\(`),
		always:    lazyregexp.New(`^assert\s*\(?\s*(?:True|not False|[1-9][0-9]*|"")\s*\)?\s*(?:,.*)?$|^assert\s+(?:True\s*==\s*True|1\s*==\s*1|True is True)|\.assertTrue\(\s*True\b|\.assertFalse\(\s*False\b|^assert\b.*\bor True\s*$|^assert\s*\([^()]*,\s*""\s*\)$`),
		skip:      lazyregexp.New(`\bmark\.(?:skip|xfail)\b|@(?:unittest\.)?(?:skip|expectedFailure)\b|^@?xfail\b|^__test__\s*=\s*False|^collect_ignore(?:_glob)?\b`),
		maybe:     lazyregexp.New(`\bmark\.skipif\b|@(?:unittest\.)?skip(?:If|Unless)\b|\bpytest\.(?:skip|xfail|importorskip)\s*\(|\.skipTest\(|\bSkipTest\b`),
		empty:     lazyregexp.New(`^(?:async\s+)?def\s.*:\s*(?:""\s*)?(?:pass|\.\.\.|return|return None|"")?\s*$`),
	},
	lang.Script: {
		assertion: lazyregexp.New(`\b(?:expect|assert)\b[\w.]*\s*\(|\.should\b`),
		always:    lazyregexp.New(`\bexpect\(\s*(?:true\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*true|true\s*\)\.toBeTruthy\(|false\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*false|false\s*\)\.toBeFalsy\(|1\s*\)\.(?:toBe|toEqual)\(\s*1)\s*\)|\bassert(?:\.ok)?\(\s*(?:true|1)\s*[,)]|\bassert\.(?:\w*[eE]qual)\(\s*(?:true\s*,\s*true|1\s*,\s*1)\s*[,)]`),
		skip:      lazyregexp.New(`\b(?:it|test|describe|suite|context|specify|bench)(?:\.\w+)*\.(?:skip|only|todo|fixme|fails|failing)\b|^(?:xit|xtest|xdescribe|xcontext|fit|fdescribe|fcontext)\s*\(|[{,]\s*(?:skip|only|todo)\s*:\s*(?:true\b|"")`),
		maybe:     lazyregexp.New(`\.(?:skipIf|runIf)\s*\(|\b(?:t|this|ctx|test)\.(?:skip|todo)\s*\(`),
		empty:     lazyregexp.New(`^(?:it|test|specify)\b[\w.]*\s*\(.*(?:=>\s*\{\s*\}|function\s*\w*\s*\([^)]*\)\s*\{\s*\})\s*(?:,[^,]*)?\)\s*;?$`),
	},
	lang.Go: {
		assertion: lazyregexp.New(`\b(?:t|b|f|tb|tt|c)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is|qt)\.\w+\(`),
		always:    lazyregexp.New(`\b(?:assert|require)\.(?:True\(\s*t\s*,\s*true|False\(\s*t\s*,\s*false|Equal\(\s*t\s*,\s*(?:1\s*,\s*1|true\s*,\s*true))\s*[,)]`),
		maybe:     lazyregexp.New(`\b(?:t|b|f|tb)\.Skip(?:f|Now)?\(`),
		empty:     lazyregexp.New(`^func\s+Test\w*\([^)]*\)\s*\{\s*\}$`),
	},
}

// ReadsTests reports whether the text of tests in a file of that name is read for what makes
// them weaker.
func ReadsTests(name string) bool {
	l := lang.Of(name)
	if l == nil {
		return false
	}
	_, known := testForms[l.Family]
	return known
}
