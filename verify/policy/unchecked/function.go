package unchecked

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/signature"
)

var (
	// giving matches a result that is given, group 1, and byDefault results that an object without the function gives too.
	giving    = lazyregexp.New(`(?:^|[:;]\s*)(?:return|yield)\b\s*(.*?)\s*;?$`)
	byDefault = lazyregexp.New(`^(?:None|\.\.\.|NotImplemented|(?:object|super\([^()]*\))\s*\.\s*__getattr(?:ibute)?__\([^()]*\)|getattr\(\s*super\([^()]*\)\s*,[^()]*\))?$`)
	// missing matches a statement that says that an attribute does not exist, as is the case without the function.
	missing = lazyregexp.New(`\braise\s+(?:\w+\.)*AttributeError\b`)
	// result matches what a head says about the result, group 1, quoted or not.
	result = lazyregexp.New(`->\s*["']?\s*([\w.]+)\s*["']?\s*:`)
	// declared matches the declaration of an attribute that gives all others.
	declared = lazyregexp.New(`^__getattr(?:ibute)?__\s*:`)
)

// A head is the head of a function, with what it says about its result and the names of its decorators.
type head struct {
	signature.Head
	typed, wide bool
	decorators  []string
}

// key returns what heads are compared by.
func (h head) key() [2]string { return [2]string{h.Class, h.Name} }

// decorator matches a decorator; group 1 is its name without its module.
var decorator = lazyregexp.New(`^@(?:\w+\s*\.\s*)*(\w+)`)

// headsOf lists the heads in a Python text.
func headsOf(lines []lang.Line) (list []head) {
	names := append(signature.WideNames(lang.Python, lines), "Any")
	for _, s := range signature.Of(lang.Python, lines) {
		h, text := head{Head: s}, ""
		for i := s.Line; i <= s.Last; i++ {
			text += " " + lines[i].Raw
		}
		h.typed = strings.Contains(text, "->")
		if m := result.FindStringSubmatch(text); m != nil {
			parts := strings.Split(m[1], ".")
			h.wide = slices.Contains(names, parts[len(parts)-1])
		}
		open := 0 // brackets of a decorator on several lines
		for i := s.Line - 1; i >= max(0, s.Line-mostNear) && open >= 0; i-- {
			said := code(lines[i])
			open += strings.Count(said, ")") + strings.Count(said, "]") - strings.Count(said, "(") - strings.Count(said, "[")
			if m := decorator.FindStringSubmatch(said); m != nil && open == 0 {
				h.decorators = append(h.decorators, m[1])
			} else if said != "" && open <= 0 {
				break
			}
		}
		list = append(list, h)
	}
	return list
}

// anyAttribute returns the lines that make type checkers believe that an existing class or module has any attribute, although
// it has none at run time: a function that is declared to give any and gives none. If the class is new, the function is listed
// only if it raises the error of an object without it: a stand-in for something that is not installed raises another one.
func anyAttribute(f File) (at []int) {
	had, classes, was := map[[2]string]bool{}, map[string]bool{"": true}, known(f.Before)
	for _, h := range headsOf(f.Before) {
		had[h.key()], classes[h.Class] = true, true
	}
	for _, h := range headsOf(f.After) {
		if !h.wide || h.Name != "__getattr__" && h.Name != "__getattribute__" || had[h.key()] {
			continue
		}
		body := inside(f.After[h.Last:], 0)
		if _, rest, _ := strings.Cut(code(f.After[h.Last]), "->"); len(body) == 0 {
			_, rest, _ = strings.Cut(rest, ":")
			body = []string{rest}
		}
		gives := slices.ContainsFunc(body, func(said string) bool {
			m := giving.FindStringSubmatch(said)
			return m != nil && !byDefault.MatchString(m[1])
		})
		// A __getattribute__, which is called for every attribute, has a reason to exist if it does more than look the attribute up.
		does := h.Name == "__getattribute__" && len(body) > 1
		if !gives && !does && (classes[h.Class] || slices.ContainsFunc(body, missing.MatchString)) {
			at = append(at, h.Line)
		}
	}
	for i, line := range f.After {
		if said := code(line); declared.MatchString(said) && !was[said] {
			at = append(at, i)
		}
	}
	return at
}

// definitions lists the functions that the files of a changeset add, by their names, with what they say about their result.
func definitions(files []File) map[string]head {
	defs := map[string]head{}
	for _, f := range files {
		if f.Family != lang.Python {
			continue
		}
		had, was := map[[2]string]bool{}, known(f.Before)
		for _, h := range headsOf(f.Before) {
			had[h.key()] = true
		}
		for _, h := range headsOf(f.After) {
			if !had[h.key()] {
				defs[h.Name] = h
			}
		}
		for _, line := range f.After {
			if m := anyName.FindStringSubmatch(code(line)); m != nil && !was[code(line)] {
				defs[m[1]] = head{typed: true, wide: true}
			}
		}
	}
	return defs
}

// anyName matches a name, group 1, that is declared to have any type.
var anyName = lazyregexp.New(`^(\w+)\s*:\s*(?:\w+\.)?Any\s*=`)

// undecorated returns the existing functions with types to which the changeset adds a decorator of its own whose result is declared to be
// any. A decorator that says nothing about its result is listed only in a file where every function does say it: elsewhere that is usual.
func undecorated(f File, defs map[string]head) (at []int) {
	was, strict := map[[2]string][]head{}, true
	heads := headsOf(f.Before)
	for _, h := range heads {
		was[h.key()], strict = append(was[h.key()], h), strict && h.typed
	}
	for _, h := range headsOf(f.After) {
		then := was[h.key()]
		if len(then) != 1 || !then[0].typed || !h.typed {
			continue
		}
		for _, name := range h.decorators {
			if def, fresh := defs[name]; fresh && !slices.Contains(then[0].decorators, name) && (def.wide || !def.typed && strict && len(heads) > 1) {
				at = append(at, h.Line)
				break
			}
		}
	}
	return at
}
