// Package testform is the table of how each language writes its tests: what asserts, what keeps a test from counting, and what an
// empty test looks like. It reads text by form, line by line. What happens to a changeset that weakens a test is up to package policy.
package testform

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A Form describes how a language writes what weakens a test. Each part is matched against the code of a line without
// its strings and comments and without surrounding space.
type Form struct {
	// A statement that may make a test fail.
	Assertion *lazyregexp.Regexp
	// An assertion that never fails.
	Always *lazyregexp.Regexp
	// A mark that keeps a test, or others next to it, from counting; nil if there is none.
	Skip *lazyregexp.Regexp
	// A condition or a call that may do so. It does not count in a new file.
	Maybe *lazyregexp.Regexp
	// What an empty test looks like, on one line.
	Empty *lazyregexp.Regexp
}

// forms lists the known forms.
var forms = map[lang.Family]Form{
	lang.Python: {
		Assertion: lazyregexp.New(`^assert\b|\.(?:assert|fail)\w*\s*\(|^(?:with\s+)?(?:pytest\.)?(?:raises|warns|fail)\s*\(|^with\s+pytest\.(?:raises|warns)|^(?:\w+\.)*assert_\w+\s*\(`),
		Always:    lazyregexp.New(`^assert\s*\(?\s*(?:True|not False|[1-9][0-9]*|"")\s*\)?\s*(?:,.*)?$|^assert\s+(?:True\s*==\s*True|1\s*==\s*1|True is True)|\.assertTrue\(\s*True\b|\.assertFalse\(\s*False\b|^assert\b.*\bor True\s*$|^assert\s*\([^()]*,\s*""\s*\)$`),
		Skip:      lazyregexp.New(`\bmark\.(?:skip|xfail)\b|@(?:unittest\.)?(?:skip|expectedFailure)\b|^@?xfail\b|^__test__\s*=\s*False|^collect_ignore(?:_glob)?\b`),
		Maybe:     lazyregexp.New(`\bmark\.skipif\b|@(?:unittest\.)?skip(?:If|Unless)\b|\bpytest\.(?:skip|xfail|importorskip)\s*\(|\.skipTest\(|\bSkipTest\b`),
		Empty:     lazyregexp.New(`^(?:async\s+)?def\s.*:\s*(?:""\s*)?(?:pass|\.\.\.|return|return None|"")?\s*$`),
	},
	lang.Script: {
		Assertion: lazyregexp.New(`\b(?:expect|assert)\b[\w.]*\s*\(|\.should\b`),
		Always:    lazyregexp.New(`\bexpect\(\s*(?:true\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*true|true\s*\)\.toBeTruthy\(|false\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*false|false\s*\)\.toBeFalsy\(|1\s*\)\.(?:toBe|toEqual)\(\s*1)\s*\)|\bassert(?:\.ok)?\(\s*(?:true|1)\s*[,)]|\bassert\.(?:\w*[eE]qual)\(\s*(?:true\s*,\s*true|1\s*,\s*1)\s*[,)]`),
		Skip:      lazyregexp.New(`\b(?:it|test|describe|suite|context|specify|bench)(?:\.\w+)*\.(?:skip|only|todo|fixme|fails|failing)\b|^(?:xit|xtest|xdescribe|xcontext|fit|fdescribe|fcontext)\s*\(|[{,]\s*(?:skip|only|todo)\s*:\s*(?:true\b|"")`),
		Maybe:     lazyregexp.New(`\.(?:skipIf|runIf)\s*\(|\b(?:t|this|ctx|test)\.(?:skip|todo)\s*\(`),
		Empty:     lazyregexp.New(`^(?:it|test|specify)\b[\w.]*\s*\(.*(?:=>\s*\{\s*\}|function\s*\w*\s*\([^)]*\)\s*\{\s*\})\s*(?:,[^,]*)?\)\s*;?$`),
	},
	lang.Go: {
		Assertion: lazyregexp.New(`\b(?:t|b|f|tb|tt|c)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is|qt)\.\w+\(`),
		Always:    lazyregexp.New(`\b(?:assert|require)\.(?:True\(\s*t\s*,\s*true|False\(\s*t\s*,\s*false|Equal\(\s*t\s*,\s*(?:1\s*,\s*1|true\s*,\s*true))\s*[,)]`),
		Maybe:     lazyregexp.New(`\b(?:t|b|f|tb)\.Skip(?:f|Now)?\(`),
		Empty:     lazyregexp.New(`^func\s+Test\w*\([^)]*\)\s*\{\s*\}$`),
	},
}

// Of returns the form of a language. For a language whose tests are not read, its expressions are nil.
func Of(family lang.Family) Form { return forms[family] }

// Known reports whether tests in a file of that name are read for what weakens them.
func Known(name string) bool {
	l := lang.Of(name)
	return l != nil && Of(l.Family).Assertion != nil
}

// goFunc matches the head of a Go function or method that has a name; benchmark matches the head of a benchmark.
var (
	goFunc    = lazyregexp.New(`\bfunc\s*(?:\([^)]*\))?\s*[\pL_][\pL\pN_]*\s*[\[(]`)
	benchmark = lazyregexp.New(`^func Benchmark\w*\(\w+ \*\w+\.B\) \{$`)
)

// A systemForm describes how a language skips a test only on some versions or systems.
type systemForm struct {
	// A mark with its condition and no reason other than a literal; nil if there is none.
	mark *lazyregexp.Regexp
	// A branch on such a condition, and the skip inside it; nil if there is none.
	branch, skip *lazyregexp.Regexp
}

// The names of versions and systems, and what they are compared with. All literals are empty here.
var systemForms = map[lang.Family]systemForm{
	lang.Python: {
		lazyregexp.New(`^@(?:\w+\.)*(?:skipif|skipIf|skipUnless)\(\s*(?:sys\s*\.\s*)?(?:version_info|platform|implementation\s*\.\s*name)\s*(?:[<>]=?|[=!]=)\s*(?:\(\s*\d+(?:\s*,\s*\d+)*\s*,?\s*\)|"")\s*(?:,\s*(?:reason\s*=\s*)?"")?\s*,?\s*\)$`),
		lazyregexp.New(`^if\s+sys\.(?:version_info|platform|implementation\.name)\s*(?:[<>]=?|[=!]=)\s*(?:\(\s*\d+(?:\s*,\s*\d+)*\s*,?\s*\)|"")\s*:$`),
		lazyregexp.New(`^(?:pytest\.skip|self\.skipTest)\(\s*(?:reason\s*=\s*)?""\s*\)$`),
	},
	lang.Script: {
		lazyregexp.New(`^(?:it|test|describe|suite)(?:\.\w+)*\.(?:skipIf|runIf)\(\s*process\.(?:platform|arch)\s*[!=]==?\s*""\s*\)\(` +
			`|^(?:const|let|var)\s+\w+\s*=\s*process\.(?:platform|arch)\s*[!=]==?\s*""\s*\?\s*(?:it|test|describe)(?:\.skip)?\s*:\s*(?:it|test|describe)(?:\.skip)?\s*;?$` +
			`|^if\s*\(\s*process\.(?:platform|arch)\s*[!=]==?\s*""\s*\)\s*\{?\s*(?:return\s+)?(?:this|t|ctx)\.skip\(\s*(?:"")?\s*\)\s*;?\s*\}?$`),
		lazyregexp.New(`^if\s*\(\s*process\.(?:platform|arch)\s*[!=]==?\s*""\s*\)\s*\{$`),
		lazyregexp.New(`^(?:return\s+)?(?:this|t|ctx)\.skip\(\s*(?:"")?\s*\)\s*;?$`),
	},
	lang.Go: {
		nil,
		lazyregexp.New(`^if\s+runtime\.GO(?:OS|ARCH)\s*[!=]=\s*""(?:\s*(?:\|\||&&)\s*runtime\.GO(?:OS|ARCH)\s*[!=]=\s*"")*\s*\{$` +
			// Tests are judged without -short.
			`|^if\s+(?:[^|]*&&\s*)?testing\.Short\(\)(?:\s*&&[^|]*)?\s*\{$`),
		lazyregexp.New(`^\w+\.(?:SkipNow\(\)|Skipf?\([^()]*\))$`),
	},
}

// mostJoined is the maximum number of lines of a mark.
const mostJoined = 8

// SkipsElsewhere reports whether line i keeps a test from counting only on some versions or systems: by itself, with
// the lines that its brackets hold, or in the branch opened by the line of code above. If it does so on this system,
// the tests gate sees that a test that ran before is now skipped. On other systems, nothing was checked before either.
func SkipsElsewhere(family lang.Family, lines []lang.Line, i int) bool {
	f, ok := systemForms[family]
	code := strings.TrimSpace(lines[i].Code)
	if !ok || code == "" || len(code) > longestMark {
		return false
	}
	if f.skip.MatchString(code) {
		for i--; i >= 0 && strings.TrimSpace(lines[i].Code) == ""; i-- {
		}
		return i >= 0 && f.branch.MatchString(strings.TrimSpace(lines[i].Code))
	}
	open := func(code string) int { return strings.Count(code, "(") - strings.Count(code, ")") }
	for k := i + 1; k < min(len(lines), i+mostJoined) && open(code) > 0 && len(code) < longestMark; k++ {
		code += strings.TrimSpace(lines[k].Code)
	}
	if f.mark == nil || !f.mark.MatchString(code) {
		return false
	}
	// Another mark after it is not part of it.
	rest, form := f.mark.ReplaceAllString(code, ""), Of(family)
	return !form.Skip.MatchString(rest) && !form.Maybe.MatchString(rest)
}

// longestMark is the maximum length of such a line, in bytes.
const longestMark = 400

// Measures returns a function that reports whether a line only measures time. A Go benchmark is not a test, and runs only on request.
func Measures(family lang.Family, lines []lang.Line) func(i int) bool {
	measures := make([]bool, len(lines))
	for i, within := 0, false; family == lang.Go && i < len(lines); i++ {
		if goFunc.MatchString(lines[i].Code) {
			within = benchmark.MatchString(strings.TrimRight(lines[i].Code, " \t\r"))
		}
		measures[i] = within
	}
	return func(i int) bool { return measures[i] }
}
