package runner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// equals is the sentence for values that pass whatever a test expects.
const equals = "makes values that are equal to anything, whatever a test expects of them"

// An operator describes how code of a language defines the comparison of a value with another: the form of its head,
// and the form of a body that answers without looking at the other value. A head and its body may be on one line. If
// a line matches open, the head continues below it.
type operator struct{ open, head, body *lazyregexp.Regexp }

// operators lists the comparisons that assertions use.
//
// Python calls __eq__, __ne__ and the ordering methods of either side; jest and vitest call asymmetricMatch of either
// side; go-cmp calls Equal, errors.Is calls Is, and gomock calls Matches.
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

// ready matches values in libraries that are equal to anything.
var ready = map[lang.Family]*lazyregexp.Regexp{
	lang.Python: lazyregexp.New(`\bmock\s*\.\s*ANY\b|\bfrom\s+unittest\.mock\s+import\b.*\bANY\b|\bimport_module\(\s*["']unittest\.mock["']\s*\)\s*\.\s*ANY\b`),
	lang.Script: lazyregexp.New(`\bexpect\s*\.\s*any(?:thing)?\(|jest\.asymmetricMatcher`),
}

// farthest bounds how many lines after a head its body may begin: the lines between are comments or a docstring.
const farthest = 20

// EqualsAnything lists the lines, counted from 0, on which code makes a value that is equal to whatever it is compared
// with. A comparison whose answer depends on the other value does not count. what describes this as a part of a sentence.
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
	// givenName matches a comparison that is defined as another name, so that the text does not say what it does.
	givenName = lazyregexp.New(`^\s*__(?:eq|ne|contains)__\s*=\s*[a-zA-Z]\w*\s*$`)
	// otherValue matches the head of a comparison up to the name of the value to compare with.
	otherValue = lazyregexp.New(`\bdef\s+__(?:eq|ne|contains)__\s*\(\s*\w+\s*,\s*(?:/\s*,\s*)?\*{0,2}(\w+)`)
	// answers matches a statement that gives an answer, and refuses one that gives none.
	answers = lazyregexp.New(`\breturn\b`)
	refuses = lazyregexp.New(`\bNotImplemented\b|^\s*raise\b|;\s*raise\b`)
)

// blind reports whether a comparison in Python gives an answer and never looks at the other value, or only at parts
// of it that cannot be otherwise.
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
	// Instances of a class without state are all equal, and rightly so. A number or a text that is equal to any other is not.
	plain := slices.ContainsFunc(shape.FindAllString(body, -1), func(s string) bool { return ofAnyone.MatchString(s) })
	return plain && !looks.MatchString(shape.ReplaceAllString(body, ""))
}

// shapeOnly is a pattern for code that asks for the class or the attributes of the value named %[1]s, and for nothing
// in it. ofAnyone matches such code if values of the language pass it too.
const shapeOnly = `\bisinstance\(\s*%[1]s\s*,[^()]*(?:\([^()]*\))?[^()]*\)|\b(?:hasattr|callable)\(\s*%[1]s\b[^()]*\)|\btype\(\s*%[1]s\s*\)\s*(?:(?:is|in|==|!=)\s*(?:not\s+)?(?:\w+\([^()]*\)|[\w.]+|[(\[{][^()]*[)\]}]))?|\b%[1]s\.__class__\s*(?:is|in|==|!=)\s*[\w.]+`

var ofAnyone = lazyregexp.New(`\b(?:int|float|complex|str|bytes|bool|list|tuple|dict|set|frozenset|Number|Real|Integral|Rational|Decimal|Sequence|Mapping|Iterable|Sized|Hashable)\b|\b(?:hasattr|callable)\(`)

// longestBody bounds how many lines of a comparison are read.
const longestBody = 60

// indentation returns the width of the space at the start of a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// firstStatement returns the first thing that a body does: the text after its head, or the first line of code below
// that is not a docstring.
func firstStatement(behind string, below []lang.Line) string {
	if behind != "" {
		return behind
	}
	for _, line := range below[:min(len(below), farthest)] {
		code := strings.TrimSpace(line.Code)
		// A line with only a literal does nothing.
		if strings.Trim(code, "\"'`rbuRBU()") == "" || code == "pass" || code == "..." {
			continue
		}
		return strings.TrimSpace(withoutNotes(line))
	}
	return ""
}

// withoutNotes returns a line without its comments.
func withoutNotes(line lang.Line) string {
	raw := line.Raw
	for _, note := range line.Notes {
		raw = strings.Replace(raw, note, "", 1)
	}
	return raw
}
