// Package glob matches files against the patterns by which JavaScript test runners name them.
package glob

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Matching returns a function that reports whether some patterns name a file, by its path from where the patterns stand. A
// pattern is a glob, a file, or a directory with everything in it. One that begins with ! excludes files.
func Matching(patterns []string) func(name string) bool {
	var wanted, out []*regexp.Regexp
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		re := pattern(path.Clean(p))
		if re == nil {
			continue
		}
		if negated {
			out = append(out, re)
		} else {
			wanted = append(wanted, re)
		}
	}
	return func(name string) bool {
		is := func(re *regexp.Regexp) bool { return re.MatchString(name) }
		return slices.ContainsFunc(wanted, is) && !slices.ContainsFunc(out, is)
	}
}

// pattern turns a glob into a regular expression, nil for an invalid one. If its last part is a plain name, it may be a
// directory, and matches everything in it.
func pattern(glob string) *regexp.Regexp {
	text := "^(?:" + translated(glob) + ")"
	if glob == "." {
		text = "^(?:[^/]+)"
	}
	if !strings.ContainsAny(path.Base(glob), "*?[{(") {
		text += "(?:/.*)?"
	}
	re, err := regexp.Compile(text + "$")
	if err != nil {
		return nil
	}
	return re
}

// translated translates a glob: stars, question marks, sets, alternatives in braces, and shell groups like +(a|b), also
// without a sign before them. An excluding group, !(a), matches any text without a slash.
func translated(glob string) string {
	var b strings.Builder
	var closing []string // what closes the open groups
	for i := 0; i < len(glob); i++ {
		c, rest := glob[i], glob[i:]
		inGroup := len(closing) > 0
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:[^/]+/)*`)
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			i++
		case strings.HasPrefix(rest, "!(") && strings.Contains(rest, ")"):
			b.WriteString(`[^/]*`)
			i += strings.IndexByte(rest, ')')
		case len(rest) > 1 && rest[1] == '(' && strings.ContainsRune("?*+@", rune(c)):
			b.WriteString("(?:")
			closing = append(closing, ")"+strings.Trim(string(c), "@"))
			i++
		case c == '(' && strings.Contains(beforeEnd(rest), "|"):
			b.WriteString("(?:")
			closing = append(closing, ")")
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[' && strings.Contains(rest, "]"):
			end := strings.IndexByte(rest, ']')
			b.WriteString("[" + strings.ReplaceAll(strings.Replace(rest[1:end], "!", "^", 1), `\`, `\\`) + "]")
			i += end
		case c == '{':
			b.WriteString("(?:")
			closing = append(closing, ")")
		case (c == '}' || c == ')') && inGroup:
			b.WriteString(closing[len(closing)-1])
			closing = closing[:len(closing)-1]
		case (c == ',' || c == '|') && inGroup:
			b.WriteByte('|')
		case c == '\\' && len(rest) > 1:
			i++
			b.WriteString(regexp.QuoteMeta(string(glob[i])))
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

// beforeEnd returns the part of a text before its first closing parenthesis, "" if there is none.
func beforeEnd(text string) string {
	inner, _, closed := strings.Cut(text, ")")
	if !closed {
		return ""
	}
	return inner
}
