package policy

import (
	"maps"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/sandbox/workspace/secret"
	"agent/verify/policy/signature"
	"agent/verify/policy/testform"
	"agent/verify/policy/unchecked"
)

// typeHolds lists annotations that now let everything through, casts that were not needed before, and handlers that
// swallow every error. New files are left to the linters, since nothing in them was stricter before.
func typeHolds(before, after []sourceFile) []Hold {
	program := func(f sourceFile) bool { return casts[f.lang] != nil && !lang.IsTest(f.path) }
	all := filter(after, program)
	after = filter(after, func(f sourceFile) bool { return !f.created })
	holds := holdsOf(WeakerType, "lets any type through where it was specific", widened(before, after))
	holds = append(holds, holdsOf(WeakerType, "says less than the stub did, so any type passes", looseStubs(before, after))...)
	swallowed, _ := surplus(each(before, swallowsIn), each(after, swallowsIn), byLine, byFile, byForm)
	swallowed = slices.DeleteFunc(swallowed, func(m mark) bool {
		f := fileAt(after, m.path)
		return f.test && testform.GuardsNew(f.lang, fileAt(before, m.path).lines, f.lines, m.line-1)
	})
	holds = append(holds, holdsOf(WeakerType, "swallows every error", swallowed)...)
	before, after = filter(before, program), filter(after, program)
	holds = append(holds, holdsOf(WeakerType, "no longer states the type of a parameter or of the result", bared(before, after))...)
	holds = append(holds, holdsOf(WeakerType, "casts away the type of what it used without a cast before", newCasts(before, after))...)
	return append(holds, uncheckedHolds(before, all)...)
}

// A slotForm describes how a language annotates types.
type slotForm struct {
	// The head of a scope; the last group that matched is its name.
	scope *lazyregexp.Regexp
	// A name, group 1, before its type.
	name *lazyregexp.Regexp
	// The text in front of the type of a result.
	result *lazyregexp.Regexp
	// The types that let everything through, and the form of a type of which only a part does.
	wide []string
	part *lazyregexp.Regexp
}

// slotForms lists the known forms.
//
// Files are read by form and not parsed, since a file that does not compile must be checked as well.
var slotForms = map[lang.Family]slotForm{
	lang.Python: {
		lazyregexp.New(`^\s*(?:async\s+)?(?:def|class)\s+(\w+)`),
		lazyregexp.New(`(?:^|[\s(,*])([A-Za-z_][\w.]*)\s*:\s*`), lazyregexp.New(`\)\s*->\s*`),
		[]string{"Any", "typing.Any", "t.Any"},
		// A container without the types of its elements holds anything.
		lazyregexp.New(`\bAny\b|(?:^|[\[|,]\s*)(?:\w+\.)?(?:dict|list|set|tuple|frozenset|Dict|List|Set|Tuple|Callable|Mapping|Container|Collection|Iterable|Iterator|Sequence)\s*(?:$|[\],|])`),
	},
	lang.Script: {
		lazyregexp.New(`(?:function|class|interface|type)\s+(\w+)|(?:const|let|var)\s+(\w+)\s*=|^\s*(?:(?:public|private|protected|static|async|readonly)\s+)*(\w+)\s*\(.*\{\s*$`),
		lazyregexp.New(`(?:^|[\s(,{.])([A-Za-z_$][\w$]*)[?!]?\s*:\s*`), lazyregexp.New(`\)\s*:\s*`),
		[]string{"any"},
		lazyregexp.New(`\bany\b`),
	},
	lang.Go: {
		lazyregexp.New(`^func\s+(?:\([^)]*\)\s*)?(\w+)|^type\s+(\w+)`),
		lazyregexp.New(`(?:^|[\s(,])([A-Za-z_]\w*)\s+`), lazyregexp.New(`^func\s.*\)\s*`),
		[]string{"any", "interface{}"},
		lazyregexp.New(`\bany\b|\binterface\{\}`),
	},
}

// goWords lists words of Go that no type follows.
var goWords = []string{"return", "case", "func", "type", "package", "import", "range", "go", "defer", "goto", "if", "for", "switch", "else", "var", "const", "struct", "map", "chan", "select"}

// widened returns the annotations that were more specific before.
//
// New and removed annotations are not compared: only a type that was there and now says less is weaker.
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
		// Several annotations of one name in one function are compared as a whole: their number is the same, and more of them are wide.
		if len(was) != len(slots) || width(slots...) <= width(was...) {
			continue
		}
		for i, s := range slots {
			if width(s) > width(was[i]) {
				list = append(list, s)
			}
		}
	}
	return list
}

// inPart is the value of codes for a slot whose type lets everything through only in part.
const inPart = "part"

// width sums up how much slots let through: two for everything, one for a part.
func width(slots ...mark) (n int) {
	for _, s := range slots {
		switch {
		case s.wide && s.codes == inPart:
			n++
		case s.wide:
			n += 2
		}
	}
	return n
}

// slotsOf adds the annotated names of a file and the results of its functions to into, by the file, the function that
// they are in or after, and the name. A mark is wide if the type, or a part of it, lets everything through.
func slotsOf(f sourceFile, into map[string][]mark) {
	form, ok := slotForms[f.lang]
	if !ok {
		return
	}
	if f.lang == lang.Script {
		for _, n := range signature.Notes(f.lines) {
			key, codes := f.path+"\x00@"+n.Under, map[bool]string{true: inPart}[n.Part]
			into[key] = append(into[key], f.mark(n.Line, "wide", codes, n.Wide || n.Part))
		}
	}
	scope, others, heads := "", signature.WideNames(f.lang, f.lines), map[int]bool{}
	// The parameters of a test helper promise nothing: what the test proves shows when it runs. Go compiles by these types.
	if f.lang != lang.Go && lang.IsTest(f.path) {
		heads = signature.Lines(f.lang, f.lines)
	}
	for i, line := range f.lines {
		// A line this long is data and annotates nothing.
		if len(line.Code) > secret.MaxLine {
			continue
		}
		if m := form.scope.FindStringSubmatch(line.Code); m != nil {
			scope = strings.Join(m[1:], "")
		}
		add := func(name string, at int) {
			typ := typeAt(line.Code[at:], f.lang)
			if typ == "" || heads[i] || f.lang == lang.Go && slices.Contains(goWords, name) {
				return
			}
			wide, codes := slices.Contains(form.wide, typ) || slices.Contains(others, typ), ""
			if !wide && form.part.MatchString(typ) {
				wide, codes = true, inPart
			}
			key := f.path + "\x00" + scope + "\x00" + name
			into[key] = append(into[key], f.mark(i, "wide", codes, wide))
		}
		for _, at := range form.name.FindAllStringSubmatchIndex(line.Code, -1) {
			// After a question mark, it is one of two values of a conditional.
			if !strings.HasSuffix(strings.TrimRight(line.Code[max(0, at[2]-8):at[2]], " "), "?") {
				add(line.Code[at[2]:at[3]], at[1])
			}
		}
		if at := form.result.FindStringIndex(line.Code); at != nil {
			add("return ", at[1])
		}
	}
}

// longestType bounds how much is read of a type, in bytes.
const longestType = 200

// typeAt returns the type that a text begins with, or "" if there is none.
//
// It counts brackets, so that a comma inside a generic type does not end the type.
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

// bared returns the Python and TypeScript functions whose heads say less than before: a parameter or the result lost
// its type. Type checkers pass over a function without types, whatever it does.
//
// Functions of one name in one class are compared as a whole, if there are as many of them as before.
func bared(before, after []sourceFile) (list []mark) {
	type key struct{ path, class, name string }
	of := func(files []sourceFile, each func(sourceFile, key, signature.Head)) {
		for _, f := range files {
			if f.lang != lang.Python && f.lang != lang.Script || strings.HasSuffix(f.path, ".pyi") { // looseStubs covers stubs
				continue
			}
			for _, h := range signature.Of(f.lang, f.lines) {
				each(f, key{f.path, h.Class, h.Name}, h)
			}
		}
	}
	was, now, at := map[key][]signature.Head{}, map[key][]signature.Head{}, map[key]mark{}
	of(before, func(_ sourceFile, k key, h signature.Head) { was[k] = append(was[k], h) })
	of(after, func(f sourceFile, k key, h signature.Head) {
		now[k], at[k] = append(now[k], h), f.mark(h.Line, "bared", "", false)
	})
	for k, heads := range now {
		if then := was[k]; len(then) == len(heads) && signature.SaysLess(then, heads) {
			list = append(list, at[k])
		}
	}
	return list
}

// casts matches the casts that switch checking off, by family, in code without the text of its literals. Removing the
// match leaves the expression that was cast.
var casts = map[lang.Family]*lazyregexp.Regexp{
	lang.Script: lazyregexp.New(`\s+as\s+(?:any\b|never\b|unknown\s+as\s+[\w.]+(?:<[^<>]*>)?(?:\[\])*)|(?:^|\B)<any>\s*`),
	lang.Python: lazyregexp.New(`\b(?:\w+\.)?cast\(\s*(?:(?:\w+\.)?Any|"")\s*,\s*`),
}

var (
	// quotedAny matches a cast to Any, quoted or not, in the text as written.
	quotedAny = lazyregexp.New(`\bcast\(\s*["']?(?:\w+\.)?Any["']?\s*,`)
	// annotated matches a declaration with a type, which a cast after it can replace.
	annotated = lazyregexp.New(`^((?:export\s+)?(?:const|let|var)\s+\w+)\s*:\s*[^=]+=`)
)

// A passage is a line of code, or several lines that a bracket holds together.
type passage struct {
	line      int // of its end, counted from 0
	code, raw string
}

// longestPassage bounds a passage, in bytes. Anything longer is read line by line.
const longestPassage = 4 << 10

// passages lists the lines of a file. After the last of several lines that a bracket holds together, it lists them as
// one passage too. The opening of a block ends a passage: the lines of the block are passages of their own.
func (f sourceFile) passages() (list []passage) {
	var all passage
	depth, held, opened := 0, 0, f.opened()
	for i, line := range f.lines {
		if len(line.Code) > secret.MaxLine {
			all, depth, held = passage{}, 0, 0
			continue
		}
		code := strings.TrimSpace(line.Code)
		// A line that closes brackets is read together with the line that opened them, since all closing lines are alike.
		if o := opened[i]; o >= 0 {
			list = append(list, passage{i, strings.TrimSpace(f.lines[o].Code) + " " + code, f.lines[o].Raw + "\n" + line.Raw})
		} else {
			list = append(list, passage{i, code, line.Raw})
		}
		all.code, all.raw, held = all.code+" "+code, all.raw+"\n"+line.Raw, held+1
		depth += strings.Count(code, "(") + strings.Count(code, "[") - strings.Count(code, ")") - strings.Count(code, "]")
		if depth > 0 && !strings.HasSuffix(code, "{") && len(all.code) < longestPassage {
			continue
		}
		if held > 1 {
			all.line = i
			list = append(list, all)
		}
		all, depth, held = passage{}, 0, 0
	}
	return list
}

// opened returns, for each line that begins with closing brackets, which line opened the last of them, and -1 for all others.
func (f sourceFile) opened() []int {
	var open []int
	at := make([]int, len(f.lines))
	for i, line := range f.lines {
		at[i] = -1
		begins := true
		for _, c := range strings.TrimSpace(line.Code[:min(len(line.Code), secret.MaxLine)]) {
			closing := strings.ContainsRune(")]}", c)
			if begins = begins && closing; strings.ContainsRune("([{", c) {
				open = append(open, i)
			} else if n := len(open); closing && n > 0 {
				if begins {
					at[i] = open[n-1]
				}
				open = open[:n-1]
			}
		}
	}
	return at
}

// newCasts returns the passages that are as before except for a cast, which may replace a type.
func newCasts(before, after []sourceFile) (list []mark) {
	// Space, parentheses and the comma of a last argument come and go with a cast.
	bare := func(path, code string) string {
		code = strings.Join(strings.Fields(code), "")
		return path + "\x00" + strings.NewReplacer(",)", "", "(", "", ")", "", ";", "").Replace(code)
	}
	untyped := func(code string) string { return annotated.ReplaceAllString(strings.TrimSpace(code), "$1 =") }
	old, typed := map[string]int{}, map[string]int{}
	count := func(files []sourceFile, n int) {
		for _, f := range files {
			for _, s := range f.passages() {
				old[bare(f.path, s.code)] += n
				if f.lang == lang.Script && annotated.MatchString(strings.TrimSpace(s.code)) {
					typed[bare(f.path, untyped(s.code))] += n
				}
			}
		}
	}
	count(before, 1)
	count(after, -1)
	for _, f := range after {
		form := casts[f.lang]
		for _, s := range f.passages() {
			if form == nil || !form.MatchString(s.code) || f.lang == lang.Python && !quotedAny.MatchString(s.raw) {
				continue
			}
			key := bare(f.path, form.ReplaceAllString(s.code, ""))
			for _, was := range []map[string]int{old, typed} {
				if was[key] > 0 {
					was[key]--
					list = append(list, f.mark(s.line, "cast", "", false))
					break
				}
			}
		}
	}
	return list
}

// uncheckedHolds lists the places where a changeset makes type checkers pass over program code, or accept anything.
func uncheckedHolds(before, after []sourceFile) (holds []Hold) {
	var files []unchecked.File
	for _, f := range after {
		files = append(files, unchecked.File{Path: f.path, Family: f.lang, Before: fileAt(before, f.path).lines, After: f.lines, Created: f.created})
	}
	marks := map[string][]mark{}
	for _, p := range unchecked.Find(files) {
		marks[p.What] = append(marks[p.What], fileAt(after, p.Path).mark(p.Line, "unchecked", "", false))
	}
	for _, what := range slices.Sorted(maps.Keys(marks)) {
		holds = append(holds, holdsOf(WeakerType, what, marks[what])...)
	}
	return holds
}

var (
	broadExcept = lazyregexp.New(`^except\s*(?:\(?\s*(?:Base)?Exception\s*\)?\s*(?:as\s+\w+)?)?\s*:\s*(.*)$`)
	suppressAll = lazyregexp.New(`\bsuppress\(\s*(?:Base)?Exception\s*\)`)
	emptyCatch  = lazyregexp.New(`\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}|\.catch\(\s*(?:\(?\w*\)?\s*=>\s*\{\s*\}|function\s*\(\w*\)\s*\{\s*\})\s*\)`)
	openCatch   = lazyregexp.New(`\bcatch\s*(?:\([^)]*\))?\s*\{$`)
)

// swallowsIn returns the handlers of a file that catch everything and do nothing.
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
