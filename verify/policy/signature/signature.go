// Package signature reads what the heads of Python and TypeScript functions and JSDoc comments say about types. It
// reads heads by form and does not parse them, since a file that does not compile must be checked as well.
package signature

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/sandbox/workspace/secret"
)

// longestHead bounds the lines of a head.
const longestHead = 60

var (
	headName  = lazyregexp.New(`^(\s*)(?:async\s+)?def\s+([\pL\pM\pN_]+)\s*(?:\[.*?\]\s*)?\(`)
	className = lazyregexp.New(`^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\s+([\pL\pM\pN_$]+)`)
	// scriptName matches a function that has a name: a function passed to another one takes its types from there. The
	// last group that matched is the name.
	scriptName = lazyregexp.New(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*([\w$]+)\s*(?:<[^()]*>)?\(|` +
		`^\s*(?:export\s+)?(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:function\s*)?(?:<[^()]*>\s*)?\(|` +
		`^\s+(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*([\w$#]+)\s*(?:<[^()]*>)?\(`)
)

// scriptWords lists words that precede a parenthesis and are not functions.
var scriptWords = []string{"if", "for", "while", "switch", "catch", "return", "function", "await", "super", "with", "throw", "typeof", "new", "delete"}

// A Head is the head of a function.
type Head struct {
	// The class in or after which it stands, "" at the top of a file, and its name.
	Class, Name string
	// The lines on which it begins and ends, counted from 0.
	Line, Last int
	// The parameters, each with whether it has a type, and whether the result has one.
	params map[string]bool
	result bool
}

// Of lists the heads in a text of Python or of a script, in order. For scripts it says nothing about the result, which compilers infer.
func Of(family lang.Family, lines []lang.Line) (heads []Head) {
	class, form := "", headName
	if family == lang.Script {
		form = scriptName
	}
	for i, line := range lines {
		if line.Inside || len(line.Code) > secret.MaxLine {
			continue
		}
		if m := className.FindStringSubmatch(line.Code); m != nil {
			class = m[1]
		}
		m := form.FindStringSubmatchIndex(line.Code)
		if m == nil {
			continue
		}
		at := 4
		if family == lang.Script {
			at = slices.IndexFunc([]int{m[2], m[4], m[6]}, func(at int) bool { return at >= 0 })*2 + 2
		}
		name := line.Code[m[at]:m[at+1]]
		if family == lang.Script && slices.Contains(scriptWords, name) {
			continue
		}
		if h, ok := headAt(family, lines[i:min(len(lines), i+longestHead)], m[1]); ok {
			h.Name, h.Line, h.Last = name, i, i+h.Last
			if len(line.Code) > len(strings.TrimLeft(line.Code, " \t")) {
				h.Class = class
			}
			heads = append(heads, h)
		}
	}
	return heads
}

// Lines returns the lines, counted from 0, that are part of the heads that Of lists.
func Lines(family lang.Family, lines []lang.Line) map[int]bool {
	of := map[int]bool{}
	for _, h := range Of(family, lines) {
		for i := h.Line; i <= h.Last; i++ {
			of[i] = true
		}
	}
	return of
}

// SaysLess reports whether functions of one name state the type of a parameter that they still have, or of their
// result, less often than before.
func SaysLess(then, now []Head) bool {
	type count struct{ typed, all int }
	sum := func(heads []Head) (params map[string]count, results int) {
		params = map[string]count{}
		for _, h := range heads {
			for name, typed := range h.params {
				c := params[name]
				c.all++
				if typed {
					c.typed++
				}
				params[name] = c
			}
			if h.result {
				results++
			}
		}
		return params, results
	}
	old, oldResults := sum(then)
	params, results := sum(now)
	if results < oldResults {
		return true
	}
	for name, c := range params {
		if o := old[name]; o.all == c.all && c.typed < o.typed {
			return true
		}
	}
	return false
}

// headAt reads a head, starting at byte from of its first line, which is after the opening parenthesis. Last counts
// from that line. ok is false for a head without an end.
func headAt(family lang.Family, lines []lang.Line, from int) (h Head, ok bool) {
	h.params = map[string]bool{}
	var param strings.Builder
	depth, closed := 1, false
	add := func() {
		// The default is removed first, since it may contain a colon.
		said, _, _ := strings.Cut(param.String(), "=")
		name, typ, typed := strings.Cut(said, ":")
		if name = strings.TrimSpace(strings.TrimLeft(strings.TrimRight(strings.TrimSpace(name), "? "), "*.")); name != "" && name != "/" {
			h.params[name] = typed && strings.TrimSpace(typ) != ""
		}
		param.Reset()
	}
	for n, line := range lines {
		code := line.Code
		h.Last = n
		if n == 0 {
			code = code[from:]
		}
		for at, c := range code {
			switch {
			case strings.ContainsRune("([{", c):
				depth++
			case strings.ContainsRune(")]}", c):
				depth--
			}
			switch {
			case family == lang.Script && !closed && depth == 0:
				add()
				behind := strings.TrimSpace(code[at+1:])
				return h, behind != "" && strings.ContainsRune("{:=", rune(behind[0])) // a call is followed by something else
			case closed && depth == 0 && c == ':':
				h.result = strings.Contains(param.String(), "->")
				return h, true
			case !closed && depth == 0:
				add()
				closed = true
			case !closed && depth == 1 && c == ',':
				add()
			default:
				param.WriteRune(c)
			}
		}
		param.WriteByte(' ')
	}
	return h, false
}

// A Note is a type in a JSDoc comment: what it is the type of, its line, counted from 0, and whether the type, or a
// part of it, lets everything through.
type Note struct {
	Under      string
	Line       int
	Wide, Part bool
}

var (
	docType = lazyregexp.New(`^[\s/*]*@(param|arg|argument|returns?|type|property|prop|typedef|this)\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}\s*\[?([\w.$]*)`)
	docAny  = lazyregexp.New(`\bany\b|(?:^|[<|,]\s*)\*`)
)

// Notes lists the types in the comments of a script.
func Notes(lines []lang.Line) (notes []Note) {
	for i, line := range lines {
		if strings.TrimSpace(line.Code) != "" || len(line.Raw) > secret.MaxLine || !strings.Contains(line.Raw, "@") {
			continue
		}
		if m := docType.FindStringSubmatch(line.Raw); m != nil {
			typ := strings.Trim(m[2], " ?!=.")
			wide := typ == "any" || typ == "*" || typ == ""
			notes = append(notes, Note{m[1] + " " + m[3], i, wide, !wide && docAny.MatchString(typ)})
		}
	}
	return notes
}

// aliases matches a statement that gives another name, group 1, to the type that lets everything through.
var aliases = map[lang.Family]*lazyregexp.Regexp{
	lang.Python: lazyregexp.New(`^(?:type\s+)?(\w+)\s*(?::\s*(?:\w+\.)?TypeAlias\s*)?=\s*(?:\w+\.)?Any\s*$|^from\s+typing\w*\s+import\b.*\bAny\s+as\s+(\w+)`),
	lang.Script: lazyregexp.New(`^\s*(?:export\s+)?type\s+(\w+)\s*(?:<[^=]*>)?\s*=\s*any\s*;?\s*$`),
	lang.Go:     lazyregexp.New(`^(?:type\s+|\t)(\w+)\s+=?\s*(?:any|interface\{\})\s*$`),
}

// WideNames lists the names that a file gives to the type that lets everything through.
func WideNames(family lang.Family, lines []lang.Line) (names []string) {
	form := aliases[family]
	if form == nil {
		return nil
	}
	for _, line := range lines {
		if len(line.Code) <= secret.MaxLine && (strings.Contains(line.Code, "ny") || strings.Contains(line.Code, "interface{")) {
			if m := form.FindStringSubmatch(strings.TrimRight(line.Code, " \t")); m != nil {
				names = append(names, strings.Join(m[1:], ""))
			}
		}
	}
	return names
}
