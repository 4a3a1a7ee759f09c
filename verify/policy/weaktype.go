package policy

import (
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/secret"
)

// typeHolds lists annotations that now let everything through, casts that
// were not needed before, and handlers that swallow every error. New files are
// left to the linters: nothing in them was stricter before.
func typeHolds(before, after []sourceFile) []Hold {
	after = filter(after, func(f sourceFile) bool { return !f.created })
	holds := holdsOf(WeakerType, "lets any type through where it was specific", widened(before, after))
	holds = append(holds, holdsOf(WeakerType, "says less than the stub did, so any type passes", looseStubs(before, after))...)
	casts := func(f sourceFile) bool { return f.lang == lang.Script && !lang.IsTest(f.path) }
	holds = append(holds, holdsOf(WeakerType, "casts away the type of what it used as it was", newCasts(filter(before, casts), filter(after, casts)))...)
	swallowed, _ := surplus(each(before, swallowsIn), each(after, swallowsIn), byLine, byFile, byForm)
	return append(holds, holdsOf(WeakerType, "swallows every error", swallowed)...)
}

// A slotForm is how a language annotates.
type slotForm struct {
	// What opens a scope; the last group that matched is its name.
	scope *regexp.Regexp
	// A name, group 1, before its type.
	name *regexp.Regexp
	// What is returned: the text before its type.
	result *regexp.Regexp
	// The types that let everything through.
	wide []string
}

// slotForms are those that are known.
//
// They are read by form and not parsed: a file that does not compile has to be
// looked at as well.
var slotForms = map[lang.Family]slotForm{
	lang.Python: {
		regexp.MustCompile(`^\s*(?:async\s+)?(?:def|class)\s+(\w+)`),
		regexp.MustCompile(`(?:^|[\s(,*])([A-Za-z_][\w.]*)\s*:\s*`), regexp.MustCompile(`\)\s*->\s*`),
		[]string{"Any", "typing.Any", "t.Any"},
	},
	lang.Script: {
		regexp.MustCompile(`(?:function|class|interface|type)\s+(\w+)|(?:const|let|var)\s+(\w+)\s*=|^\s*(?:(?:public|private|protected|static|async|readonly)\s+)*(\w+)\s*\(.*\{\s*$`),
		regexp.MustCompile(`(?:^|[\s(,{.])([A-Za-z_$][\w$]*)[?!]?\s*:\s*`), regexp.MustCompile(`\)\s*:\s*`),
		[]string{"any"},
	},
	lang.Go: {
		regexp.MustCompile(`^func\s+(?:\([^)]*\)\s*)?(\w+)|^type\s+(\w+)`),
		regexp.MustCompile(`(?:^|[\s(,])([A-Za-z_]\w*)\s+`), regexp.MustCompile(`^func\s.*\)\s*`),
		[]string{"any", "interface{}"},
	},
}

// goWords are words of Go that no type follows.
var goWords = []string{"return", "case", "func", "type", "package", "import", "range", "go", "defer", "goto", "if", "for", "switch", "else", "var", "const", "struct", "map", "chan", "select"}

// widened returns the annotations that were specific before.
//
// What is annotated for the first time, or no longer, is not compared: only a
// type that was there and now says less is weaker.
func widened(before, after []sourceFile) (list []mark) {
	old, now := map[string][]mark{}, map[string][]mark{}
	for _, f := range before {
		slotsOf(f, old)
	}
	for _, f := range after {
		slotsOf(f, now)
	}
	for key, slots := range now {
		was := old[key]
		// Several of one name in one function are compared as a whole: the
		// same number, more of them wide.
		if len(was) != len(slots) || countWide(slots) <= countWide(was) {
			continue
		}
		for i, s := range slots {
			if s.wide && !was[i].wide {
				list = append(list, s)
			}
		}
	}
	return list
}

// countWide counts the slots that let everything through.
func countWide(slots []mark) (n int) {
	for _, s := range slots {
		if s.wide {
			n++
		}
	}
	return n
}

// slotsOf adds the annotated names of a file, and what its functions return,
// under the file, the function that they stand in or after, and the name. A
// mark is wide when the type lets everything through.
func slotsOf(f sourceFile, into map[string][]mark) {
	form, ok := slotForms[f.lang]
	if !ok {
		return
	}
	scope := ""
	for i, line := range f.lines {
		// A line of data annotates nothing.
		if len(line.Code) > secret.MaxLine {
			continue
		}
		if m := form.scope.FindStringSubmatch(line.Code); m != nil {
			scope = strings.Join(m[1:], "")
		}
		add := func(name string, at int) {
			typ := typeAt(line.Code[at:], f.lang)
			if typ == "" || f.lang == lang.Go && slices.Contains(goWords, name) {
				return
			}
			wide := slices.Contains(form.wide, typ)
			key := f.path + "\x00" + scope + "\x00" + name
			into[key] = append(into[key], f.mark(i, "wide", "", wide))
		}
		for _, at := range form.name.FindAllStringSubmatchIndex(line.Code, -1) {
			// After a question mark it is the one of two values.
			if !strings.HasSuffix(strings.TrimRight(line.Code[max(0, at[2]-8):at[2]], " "), "?") {
				add(line.Code[at[2]:at[3]], at[1])
			}
		}
		if at := form.result.FindStringIndex(line.Code); at != nil {
			add("return ", at[1])
		}
	}
}

// longestType bounds what is read of a type, in bytes.
const longestType = 200

// typeAt returns the type that a text begins with, "" for none.
//
// Brackets are counted, so that a comma within a generic type does not end it.
func typeAt(text string, family lang.Family) string {
	ends := ",)=;"
	if family == lang.Go {
		ends = ",)=; \t`"
	}
	depth := 0
	for i, c := range text[:min(len(text), longestType)] {
		switch {
		case depth == 0 && (strings.ContainsRune(ends, c) || c == ':' || c == '{' && !strings.HasPrefix(text[i:], "{}")):
			return strings.TrimSpace(text[:i])
		case strings.ContainsRune("([{<", c):
			depth++
		case strings.ContainsRune(")]}>", c):
			depth--
		}
	}
	return strings.TrimSpace(text)
}

// cast is a cast that switches checking off.
var cast = regexp.MustCompile(`\s+as\s+(?:any\b|unknown\s+as\s+[\w.]+(?:<[^<>]*>)?(?:\[\])*)`)

// newCasts returns the lines that are as before but for a cast.
func newCasts(before, after []sourceFile) (list []mark) {
	// Parentheses come and go with a cast.
	bare := func(path, code string) string {
		return path + "\x00" + strings.NewReplacer("(", "", ")", "").Replace(strings.TrimSpace(code))
	}
	old := map[string]int{}
	for _, f := range before {
		for _, line := range f.lines {
			old[bare(f.path, line.Code)]++
		}
	}
	for _, f := range after {
		for _, line := range f.lines {
			old[bare(f.path, line.Code)]--
		}
	}
	for _, f := range after {
		for i, line := range f.lines {
			if !strings.Contains(line.Code, " as ") || !cast.MatchString(line.Code) {
				continue
			}
			key := bare(f.path, cast.ReplaceAllString(line.Code, ""))
			if old[key] > 0 {
				old[key]--
				list = append(list, f.mark(i, "cast", "", false))
			}
		}
	}
	return list
}

var (
	broadExcept = regexp.MustCompile(`^except\s*(?:\(?\s*(?:Base)?Exception\s*\)?\s*(?:as\s+\w+)?)?\s*:\s*(.*)$`)
	suppressAll = regexp.MustCompile(`\bsuppress\(\s*(?:Base)?Exception\s*\)`)
	emptyCatch  = regexp.MustCompile(`\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}|\.catch\(\s*(?:\(?\w*\)?\s*=>\s*\{\s*\}|function\s*\(\w*\)\s*\{\s*\})\s*\)`)
	openCatch   = regexp.MustCompile(`\bcatch\s*(?:\([^)]*\))?\s*\{$`)
)

// swallowsIn returns the handlers of a file that catch everything and do
// nothing.
func swallowsIn(f sourceFile) (list []mark) {
	for i, line := range f.lines {
		code := strings.TrimSpace(line.Code)
		found := false
		switch f.lang {
		case lang.Python:
			found = suppressAll.MatchString(code)
			if m := broadExcept.FindStringSubmatch(code); m != nil {
				body := m[1]
				if body == "" {
					body = f.codeAfter(i)
				}
				found = body == "pass" || body == "..."
			}
		case lang.Script:
			found = emptyCatch.MatchString(code) || openCatch.MatchString(code) && strings.HasPrefix(f.codeAfter(i), "}")
		}
		if found {
			list = append(list, f.mark(i, "swallow", "", false))
		}
	}
	return list
}
