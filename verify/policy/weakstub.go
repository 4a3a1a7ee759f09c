package policy

import (
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/sandbox/workspace/secret"
)

// Type checkers believe a stub: what it does not say is not checked anywhere.
var (
	stubDef    = lazyregexp.New(`^\s*(?:async\s+)?def\s+(\w+)\s*\((.*)\)\s*(->)?`)
	stubScope  = lazyregexp.New(`^(\s*)(?:class|(?:async\s+)?def)\s+(\w+)`)
	stubParam  = lazyregexp.New(`^\s*(\*{0,2}\w+)\s*(:)?`)
	anyMember  = lazyregexp.New(`^\s*def\s+__getattr__\s*\(`)
	stubsOfPyi = func(f sourceFile) bool { return strings.HasSuffix(strings.ToLower(f.path), ".pyi") }
)

// looseStubs returns the lines in existing stubs that give every name any type, or by which a function takes or
// returns any type where it was specific before.
func looseStubs(before, after []sourceFile) (list []mark) {
	before, after = filter(before, stubsOfPyi), filter(after, stubsOfPyi)
	names, _ := surplus(each(before, anyMembersIn), each(after, anyMembersIn), byLine, byFile, byForm)
	old := map[string][]map[string]bool{}
	for _, f := range before {
		signaturesOf(f, func(key string, _ int, typed map[string]bool) { old[key] = append(old[key], typed) })
	}
	for _, f := range after {
		seen := map[string]int{}
		signaturesOf(f, func(key string, line int, typed map[string]bool) {
			// Overloads are compared one by one.
			n := seen[key]
			if seen[key]++; n >= len(old[key]) {
				return
			}
			if looser(old[key][n], typed) {
				list = append(list, f.mark(line, "loose", "", false))
			}
		})
	}
	return append(names, list...)
}

// looser reports whether a part of a signature lost its type, or was replaced by untyped *args or **kwargs.
func looser(was, is map[string]bool) bool {
	gone := false
	for name, typed := range was {
		now, there := is[name]
		gone = gone || !there
		if typed && there && !now {
			return true
		}
	}
	for _, name := range []string{"*args", "**kwargs"} {
		_, before := was[name]
		if typed, there := is[name]; gone && !before && there && !typed {
			return true
		}
	}
	return false
}

// anyMembersIn returns the functions of a stub that give it every possible name.
func anyMembersIn(f sourceFile) (list []mark) {
	for i, line := range f.lines {
		if anyMember.MatchString(line.Code) {
			list = append(list, f.mark(i, "any member", "", false))
		}
	}
	return list
}

// signaturesOf calls give for each function of a stub that is on one line. key is the file, the enclosing scope and
// the name; typed says which parameters have a type, and whether the result has one.
func signaturesOf(f sourceFile, give func(key string, line int, typed map[string]bool)) {
	scope := ""
	for i, line := range f.lines {
		if len(line.Code) > secret.MaxLine {
			continue
		}
		if m := stubScope.FindStringSubmatch(line.Code); m != nil && m[1] == "" {
			scope = m[2]
		}
		m := stubDef.FindStringSubmatch(line.Code)
		if m == nil {
			continue
		}
		typed := map[string]bool{"return": m[3] != ""}
		for _, part := range commas(m[2]) {
			if p := stubParam.FindStringSubmatch(part); p != nil {
				typed[p[1]] = p[2] != ""
			}
		}
		give(f.path+"\x00"+scope+"\x00"+m[1], i, typed)
	}
}

// commas splits a text at the commas that are not inside brackets.
func commas(text string) (parts []string) {
	depth, from := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				parts, from = append(parts, text[from:i]), i+1
			}
		}
	}
	return append(parts, text[from:])
}
