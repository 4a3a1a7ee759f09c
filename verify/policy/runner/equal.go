package runner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// equals is the sentence of what passes for any value that a test expects.
const equals = "makes values that are equal to anything, whatever a test expects of them"

// An operator answers how a value compares with another, by family: what its head looks like, and what a body looks like that
// does so without a look at the other one. A head and its body may stand on one line. Where a line looks like open, the head goes
// on below it.
type operator struct{ open, head, body *lazyregexp.Regexp }

// operators are those by which assertions compare.
//
// Python asks __eq__ and __ne__ of either side, and the orders likewise; jest and vitest ask asymmetricMatch of either side;
// go-cmp asks Equal, errors.Is asks Is, and gomock asks Matches.
var operators = map[lang.Family]operator{
	lang.Python: {
		lazyregexp.New(`^\s*(?:async\s+)?def\s+__(?:eq|ne|lt|le|gt|ge|contains)__\s*\([^)]*$`),
		lazyregexp.New(`^\s*(?:async\s+)?def\s+__(?:eq|ne|lt|le|gt|ge|contains)__\s*\(.*\)\s*(?:->[^:]*)?:\s*(.*)$|\b__(?:eq|ne|lt|le|gt|ge|contains)__\b["']?\s*[,=:]\s*([^=\s].*)$`),
		lazyregexp.New(`^(?:return\s+(?:not\s+)?|lambda\b[^:]*:\s*(?:not\s+)?)\(?\s*(?:True|False|1|0|bool\(\s*[01]\s*\))\s*\)?\s*[;),}\]]*\s*$`),
	},
	lang.Go: {
		lazyregexp.New(`^func\s*\([^)]*\)\s*(?:Equal|Is|Matches)\s*\([^)]*$`),
		lazyregexp.New(`^func\s*\([^)]*\)\s*(?:Equal|Is|Matches)\s*\([^)]*\)\s*bool\s*\{\s*(.*)$`),
		lazyregexp.New(`^return\s+!?\(?\s*(?:true|false)\s*\)?\s*;?\s*\}?\s*$`),
	},
	lang.Script: {
		lazyregexp.New(`\basymmetricMatch\b["']?\]?\s*\([^)]*$`),
		lazyregexp.New(`\basymmetricMatch\b["']?\]?\s*(?:\([^)]*\)\s*(?::\s*\w+\s*)?\{|[:=])\s*(.*)$`),
		lazyregexp.New(`^(?:function\b[^{]*\{\s*)?(?:\(?\w*\)?\s*=>\s*\{?\s*)?(?:return\s+)?\(?\s*(?:true|!0|!!1)\s*\)?\s*[;},)\s]*$`),
	},
}

// ready matches values of libraries that are equal to anything.
var ready = map[lang.Family]*lazyregexp.Regexp{
	lang.Python: lazyregexp.New(`\bmock\s*\.\s*ANY\b|\bfrom\s+unittest\.mock\s+import\b.*\bANY\b|\bimport_module\(\s*["']unittest\.mock["']\s*\)\s*\.\s*ANY\b`),
	lang.Script: lazyregexp.New(`\bexpect\s*\.\s*any(?:thing)?\(|jest\.asymmetricMatcher`),
}

// farthest bounds how many lines behind a head its body is looked for: what stands between is a comment or a docstring.
const farthest = 20

// EqualsAnything lists the lines, counted from 0, on which code makes a value that is equal to whatever it is compared with.
// A comparison whose answer depends on the other value is none. What it does as a part of a sentence is the second result.
func EqualsAnything(family lang.Family, lines []lang.Line) (at []int, what string) {
	op, ok := operators[family]
	if !ok {
		return nil, equals
	}
	for i, line := range lines {
		if strings.TrimSpace(line.Code) == "" || line.Inside {
			continue
		}
		raw := withoutNotes(line)
		if form := ready[family]; form != nil && form.MatchString(raw) {
			at = append(at, i)
			continue
		}
		below := lines[i+1:]
		for end := min(len(below), farthest); op.open.MatchString(line.Code) && !op.head.MatchString(raw) && end > 0; end-- {
			raw, below = raw+" "+strings.TrimSpace(withoutNotes(below[0])), below[1:]
		}
		m := op.head.FindStringSubmatch(raw)
		if m == nil {
			continue
		}
		behind := strings.TrimSpace(strings.Join(m[1:], ""))
		if op.body.MatchString(firstStatement(behind, below)) || family == lang.Python && (givenName.MatchString(raw) || blind(line, raw, behind, below)) {
			at = append(at, i)
		}
	}
	return at, equals
}

var (
	// givenName matches a comparison that is the one of another name, of which the text does not say what it does.
	givenName = lazyregexp.New(`^\s*__(?:eq|ne|contains)__\s*=\s*[a-zA-Z]\w*\s*$`)
	// otherValue matches the head of a comparison up to the name of the value that it is asked about.
	otherValue = lazyregexp.New(`\bdef\s+__(?:eq|ne|contains)__\s*\(\s*\w+\s*,\s*(?:/\s*,\s*)?\*{0,2}(\w+)`)
	// answers matches what gives an answer of its own, and refuses what gives none.
	answers = lazyregexp.New(`\breturn\b`)
	refuses = lazyregexp.New(`\bNotImplemented\b|^\s*raise\b|;\s*raise\b`)
)

// blind reports whether a comparison of Python gives an answer and looks at the other value nowhere, or at nothing of
// it that could be otherwise.
func blind(head lang.Line, raw, behind string, below []lang.Line) bool {
	m := otherValue.FindStringSubmatch(raw)
	if m == nil {
		return false
	}
	body, depth := behind, indentation(head.Code)
	for _, line := range below[:min(len(below), longestBody)] {
		if strings.TrimSpace(line.Code) != "" && indentation(line.Code) <= depth && !line.Inside {
			break
		}
		body += "\n" + line.Code
	}
	name := regexp.QuoteMeta(m[1])
	idle := regexp.MustCompile(`\bisinstance\(\s*` + name + `\s*,\s*object\s*\)|\b` + name + `\s*(?:==|is)\s*` + name + `\b|\bdel\s+` + name + `\b|\b_\s*=\s*` + name + `\b`)
	body = idle.ReplaceAllString(body, "")
	if !answers.MatchString(body) || refuses.MatchString(body) {
		return false
	}
	looks, shape := regexp.MustCompile(`\b`+name+`\b`), regexp.MustCompile(fmt.Sprintf(shapeOnly, name))
	if !looks.MatchString(body) {
		return true
	}
	// Of a class without a state all are equal, and rightly so; a number or a text that is equal to any is not.
	plain := slices.ContainsFunc(shape.FindAllString(body, -1), func(s string) bool { return ofAnyone.MatchString(s) })
	return plain && !looks.MatchString(shape.ReplaceAllString(body, ""))
}

// shapeOnly is a pattern of what asks for the class or the attributes of a value, of which %[1]s is the name, and for nothing that
// it holds; ofAnyone matches such a one that values of the language answer.
const shapeOnly = `\bisinstance\(\s*%[1]s\s*,[^()]*(?:\([^()]*\))?[^()]*\)|\b(?:hasattr|callable)\(\s*%[1]s\b[^()]*\)|\btype\(\s*%[1]s\s*\)\s*(?:(?:is|in|==|!=)\s*(?:not\s+)?(?:\w+\([^()]*\)|[\w.]+|[(\[{][^()]*[)\]}]))?|\b%[1]s\.__class__\s*(?:is|in|==|!=)\s*[\w.]+`

var ofAnyone = lazyregexp.New(`\b(?:int|float|complex|str|bytes|bool|list|tuple|dict|set|frozenset|Number|Real|Integral|Rational|Decimal|Sequence|Mapping|Iterable|Sized|Hashable)\b|\b(?:hasattr|callable)\(`)

// longestBody bounds how many lines of a comparison are read.
const longestBody = 60

// indentation is the width of the blank space in front of a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// firstStatement is the first thing that a body does: what stands behind its head, or the first line of code below that is no
// docstring.
func firstStatement(behind string, below []lang.Line) string {
	if behind != "" {
		return behind
	}
	for _, line := range below[:min(len(below), farthest)] {
		code := strings.TrimSpace(line.Code)
		// What is a literal and nothing else does nothing.
		if strings.Trim(code, "\"'`rbuRBU()") == "" || code == "pass" || code == "..." {
			continue
		}
		return strings.TrimSpace(withoutNotes(line))
	}
	return ""
}

// withoutNotes is a line without its comments.
func withoutNotes(line lang.Line) string {
	raw := line.Raw
	for _, note := range line.Notes {
		raw = strings.Replace(raw, note, "", 1)
	}
	return raw
}
