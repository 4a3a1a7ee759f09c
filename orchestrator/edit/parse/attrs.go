package parse

import (
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// attrPattern finds one attribute of a tag: a name and a value, quoted or not.
var attrPattern = lazyregexp.New(`([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))`)

// pathAttrs are the attributes that hold a path, in lower case.
var pathAttrs = []string{"file", "path", "filename", "file_path", "filepath"}

// attrPath returns the path among a tag's attributes: the value of a known name, or a lone word.
func attrPath(attrs string) string {
	if path := attrValue(attrs, append([]string{"name"}, pathAttrs...)...); path != "" || attrPattern.MatchString(attrs) {
		return path
	}
	return strings.Trim(strings.TrimSpace(attrs), `"'`)
}

// attrValue returns the first attribute with one of the names, or "" if there is none.
func attrValue(attrs string, names ...string) string {
	for _, m := range attrPattern.FindAllStringSubmatch(attrs, -1) {
		if slices.Contains(names, strings.ToLower(m[1])) {
			return strings.TrimSpace(m[2] + m[3] + m[4])
		}
	}
	return ""
}

// attrLine returns the first line that a tag's attributes name, or 0 if there is none: line="12", lines="12-20", start_line="12".
func attrLine(attrs string) int {
	v := attrValue(attrs, "line", "lines", "start_line", "startline", "start")
	return number(v[:len(v)-len(strings.TrimLeft(v, "0123456789"))], 0)
}

// pathLine returns the path that a line or two of text name, or "" if they are anything else: the last line that is not a fence
// must be one word with a dot or slash in it.
//
// Models write the name above a block in many ways: "shop/stock.py", "**shop/stock.py**", "# shop/stock.py",
// "File: `shop/stock.py`:".
func pathLine(s string) string {
	for _, l := range Backwards(strings.Split(s, "\n")) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "```") {
			continue
		}
		l = Undressed(l)
		if l == "" || strings.ContainsAny(l, " \t<>|()") || !strings.ContainsAny(l, "./") {
			return ""
		}
		return l
	}
	return ""
}

// Undressed returns a line that may name a file without the decoration around the name.
func Undressed(l string) string {
	l = strings.TrimSpace(strings.TrimLeft(l, "#*"))
	for _, head := range []string{"file:", "path:", "filename:", "// "} {
		if len(l) > len(head) && strings.EqualFold(l[:len(head)], head) {
			l = strings.TrimSpace(l[len(head):])
		}
	}
	return strings.Trim(l, "`*:\"' \t")
}

// Backwards returns the lines, last first.
func Backwards(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[len(lines)-1-i] = l
	}
	return out
}

// number reads a decimal; it returns absent for an empty string.
//
// A number too large for an int gives 0, so the header only loses its influence: a hunk is found by its lines anyway.
func number(s string, absent int) int {
	if s == "" {
		return absent
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
