package mutate

import (
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A table describes how a family of languages writes what is changed.
type table struct {
	// A line that opens a function, and a line that is left alone: imports, declarations, data for tools.
	head, skip *lazyregexp.Regexp
	// A sign or word, and its replacement.
	swaps map[string]string
	// A condition, as the only group.
	condition *lazyregexp.Regexp
	// The text before a condition that makes it always true, or never true.
	always, never string
	// A return: the only group is the value, which becomes nothing.
	returns *lazyregexp.Regexp
	nothing string
	// A statement that can be left out: the only group, and its replacement.
	statement *lazyregexp.Regexp
	gone      string
	// Words that stand for "not".
	not []string
}

// alike lists the comparisons and arithmetic that all of them write alike.
var alike = map[string]string{
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
}

// with returns alike together with more.
func with(more map[string]string) map[string]string {
	all := map[string]string{}
	for was, now := range alike {
		all[was] = now
	}
	for was, now := range more {
		all[was] = now
	}
	return all
}

// opposite maps a relation to the one that holds if it does not. A condition is made true and false as a whole. A
// comparison inside an expression is reversed: otherwise a test that accepts both of its values would fail on no mutant.
var opposite = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// tables lists the known languages.
var tables = map[lang.Family]*table{
	lang.Python: {
		head: lazyregexp.New(`^\s*(?:async\s+)?def\b`), skip: lazyregexp.New(`^\s*(?:import|from|def|async\s+def|class|@|global|nonlocal|assert)\b?|__name__`),
		swaps:     with(map[string]string{"and": "or", "or": "and", "True": "False", "False": "True", "//": "*", "**": "*", "min": "max", "max": "min"}),
		condition: lazyregexp.New(`^\s*(?:if|elif)\s+(.+):$`), always: "True or ", never: "False and ",
		returns: lazyregexp.New(`^\s*return\s+(.+)$`), nothing: "None",
		statement: lazyregexp.New(`^\s*((?:raise\b.*|[\w.]+\.\w+\(.*\)|continue|break))$`), gone: "pass",
		not: []string{"not"},
	},
	lang.Go: {
		head: lazyregexp.New(`^func\b`), skip: lazyregexp.New(`^\s*(?:import|package|func|type|var\s+\w+\s+\S+$|case\s.*<-|//)\b?|^\s*\w*\s*""\s*$`),
		swaps:     with(map[string]string{"&&": "||", "||": "&&", "true": "false", "false": "true", "min": "max", "max": "min"}),
		condition: lazyregexp.New(`^\s*(?:\}\s*else\s+)?if\s+(?:.*;\s*)?(.+?)\s*\{$`), always: "true || ", never: "false && ",
		returns: lazyregexp.New(`^\s*return\s+(?:.*,\s*)?(err|fmt\.Errorf\(.*\)|errors\.New\(.*\))$`), nothing: "nil",
		statement: lazyregexp.New(`^\s*([\w.]+\.\w+\(.*\)|\w+\[[^\]]*\]\s*=[^=].*|continue)$`), gone: "",
		not: []string{"!"},
	},
	lang.Script: {
		head: lazyregexp.New(`\bfunction\b|=>\s*\{?\s*$|^\s*(?:static\s+|async\s+|get\s+|set\s+|#)*\w+\([^)]*\)\s*\{\s*$`), skip: lazyregexp.New(`^\s*(?:import|export\s+(?:\*|\{|type|interface)|interface|type|declare|class)\b|\brequire\(`),
		swaps: with(map[string]string{
			"===": "!==", "!==": "===", "&&": "||", "||": "&&", "??": "&&", "true": "false", "false": "true", "**": "*", "min": "max", "max": "min",
		}),
		condition: lazyregexp.New(`^\s*(?:\}\s*else\s+)?if\s*\((.+)\)\s*(?:\{|return\b.*;?|throw\b.*;?|continue;?)?$`), always: "true || ", never: "false && ",
		returns: lazyregexp.New(`^.*\breturn\s+([^;]+);?(?:\s*\})?$`), nothing: "undefined",
		statement: lazyregexp.New(`^\s*((?:throw\s.*|(?:this\.|\w+\.)[\w.]+\(.*\)|continue));?$`), gone: "",
		not: []string{"!"},
	},
}

// The ranks: a mutant that changes a value tells tests apart better than one on which any use of the value fails.
const (
	rankSwap = iota
	rankCondition
	rankConstant
	rankReturn
	rankString
	rankGone
)

// plain and wrapped match what can be left out of an expression: a method call without arguments, and in Go a call of
// package strings with a name. last matches the index of the last element, -1.
var (
	plain   = lazyregexp.New(`^\.\w+\(\)`)
	wrapped = lazyregexp.New(`^strings\.\w+\((\w+)\)`)
	path    = lazyregexp.New(`^\s*[\w.]+$`)
	last    = lazyregexp.New(`^\[\s*-1\s*\]`)
)

// parts lists the mutants of an expression that need more than one token.
func parts(raw string, tokens []token) (list []Mutant) {
	for i, k := range tokens {
		if k.literal || i == 0 {
			continue
		}
		rest, behind := raw[k.from:], operand.MatchString(tokens[i-1].text)
		call := plain.FindString(rest)
		// A call that is a whole statement is left out as a statement.
		if call != "" && behind && (i+4 < len(tokens) || !path.MatchString(raw[:k.from])) {
			list = append(list, Mutant{From: k.from, To: k.from + len(call), Said: "`" + call + "` left out", rank: rankCondition})
		}
		if m := wrapped.FindStringSubmatch(rest); m != nil && tokens[i-1].text != "." {
			list = append(list, Mutant{From: k.from, To: k.from + len(m[0]), Now: m[1], Said: "`" + m[1] + "` for `" + m[0] + "`", rank: rankCondition})
		}
		if at := last.FindString(rest); at != "" && behind {
			list = append(list, Mutant{From: k.from, To: k.from + len(at), Now: "[0]", Said: "`[0]` for `" + at + "`", rank: rankSwap})
		}
	}
	return list
}

// mutants lists the mutants of one line.
func (t *table) mutants(raw, code string, tokens []token) (list []Mutant) {
	add := func(from, to int, now, said string, rank int) {
		list = append(list, Mutant{From: from, To: to, Now: now, Said: said, rank: rank})
	}
	for i, k := range tokens {
		before, after := "", ""
		if i > 0 {
			before = tokens[i-1].text
		}
		if i+1 < len(tokens) {
			after = tokens[i+1].text
		}
		switch now := t.swaps[k.text]; {
		case k.literal:
			if text, ok := otherString(k.text, before); ok && after != ":" {
				add(k.from, k.to, text, "another text for "+shown(k.text), rankString)
			}
		case now != "" && t.swappable(k.text, before, after):
			add(k.from, k.to, now, "`"+now+"` for `"+k.text+"`", rankSwap)
		case k.text[0] >= '0' && k.text[0] <= '9':
			if text, ok := otherNumber(k.text); ok {
				add(k.from, k.to, text, "`"+text+"` for `"+k.text+"`", rankConstant)
			}
		case slices.Contains(t.not, k.text) && after != "in" && before != "is":
			end := k.to
			if i+1 < len(tokens) {
				end = tokens[i+1].from
			}
			add(k.from, end, "", "`"+k.text+"` left out", rankSwap)
		}
	}
	return append(append(list, parts(raw, tokens)...), t.lines(raw, code, tokens)...)
}

// lines lists the mutants of a line as a whole. There are none for a line whose brackets are not balanced.
func (t *table) lines(raw, code string, tokens []token) (list []Mutant) {
	if len(tokens) == 0 || balance(code) != 0 {
		return nil
	}
	// The expressions see no text of literals, and the tokens give the places of their matches in the line.
	end := tokens[len(tokens)-1].to
	flat, places := flatten(raw[:end], tokens)
	m := t.condition.FindStringSubmatchIndex(flat)
	if m == nil {
		list = append(list, t.turned(tokens)...)
	} else if balance(flat[m[2]:m[3]]) == 0 {
		from, to := places[m[2]], places[m[3]]
		list = append(list,
			Mutant{From: from, To: to, Now: t.never + "(" + raw[from:to] + ")", Said: "`" + shown(raw[from:to]) + "` never true", rank: rankCondition},
			Mutant{From: from, To: to, Now: t.always + "(" + raw[from:to] + ")", Said: "`" + shown(raw[from:to]) + "` always true", rank: rankCondition},
		)
	}
	if m := t.returns.FindStringSubmatchIndex(flat); m != nil && balance(flat[m[2]:m[3]]) == 0 {
		if from, to := places[m[2]], places[m[3]]; raw[from:to] != t.nothing {
			list = append(list, Mutant{From: from, To: to, Now: t.nothing, Said: "`" + t.nothing + "` for `" + shown(raw[from:to]) + "`", rank: rankReturn})
		}
	}
	if m := t.statement.FindStringSubmatchIndex(flat); m != nil {
		from, to := places[m[2]], places[m[3]]
		list = append(list, Mutant{From: from, To: to, Now: t.gone, Said: "`" + shown(raw[from:to]) + "` left out", rank: rankGone})
	}
	return list
}

// turned lists the relations in an expression, each reversed.
func (t *table) turned(tokens []token) (list []Mutant) {
	for i, k := range tokens {
		now := opposite[k.text]
		if k.literal || now == "" || i == 0 || i+1 == len(tokens) || !t.swappable(k.text, tokens[i-1].text, tokens[i+1].text) {
			continue
		}
		list = append(list, Mutant{From: k.from, To: k.to, Now: now, Said: "`" + now + "` for `" + k.text + "`", rank: rankCondition})
	}
	return list
}

// flatten returns a line with one sign for each literal, so that expressions see no text of literals, and the place
// in the line of each of its bytes and of its end.
func flatten(raw string, tokens []token) (flat string, places []int) {
	var b strings.Builder
	at := 0
	for _, k := range tokens {
		for ; at < k.from; at++ {
			b.WriteByte(raw[at])
			places = append(places, at)
		}
		if k.literal {
			b.WriteByte('_')
			places = append(places, k.from)
			at = k.to
		}
	}
	for ; at < len(raw); at++ {
		b.WriteByte(raw[at])
		places = append(places, at)
	}
	return b.String(), append(places, len(raw))
}

// balance counts the brackets that a text leaves open. It is negative if the text closes others first.
func balance(code string) (depth int) {
	for _, c := range code {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth < 0 {
				return depth
			}
		}
	}
	return depth
}

// swappable reports whether a sign between two tokens has its usual meaning: a minus may belong to a number, a star
// may unpack, and signs in types and next to keywords mean something else.
func (t *table) swappable(sign, before, after string) bool {
	switch sign {
	case "+", "-", "*", "/", "<", ">":
		return operand.MatchString(before) && !keyword.MatchString(before) && after != ""
	case "+=", "-=":
		// A counter that runs the other way never ends its loop.
		return after != "1"
	case "min", "max":
		return after == "("
	}
	return true
}

var (
	// operand matches a token after which a sign is an operator.
	operand = lazyregexp.New("^(?:[\\w$].*|[)\\]]|[\"'`].*)$")
	keyword = lazyregexp.New(`^(?:return|in|and|or|not|if|elif|else|yield|case|lambda|print|await|typeof|import|map|chan|func|range)$`)
	number  = lazyregexp.New(`^(\d+)(\.\d+)?$`)
)

// otherNumber returns a different number. ok is false for a number in another notation.
func otherNumber(text string) (string, bool) {
	m := number.FindStringSubmatch(text)
	if m == nil || len(m[1]) > 9 || len(m[1]) > 1 && m[1][0] == '0' {
		return "", false
	}
	n, err := strconv.Atoi(m[1])
	return strconv.Itoa(n+1) + m[2], err == nil
}

// marked matches a prefix by which a literal is read as another text, which may have one more letter at its end.
// prefix matches any prefix, for example that of a character.
var (
	marked = lazyregexp.New(`^(?i:f|fr|rf|r|u|b|br|rb)$`)
	prefix = lazyregexp.New(`^[a-zA-Z]{1,2}$`)
)

// otherString returns a different text for a literal. ok is false for a literal with a special meaning.
func otherString(text, before string) (string, bool) {
	end := text[len(text)-1:]
	if prefix.MatchString(before) && !marked.MatchString(before) && before != "in" && before != "or" && before != "is" || strings.HasSuffix(text, `\`+end) {
		return "", false
	}
	if triple := strings.Repeat(end, 3); strings.HasPrefix(text, triple) && len(text) > 2 {
		// On its own, it is documentation.
		if end = triple; before == "" || len(text) < 6 {
			return "", false
		}
	}
	return strings.TrimSuffix(text, end) + "x" + end, true
}

// template returns the mutant of a line with one JavaScript template that contains code: the text of the template is changed.
func template(line lang.Line) []Mutant {
	first, last := strings.IndexByte(line.Raw, '`'), strings.LastIndexByte(line.Raw, '`')
	at := strings.Index(line.Code, `""`)
	if first < 0 || at != first || line.Raw[:first] != line.Code[:at] || strings.Count(line.Raw, "`") != 2 || !strings.Contains(line.Raw[first:last], "${") {
		return nil
	}
	return []Mutant{{From: last, To: last, Now: "x", Said: "another text for " + shown(line.Raw[first:last+1]), rank: rankString}}
}

// mostShown bounds how much of a line is shown, in bytes.
const mostShown = 50

// shown returns a part of a line in a form for people.
func shown(text string) string {
	text = strings.ReplaceAll(text, "`", "'")
	if len(text) <= mostShown {
		return text
	}
	return strings.ToValidUTF8(text[:mostShown], "") + "…"
}
