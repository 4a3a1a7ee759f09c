package compare

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

var (
	identifier = lazyregexp.New(`[A-Za-z_]\w*`)
	// heading matches the first line of a definition. A change inside the definition also alters what that line names.
	heading = lazyregexp.New(`^(?:(?:async|export|default|public|private|protected|static)\s+)*(?:def|class|func|function|interface|type|struct|enum)\b`)
	given   = lazyregexp.New(`\b(?:def|class|import|as|for|func|function|let|const|var)\s+(\w+)|(\w+)\s*(?::|=(?:[^=]|$)|:=)`)
	quoted  = lazyregexp.New("\"[^\"]*\"|'[^']*'|`[^`]*`|“[^”]*”")
)

// addNames adds the names of a file that is added, removed or moved: others import it by these names.
func addNames(names map[string]bool, c workspace.Change) {
	if c.Op == workspace.Modify {
		return
	}
	for _, p := range []string{c.Path, check.OldPath(c)} {
		for _, part := range strings.Split(strings.TrimSuffix(p, path.Ext(p)), "/") {
			names[part] = true
		}
	}
}

// addDefinitions adds the names in the places that a change rewrote, and those of the definitions around them: a
// finding at a caller mentions the name of the function, not its new argument.
func addDefinitions(d check.Diff, c workspace.Change, places []check.Region) {
	before, after := strings.Split(string(c.Before), "\n"), strings.Split(string(c.After), "\n")
	for _, r := range places {
		addLines(d.Names, before, r.OldFrom-1, r.OldTo-1)
		addLines(d.Names, after, r.NewFrom-1, r.NewTo-1)
		for _, line := range slices.Concat(part(before, r.OldFrom-1, r.OldTo-1), part(after, r.NewFrom-1, r.NewTo-1)) {
			for _, m := range given.FindAllStringSubmatch(line, -1) {
				d.Given[m[1]+m[2]] = true
			}
		}
	}
}

// part returns lines [from, to), counted from 0, as far as they exist.
func part(lines []string, from, to int) []string {
	from = min(max(from, 0), len(lines))
	return lines[from:min(max(to, from), len(lines))]
}

// addLines adds the names in lines [from, to), counted from 0, and those of the definitions around them.
func addLines(names map[string]bool, lines []string, from, to int) {
	for _, line := range part(lines, from, to) {
		addNamesOf(names, line)
	}
	from, to = min(max(from, 0), len(lines)), min(max(to, 0), len(lines))
	// What precedes a definition, such as a decorator, changes its meaning.
	depth := 0
	if to < len(lines) {
		depth = indent(lines[to])
		if heading.MatchString(strings.TrimSpace(lines[to])) {
			addNamesOf(names, lines[to])
		}
	}
	if from < to {
		depth = max(depth, indent(lines[from]))
	}
	for i := from - 1; i >= 0 && depth > 0; i-- {
		line := strings.TrimSpace(lines[i])
		if at := indent(lines[i]); line != "" && at < depth {
			if heading.MatchString(line) {
				addNamesOf(names, line)
			}
			depth = at
		}
	}
}

// addNamesOf adds the names in one line.
func addNamesOf(names map[string]bool, line string) {
	for _, name := range identifier.FindAllString(line, -1) {
		names[name] = true
	}
}

// indent returns the width of the leading white space of a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// concerns reports whether a finding is about what the patch did: it is on a line that the patch wrote, or its message
// or its line names what the patch changed.
func concerns(d check.Diff, f check.Finding) bool {
	// A line that could not be read, such as behind a symbolic link, may be anything.
	if wrote(d, f) || d.Names == nil || f.Source == "" {
		return true
	}
	for _, text := range quoted.FindAllString(f.Message, -1) {
		for _, name := range identifier.FindAllString(text, -1) {
			if d.Names[name] && !ordinary[name] {
				return true
			}
		}
	}
	// The effect of the patch on a name may only show where the name is used.
	return slices.ContainsFunc(identifier.FindAllString(f.Source, -1), func(name string) bool { return d.Given[name] && !ordinary[name] })
}

// ordinary are names that may occur anywhere in a patch and say nothing about what it changed.
var ordinary = map[string]bool{
	"str": true, "int": true, "bool": true, "float": true, "bytes": true, "list": true, "dict": true, "tuple": true, "set": true, "object": true,
	"None": true, "Any": true, "self": true, "type": true,
}
