package parse

import (
	"path"
	"strings"
)

// nameAbove returns the path that the line directly above the offset names,
// "" for none. With a blank line between, the name belongs to the prose.
func nameAbove(text string, at int) string {
	above := strings.TrimSuffix(text[:at], "\n")
	return pathLine(above[strings.LastIndexByte(above, '\n')+1:])
}

// fenceLine returns the mark of a line that begins or ends a fence and what
// is after it, "" for any other line. A fence that is indented belongs to
// a list, and is never the content of a file.
func fenceLine(l string) (mark, info string) {
	if !strings.HasPrefix(l, "```") && !strings.HasPrefix(l, "~~~") {
		return "", ""
	}
	rest := strings.TrimLeft(l, l[:1])
	if info = strings.TrimSpace(rest); strings.Contains(info, "`") {
		return "", ""
	}
	return l[:len(l)-len(rest)], info
}

// fenceOpen reports whether a fence is open behind the lines, of which the
// first is within one when open is set.
func fenceOpen(lines []string, open bool) bool {
	for _, l := range lines {
		if mark, _ := fenceLine(l); mark != "" {
			open = !open
		}
	}
	return open
}

// fencesChange reports whether a fence under the name of a file is said to hold
// a change of the file, by its language.
func fencesChange(info, name string) bool {
	kind, ext := strings.ToLower(info), strings.ToLower(path.Ext(name))
	return (kind == "diff" || kind == "patch") && ext != ".diff" && ext != ".patch"
}
