package runner

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

var (
	// compound matches the head of a block in Python, with or without a statement after it.
	compound = lazyregexp.New(`^(?:async\s+)?(?:if|elif|else|while|for|with|try|except|finally|def|class|match|case)\b`)
	// looked matches a call or an index, up to the end of its brackets.
	looked = lazyregexp.New(`([\w\])@"])\s*(?:\[[^\[\]()]*\]|\([^\[\]()]*\))`)
	// attribute matches an attribute, group 1, that is by itself among the targets of a Python statement.
	attribute = lazyregexp.New(`(?:^|[\s(\[,*])((?:\w+\s*\.\s*)+\w+)\s*(?:$|[,)\]])`)
	// looped, bound and deleted match where Python gives a name a value, or removes it, without an assignment.
	looped  = lazyregexp.New(`\bfor\s+(.+?)\s+in\b`)
	bound   = lazyregexp.New(`\bas\s+([(\[]?[\w.,\s()\[\]*]+?)\s*(?:[:)]|,\s*\w+\s*\(|$)`)
	deleted = lazyregexp.New(`^del\b\s*(.+)$`)

	// scriptTarget matches where JavaScript does so; the target is whichever of groups 1 and 2 matched.
	scriptTarget = lazyregexp.New(`\b(?:delete\s+|for\s*(?:await\s*)?\(\s*)((?:[\w$]+\s*\.\s*)+[\w$]+)\s*(?:;|,|\)|$|\b(?:of|in)\b)|((?:[\w$]+\s*\.\s*)+[\w$]+)\s*(?:\?\?|\|\||&&)=`)
	// patternEnd matches the end of a destructuring pattern.
	patternEnd = lazyregexp.New(`[\]}]\s*=[^=>]`)
	// inPattern matches an attribute, group 1, that gets a part of the value.
	inPattern = lazyregexp.New(`(?:[\[{,:]|\.\.\.)\s*([\w$]+(?:\s*\.\s*[\w$]+|\s*\[[^\[\]]*\])+)\s*[,\]}=]`)
)

// mostTargets bounds the matches that are read of one line, and mostBelow how many lines below it belong to it.
const mostTargets, mostBelow = 20, 10

// targets lists what the statement that begins on line i gives another value, as written there, without plain names.
// It looks in patterns, loops and handlers as well as in front of an assignment sign.
func targets(family lang.Family, lines []lang.Line, i int) (list []string) {
	code := strings.TrimSpace(lines[i].Code)
	if code == "" || lines[i].Inside || len(code) > longestLine {
		return nil
	}
	if strings.ContainsRune("([{", rune(code[0])) {
		for k := i + 1; k < min(len(lines), i+mostBelow) && open(code) > 0 && len(code) < longestLine; k++ {
			code += " " + strings.TrimSpace(lines[k].Code)
		}
	}
	switch {
	case !strings.ContainsAny(code, ".["):
	case family == lang.Python:
		for stmt := range strings.SplitSeq(code, ";") {
			list = append(list, pythonTargets(strings.TrimSpace(stmt))...)
		}
	case family == lang.Script:
		for _, m := range scriptTarget.FindAllStringSubmatch(code, mostTargets) {
			list = append(list, m[1]+m[2])
		}
		for _, end := range patternEnd.FindAllStringIndex(code, mostTargets) {
			for _, m := range inPattern.FindAllStringSubmatch(pattern(code[:end[0]+1]), mostTargets) {
				list = append(list, m[1])
			}
		}
	}
	return list
}

// fresh matches the beginning of a statement, whatever is above it.
var fresh = lazyregexp.New(`^(?:def|class|import|from|async|@)\b`)

// continues says for each line of Python whether brackets from above still hold it: what looks like an assignment there is an argument.
func continues(family lang.Family, lines []lang.Line) []bool {
	list, depth := make([]bool, len(lines)), 0
	for i, line := range lines {
		if family != lang.Python || fresh.MatchString(line.Code) {
			depth = 0
		}
		list[i] = depth > 0
		depth = max(0, depth+open(line.Code))
	}
	return list
}

// open counts the brackets that a text leaves open.
func open(text string) int {
	return strings.Count(text, "(") + strings.Count(text, "[") + strings.Count(text, "{") - strings.Count(text, ")") - strings.Count(text, "]") - strings.Count(text, "}")
}

// pattern returns the end of a text from the bracket that its last bracket closes, or "" if the brackets only index something.
func pattern(text string) string {
	depth := 0
	for k := len(text) - 1; k >= 0; k-- {
		switch text[k] {
		case ']', '}', ')':
			depth++
		case '[', '{', '(':
			if depth--; depth > 0 {
				continue
			}
			before := strings.TrimRight(text[:k], " \t")
			last := byte(' ')
			if before != "" {
				last = before[len(before)-1]
			}
			// After one of these stands a type, and after the type its default.
			if strings.IndexByte(":&|<", last) >= 0 || strings.HasSuffix(before, "extends") || text[k] == '[' && (strings.IndexByte("])_$\"", last) >= 0 || k > 0 && wordByte(text[k-1])) {
				return ""
			}
			return text[k:]
		}
	}
	return ""
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// pythonTargets lists the targets of one statement.
func pythonTargets(stmt string) (list []string) {
	texts := []string{}
	for _, m := range looped.FindAllStringSubmatch(stmt, mostTargets) {
		texts = append(texts, m[1])
	}
	if strings.HasPrefix(stmt, "with ") || strings.HasPrefix(stmt, "async with ") {
		for _, m := range bound.FindAllStringSubmatch(stmt, mostTargets) {
			texts = append(texts, m[1])
		}
	}
	if compound.MatchString(stmt) {
		if at := topLevel(stmt, ':'); len(at) > 0 {
			stmt = strings.TrimSpace(stmt[at[0]+1:])
		}
	}
	if m := deleted.FindStringSubmatch(stmt); m != nil {
		texts = append(texts, m[1])
	}
	from := 0
	for _, at := range topLevel(stmt, '=') {
		left := stmt[from:at]
		if cut := topLevel(left, ':'); len(cut) > 0 {
			left = left[:cut[0]] // its type
		}
		texts, from = append(texts, left), at+1
	}
	for _, text := range texts {
		for was := ""; was != text; {
			was, text = text, looked.ReplaceAllString(text, "$1@")
		}
		for _, m := range attribute.FindAllStringSubmatch(text, mostTargets) {
			list = append(list, m[1])
		}
		// A comma ends one target and begins the next.
		if _, rest, more := strings.Cut(text, ","); more {
			for _, m := range attribute.FindAllStringSubmatch(rest, mostTargets) {
				list = append(list, m[1])
			}
		}
	}
	return list
}

// topLevel lists the positions of a mark outside the brackets of a text. For "=", only assignments count.
func topLevel(text string, mark byte) (at []int) {
	depth := 0
	for k := range len(text) {
		switch c := text[k]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c != mark || depth != 0:
		case mark == '=' && (k > 0 && strings.IndexByte("=<>!:+-*/%&|^@", text[k-1]) >= 0 || strings.HasPrefix(text[k+1:], "=")):
		default:
			at = append(at, k)
		}
	}
	return at
}
