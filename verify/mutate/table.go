package mutate

import (
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A table says how a family of languages writes what is changed.
type table struct {
	// A line that opens a function, and one that is left as it is: imports, declarations, data of
	// tools.
	head, skip *lazyregexp.Regexp
	// A sign or word, and what takes its place.
	swaps map[string]string
	// A condition, as the only group.
	condition *lazyregexp.Regexp
	// It made true, and made false, whatever it is.
	always, never string
	// What is given back: the only group is the value, which becomes nothing.
	returns *lazyregexp.Regexp
	nothing string
	// A statement that can go: the only group, and what stands there instead.
	statement *lazyregexp.Regexp
	gone      string
	// Words that stand for "not", and a space where they need one.
	not []string
}

// comparisons, arithmetic and truths are written alike in all of them.
var alike = map[string]string{
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
}

// with adds to what is alike.
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

// opposite is what holds where a relation does not. A condition of its own is made true and false as a whole; what compares within
// an expression is turned round, or a test that accepts both of its values would fail on nothing.
var opposite = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// tables are the languages that are known.
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

// The ranks: what changes a value tells tests apart better than what any use of it stumbles over.
const (
	rankSwap = iota
	rankCondition
	rankConstant
	rankReturn
	rankString
	rankGone
)

// plain matches what can be left out of an expression with the rest as it is: a call of a method without
// arguments, and in Go one of package strings with a name. -1 as an index is that of the last.
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
		// A call that is the whole statement is one that can be left out.
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

// mutants lists those of one line.
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

// lines lists the mutants of a line as a whole. They need its text as code, so there is none where
// a comment stands behind it that the code does not show.
func (t *table) lines(raw, code string, tokens []token) (list []Mutant) {
	if len(tokens) == 0 || balance(code) != 0 {
		return nil
	}
	// What is looked for holds no literal's text, and is found in the line by its tokens.
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

// turned lists the relations of an expression, each the other way round.
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

// flatten returns a line with a sign for each literal, so that expressions see no text of them, and
// the place in the line of each of its bytes and of its end.
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

// balance counts the brackets that a text leaves open; below zero where it closes others first.
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

// swappable reports whether a sign between two tokens means what it says: a minus may be that of a
// number, a star may unpack, and the signs of types and of keywords are others.
func (t *table) swappable(sign, before, after string) bool {
	switch sign {
	case "+", "-", "*", "/", "<", ">":
		return operand.MatchString(before) && !keyword.MatchString(before) && after != ""
	case "+=", "-=":
		// A counter that runs the other way ends nothing.
		return after != "1"
	case "min", "max":
		return after == "("
	}
	return true
}

var (
	// operand ends what a sign may stand behind.
	operand = lazyregexp.New("^(?:[\\w$].*|[)\\]]|[\"'`].*)$")
	keyword = lazyregexp.New(`^(?:return|in|and|or|not|if|elif|else|yield|case|lambda|print|await|typeof|import|map|chan|func|range)$`)
	number  = lazyregexp.New(`^(\d+)(\.\d+)?$`)
)

// otherNumber is another number in the place of one; not of one that is written in another way.
func otherNumber(text string) (string, bool) {
	m := number.FindStringSubmatch(text)
	if m == nil || len(m[1]) > 9 || len(m[1]) > 1 && m[1][0] == '0' {
		return "", false
	}
	n, err := strconv.Atoi(m[1])
	return strconv.Itoa(n+1) + m[2], err == nil
}

// marked matches what may stand before a literal: a prefix by which it is read as another text, which a letter more at its end suits, and
// any other, as of a character.
var (
	marked = lazyregexp.New(`^(?i:f|fr|rf|r|u|b|br|rb)$`)
	prefix = lazyregexp.New(`^[a-zA-Z]{1,2}$`)
)

// otherString is another text in the place of a literal; not of one that has a meaning of its own.
func otherString(text, before string) (string, bool) {
	end := text[len(text)-1:]
	if prefix.MatchString(before) && !marked.MatchString(before) && before != "in" && before != "or" && before != "is" || strings.HasSuffix(text, `\`+end) {
		return "", false
	}
	if triple := strings.Repeat(end, 3); strings.HasPrefix(text, triple) && len(text) > 2 {
		// With nothing beside it is what a program says of itself.
		if end = triple; before == "" || len(text) < 6 {
			return "", false
		}
	}
	return strings.TrimSuffix(text, end) + "x" + end, true
}

// template returns the mutant of a line with one template of JavaScript that has code in it, whose text is then another one.
func template(line lang.Line) []Mutant {
	first, last := strings.IndexByte(line.Raw, '`'), strings.LastIndexByte(line.Raw, '`')
	at := strings.Index(line.Code, `""`)
	if first < 0 || at != first || line.Raw[:first] != line.Code[:at] || strings.Count(line.Raw, "`") != 2 || !strings.Contains(line.Raw[first:last], "${") {
		return nil
	}
	return []Mutant{{From: last, To: last, Now: "x", Said: "another text for " + shown(line.Raw[first:last+1]), rank: rankString}}
}

// mostShown bounds what is shown of a line, in bytes.
const mostShown = 50

// shown is a part of a line for people.
func shown(text string) string {
	text = strings.ReplaceAll(text, "`", "'")
	if len(text) <= mostShown {
		return text
	}
	return strings.ToValidUTF8(text[:mostShown], "") + "…"
}
