package parse

import (
	"path"
	"strings"
)

// nameAbove returns the path that the line directly above the offset names, or "" if there is none. If a blank line is between
// them, the name belongs to the prose.
func nameAbove(text string, at int) string {
	above := strings.TrimSuffix(text[:at], "\n")
	return pathLine(above[strings.LastIndexByte(above, '\n')+1:])
}

// fenceLine returns the mark of a line that begins or ends a fence and the text after it, or "" for any other line. An indented
// fence belongs to a list, and is never the content of a file.
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

// fenceOpen reports whether a fence is open after the lines; open says that the first of them is within one.
func fenceOpen(lines []string, open bool) bool {
	for _, l := range lines {
		if mark, _ := fenceLine(l); mark != "" {
			open = !open
		}
	}
	return open
}

// fencesChange reports whether a fence below the name of a file holds, according to its language, a change of that file.
func fencesChange(info, name string) bool {
	kind, ext := strings.ToLower(info), strings.ToLower(path.Ext(name))
	return (kind == "diff" || kind == "patch") && ext != ".diff" && ext != ".patch"
}
