// Package signature reads what the heads of Python's functions say of types. Heads are read by form and not parsed: a file that
// does not compile has to be looked at as well.
package signature

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/sandbox/workspace/secret"
)

// longestHead bounds the lines of a head.
const longestHead = 60

var (
	headName  = lazyregexp.New(`^(\s*)(?:async\s+)?def\s+([\pL\pM\pN_]+)\s*(?:\[.*?\]\s*)?\(`)
	className = lazyregexp.New(`^\s*class\s+([\pL\pM\pN_]+)`)
)

// A Head is that of a function.
type Head struct {
	// The class that it stands in or after, "" at the top of a file, and its name.
	Class, Name string
	// The line on which it begins, counted from 0.
	Line int
	// Its parameters, each with whether it says its type, and whether the result does.
	params map[string]bool
	result bool
}

// Of lists the heads in a text, in order.
func Of(lines []lang.Line) (heads []Head) {
	class := ""
	for i, line := range lines {
		if line.Inside || len(line.Code) > secret.MaxLine {
			continue
		}
		if m := className.FindStringSubmatch(line.Code); m != nil {
			class = m[1]
		}
		m := headName.FindStringSubmatchIndex(line.Code)
		if m == nil {
			continue
		}
		if h, ok := headAt(lines[i:min(len(lines), i+longestHead)], m[1]); ok {
			h.Name, h.Line = line.Code[m[4]:m[5]], i
			if m[3] > 0 {
				h.Class = class
			}
			heads = append(heads, h)
		}
	}
	return heads
}

// SaysLess reports whether functions of one name say of a parameter that they still have, or of their result, less often than
// before what type it is of.
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

// headAt reads a head from the byte of its first line behind the parenthesis that opens it. It is false for one without an end.
func headAt(lines []lang.Line, from int) (h Head, ok bool) {
	h.params = map[string]bool{}
	var param strings.Builder
	depth, closed := 1, false
	add := func() {
		// The default goes first: it may have a colon of its own.
		said, _, _ := strings.Cut(param.String(), "=")
		name, typ, typed := strings.Cut(said, ":")
		if name = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(name), "*")); name != "" && name != "/" {
			h.params[name] = typed && strings.TrimSpace(typ) != ""
		}
		param.Reset()
	}
	for n, line := range lines {
		code := line.Code
		if n == 0 {
			code = code[from:]
		}
		for _, c := range code {
			switch {
			case strings.ContainsRune("([{", c):
				depth++
			case strings.ContainsRune(")]}", c):
				depth--
			}
			switch {
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
