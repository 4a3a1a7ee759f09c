package contrary

import (
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A span is a part of a text, as byte offsets.
type span struct{ from, to int }

// A table is rows of values that tests loop over: the offset of its opening bracket, and the names of its columns.
type table struct {
	at    int
	names []string
}

var (
	// parametrized matches pytest's rows for a test, up to their opening bracket; the first groups are the names.
	parametrized = lazyregexp.New(`\bparametrize\(\s*(?:[(\[]((?:\s*["']\w+["']\s*,?)+)[)\]]|["']([\w\s,]+)["'])\s*,\s*[\[(]`)
	// structured matches a table in Go and the fields of its rows.
	structured = lazyregexp.New(`\[\]struct\s*\{([^{}]*)\}\s*\{`)
	// each matches the rows that jest, vitest and runners like mocha pass to a test.
	each   = lazyregexp.New(`\.each\(\s*\[`)
	taking = lazyregexp.New(`^\]\s*,?\s*\)\s*\(\s*(?:"[^"\n]*"|'[^'\n]*'|` + "`[^`]*`" + `)\s*,\s*(?:async\s*)?\(([^(){}]*)\)\s*=>`)
	field  = lazyregexp.New(`(?m)^\s*([\w\s,]+?)\s+[\w.\[\]*]+\s*$`)
	// comparing is the pattern of a comparison with the column named %[1]s.
	comparing = `(?:==|!=|\bis)\s*(?:\w+\.)?%[1]s\b|\b(?:\w+\.)?%[1]s\s*(?:==|!=)|\b(?:approx|to\w+|[eE]qual\w*|assert\w*|DeepEqual|Diff)\((?:[^()\n]*,)?\s*(?:\w+\.)?%[1]s\b`
	// neutral matches functions that may be called with such a column and are not the program.
	neutral = lazyregexp.New(`^(?:(?:pytest\.)?approx|t\.\w+|assert[\w.]*|require\.\w+|is\.\w+|reflect\.DeepEqual|(?:bytes|slices|maps)\.Equal|cmp\.\w+|fmt\.\w+|print|repr|str|len|sorted|list|set|tuple|self\.assert\w+|[\w.]*\.(?:to\w+|equals?|eql?s?)|expect|func|async|def\s+\w+|if|range)$`)
	literal = lazyregexp.New(`^(?:` + number + `|` + quoted + "|`[^`$\n]*`)")
	name    = lazyregexp.New(`\w+`)
)

// expectedInRows lists the expected literals in tables, grouped by row. They are in the last column whose name tests
// compare with and pass to no program. Inputs are not changed: a patch may rightly accept more than the program did.
func expectedInRows(l *lang.Language, text string) (rows [][]span) {
	for _, t := range tablesOf(l, text) {
		column := -1
		for i, n := range t.names {
			if onlyCompared(text, n) {
				column = i
			}
		}
		if column < 0 {
			continue
		}
		_, inner := scan(text, t.at)
		for _, row := range inner {
			parts, _ := scan(text, row.from)
			if len(parts) != len(t.names) {
				continue
			}
			if list := literals(text, parts[column]); len(list) > 0 {
				rows = append(rows, list)
			}
		}
	}
	return rows
}

// tablesOf finds the tables of a text.
func tablesOf(l *lang.Language, text string) (list []table) {
	switch l.Family {
	case lang.Python:
		for _, m := range parametrized.FindAllStringSubmatchIndex(text, -1) {
			group := max(m[2], m[4])
			list = append(list, table{m[1] - 1, name.FindAllString(text[group:max(m[3], m[5])], -1)})
		}
	case lang.Go:
		for _, m := range structured.FindAllStringSubmatchIndex(text, -1) {
			t := table{at: m[1] - 1}
			for _, f := range field.FindAllStringSubmatch(strings.ReplaceAll(text[m[2]:m[3]], ";", "\n"), -1) {
				t.names = append(t.names, name.FindAllString(f[1], -1)...)
			}
			list = append(list, t)
		}
	case lang.Script:
		for _, m := range each.FindAllStringIndex(text, -1) {
			if end := closing(text, m[1]-1); end > 0 {
				if n := taking.FindStringSubmatch(text[end:]); n != nil {
					list = append(list, table{m[1] - 1, name.FindAllString(n[1], -1)})
				}
			}
		}
	}
	return list
}

// onlyCompared reports whether tests compare with the value named n and pass it to nothing that may be the program.
func onlyCompared(text, n string) bool {
	quoted := regexp.QuoteMeta(n)
	if !regexp.MustCompile(strings.ReplaceAll(comparing, "%[1]s", quoted)).MatchString(text) {
		return false
	}
	given := regexp.MustCompile(`((?:def\s+)?[\w.]+|[)\]])\s*\((?:[^()\n]*[^()\w\n"'])?` + quoted + `\b`)
	return !slices.ContainsFunc(given.FindAllStringSubmatch(text, -1), func(m []string) bool { return !neutral.MatchString(m[1]) && !strings.HasSuffix(m[1], "parametrize") })
}

// scan returns the comma-separated parts in the bracket at i, without keywords, and as rows those parts that are
// themselves enclosed in brackets, from the bracket on. It returns none if the bracket does not close.
func scan(text string, i int) (parts, rows []span) {
	end := closing(text, i)
	if end < 0 {
		return nil, nil
	}
	add := func(from, to int) {
		part := text[from:to]
		from += len(part) - len(strings.TrimLeft(part, " \t\r\n"))
		part = strings.TrimSpace(part)
		if part == "" || keyword.MatchString(part) {
			return
		}
		parts = append(parts, span{from, from + len(part)})
		if m := opening.FindStringIndex(part); m != nil && closing(text, from+m[1]-1) == from+len(part)-1 {
			rows = append(rows, span{from + m[1] - 1, from + len(part)})
		}
	}
	from := i + 1
	for k := i + 1; k < end; k++ {
		switch text[k] {
		case '(', '[', '{':
			k = closing(text, k)
		case '"', '\'', '`':
			k = past(text, k)
		case ',':
			add(from, k)
			from = k + 1
		}
		if k < 0 {
			return nil, nil
		}
	}
	add(from, end)
	return parts, rows
}

var (
	keyword = lazyregexp.New(`^\w+\s*(?:=[^=]|:)|^(?:#|//)`)
	opening = lazyregexp.New(`^(?:(?:pytest\.)?param)?[\[({]`)
)

// closing returns the offset of the bracket that closes the one at i, or -1.
func closing(text string, i int) int {
	depth := 0
	for k := i; k < len(text); k++ {
		switch text[k] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return k
			}
		case '"', '\'', '`':
			if k = past(text, k); k < 0 {
				return -1
			}
		}
	}
	return -1
}

// past returns the offset of the last byte of the string that begins at i, or -1 if it does not end on its line.
func past(text string, i int) int {
	if m := literal.FindStringIndex(text[i:]); m != nil {
		return i + m[1] - 1
	}
	return -1
}

// literals lists the numbers and strings in a part of a text.
func literals(text string, in span) (list []span) {
	for k := in.from; k < in.to; {
		m := literal.FindStringIndex(text[k:in.to])
		word := k > in.from && (text[k-1] == '_' || text[k-1] == '.' || text[k-1] >= '0' && text[k-1] <= '9' || text[k-1]|0x20 >= 'a' && text[k-1]|0x20 <= 'z')
		if m == nil || word && text[k] != '"' && text[k] != '\'' {
			k++
			continue
		}
		list = append(list, span{k, k + m[1]})
		k += m[1]
	}
	return list
}
