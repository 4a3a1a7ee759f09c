package testform

import (
	"strings"

	"agent/sandbox/workspace/lang"
)

// mostGuarded bounds how many lines a handler may guard for GuardsNew to find them.
const mostGuarded = 200

// GuardsNew reports whether the handler on line i of after, counted from 0, catches errors only of lines that before
// does not have: it weakens no assertion that was there. It is false if that cannot be determined, as for a promise.
func GuardsNew(family lang.Family, before, after []lang.Line, i int) bool {
	var guarded []lang.Line
	switch family {
	case lang.Python:
		guarded = guardedByIndent(after, i)
	case lang.Script:
		guarded = guardedByBraces(after, i)
	}
	known := map[string]bool{}
	for _, l := range before {
		known[strings.TrimSpace(l.Raw)] = true
	}
	said := 0
	for _, l := range guarded {
		code := strings.TrimSpace(l.Code)
		if strings.Trim(code, "}{: ") == "try" || !anyWord.MatchString(code) {
			continue
		}
		if said++; known[strings.TrimSpace(l.Raw)] {
			return false
		}
	}
	return said > 0
}

// depth returns how far a line of Python is indented, -1 for a line without code.
func depth(l lang.Line) int {
	if strings.TrimSpace(l.Code) == "" {
		return -1
	}
	return len(l.Code) - len(strings.TrimLeft(l.Code, " \t"))
}

func guardedByIndent(lines []lang.Line, i int) []lang.Line {
	own := depth(lines[i])
	if strings.HasPrefix(strings.TrimSpace(lines[i].Code), "with ") {
		end := i + 1
		for end < min(len(lines), i+mostGuarded) && (depth(lines[end]) > own || depth(lines[end]) < 0) {
			end++
		}
		return lines[i+1 : end]
	}
	for j := i - 1; j >= max(0, i-mostGuarded) && (depth(lines[j]) >= own || depth(lines[j]) < 0); j-- {
		if depth(lines[j]) == own && strings.HasPrefix(strings.TrimSpace(lines[j].Code), "try:") {
			return lines[j:i]
		}
	}
	return nil
}

func guardedByBraces(lines []lang.Line, i int) []lang.Line {
	at := strings.Index(lines[i].Code, "catch")
	if at < 0 || strings.HasSuffix(strings.TrimSpace(lines[i].Code[:at]), ".") {
		return nil
	}
	open := 0
	for j, code := i, lines[i].Code[:at]; ; code = lines[j].Code {
		for k := len(code) - 1; k >= 0; k-- {
			switch code[k] {
			case '}':
				open++
			case '{':
				open--
				if open == 0 {
					if !strings.HasSuffix(strings.TrimSpace(code[:k]), "try") {
						return nil
					}
					return lines[j:max(i, j+1)]
				}
			}
		}
		if j--; j < max(0, i-mostGuarded) || open == 0 && strings.TrimSpace(code) != "" {
			return nil
		}
	}
}
