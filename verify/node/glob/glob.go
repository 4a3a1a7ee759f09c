// Package glob reads the patterns by which the runners of JavaScript name files.
package glob

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Matching tells which files some patterns name, by their paths from where these stand: globs,
// files, and directories with all that lies in them. One that begins with ! takes files out.
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

// pattern makes an expression of a glob, nil of what is none. What ends in a plain name may
// be a directory, and stands for all in it.
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

// translated translates a glob: stars, question marks, sets, alternatives in braces, and the
// groups of shells like +(a|b), also without a sign before them. One that excludes, !(a), stands for anything but a slash.
func translated(glob string) string {
	var b strings.Builder
	var closing []string // what ends the groups that are open
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

// beforeEnd is what stands between a parenthesis at the start of a text and the next one that closes.
func beforeEnd(text string) string {
	inner, _, closed := strings.Cut(text, ")")
	if !closed {
		return ""
	}
	return inner
}
