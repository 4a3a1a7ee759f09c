package unchecked

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/signature"
)

var (
	// ofLanguage matches the head of a declaration, group 1 its name, that adds to what the language defines.
	ofLanguage = lazyregexp.New(`\binterface\s+(Object|Function|CallableFunction|NewableFunction|Boolean|String|Number|Symbol|BigInt|Array|ReadonlyArray|Promise|PromiseLike|Date|RegExp|Error|Map|Set|WeakMap|WeakSet)\b[^{]*(\{.*)?$`)
	// member matches a member of an interface, group 1 its name.
	member = lazyregexp.New(`(?:^|[{;,]\s*)(?:readonly\s+)?(?:(?:get|set)\s+)?(\w+|\[)\s*\??\s*[(:<\w]`)
	// outside matches a statement that makes a file a module, whose declarations are its own.
	outside = lazyregexp.New(`^(?:import|export)\b`)
	// everywhere matches a declaration for all files in a file that is a module.
	everywhere = lazyregexp.New(`^(?:export\s+)?declare\s+global\b`)
	// given matches code by which a program adds to what the language defines.
	given = lazyregexp.New(`\.\s*prototype\b|\bsetPrototypeOf\b`)
)

// standard lists the members that later versions of the language have and of which a program declares those that it needs.
var standard = strings.Fields(`at flat flatMap find findIndex findLast findLastIndex toSorted toReversed toSpliced with includes copyWithin fill entries keys values padStart padEnd
	matchAll replaceAll trimStart trimEnd trimLeft trimRight isWellFormed toWellFormed startsWith endsWith repeat normalize codePointAt finally description cause stack
	groupBy hasOwn union intersection difference symmetricDifference isSubsetOf isSupersetOf isDisjointFrom escape toTemporalInstant captureStackTrace getOrInsert emplace group groupToMap`)

// mostMembers bounds the lines of an interface.
const mostMembers = 200

// augments returns the new members that a file declares for values of the language if no file of the changeset gives
// them any. Members of Object, which every object has, always count, since there is no good reason to declare one.
func augments(f File, files []File) (at []int) {
	was := known(f.Before)
	module := slices.ContainsFunc(f.After, func(l lang.Line) bool { return outside.MatchString(l.Code) })
	gives := slices.ContainsFunc(files, func(o File) bool {
		return slices.ContainsFunc(o.After, func(l lang.Line) bool { return given.MatchString(l.Code) })
	})
	global, open := -1, 0
	for i, line := range f.After {
		said := code(line)
		if everywhere.MatchString(said) && global < 0 {
			global = open
		}
		m := ofLanguage.FindStringSubmatch(said)
		if m != nil && (!module || global >= 0) && (m[1] == "Object" || !gives) {
			for k, text := range membersOf(f.After, i) {
				adds := func(part string) bool {
					own := member.FindStringSubmatch(strings.TrimSpace(part))
					return own != nil && (m[1] == "Object" || !slices.Contains(standard, own[1]))
				}
				if !was[code(f.After[k])] && slices.ContainsFunc(strings.Split(text, ";"), adds) {
					at = append(at, k)
					break
				}
			}
		}
		open += strings.Count(said, "{") - strings.Count(said, "}")
		if global >= 0 && open <= global && strings.Contains(said, "}") {
			global = -1
		}
	}
	return at
}

// membersOf yields the lines of an interface, each with the text on it that is within the braces.
func membersOf(lines []lang.Line, i int) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		open := 0
		for k := i; k < min(len(lines), i+mostMembers); k++ {
			said := code(lines[k])
			text := said
			if open == 0 {
				_, text, _ = strings.Cut(said, "{")
			}
			if text != "" && !yield(k, text) {
				return
			}
			if open += strings.Count(said, "{") - strings.Count(said, "}"); open <= 0 && strings.ContainsAny(said, "{}") {
				return
			}
		}
	}
}

// everyModule matches a declaration of modules by a pattern that fits modules of a program.
var everyModule = lazyregexp.New(`\bdeclare\s+module\s+["'](?:[./@~*]+|[^"']*\*[^"']*\.(?:[cm]?[jt]s|[jt]sx))["']`)

// anyModule returns the new lines that declare modules of any name.
func anyModule(f File) (at []int) {
	was := known(f.Before)
	for i, line := range f.After {
		if strings.Contains(line.Code, "module") && everyModule.MatchString(line.Raw) && !was[code(line)] {
			at = append(at, i)
		}
	}
	return at
}

var (
	// typeHead matches the head of a type with members, group 1 its name, and anyRecord a head that extends a record of any type.
	typeHead  = lazyregexp.New(`\b(?:interface|class|type)\s+([\w$]+)`)
	anyRecord = lazyregexp.New(`\bextends\b.*\bRecord<\s*\w+\s*,\s*any\s*>`)
	// anyIndex matches a member for any name, group 1 its type.
	anyIndex = lazyregexp.New(`(?:^|[{;,]\s*)(?:(?:readonly|static|declare|public)\s+)*\[\s*\w+\s*:\s*[^\]]+\]\s*\??\s*:\s*(\w+)`)
)

// anyMember returns the new lines that give an existing interface, class or type members of any name and any type.
func anyMember(f File) (at []int) {
	had := map[string]bool{}
	for _, line := range f.Before {
		for _, m := range typeHead.FindAllStringSubmatch(code(line), mostNear) {
			had[m[1]] = true
		}
	}
	was, wide := known(f.Before), append(signature.WideNames(lang.Script, f.After), "any")
	var open []string // the lines that opened the open braces
	for i, line := range f.After {
		said := code(line)
		if m := anyIndex.FindStringSubmatchIndex(said); m != nil && !was[said] && slices.Contains(wide, said[m[2]:m[3]]) {
			in := said[:m[0]+1]
			if n := len(open); !strings.Contains(in, "{") && n > 0 {
				in = open[n-1]
			}
			if t := typeHead.FindStringSubmatch(in); t != nil && had[t[1]] {
				at = append(at, i)
			}
		}
		if t := typeHead.FindStringSubmatch(said); t != nil && had[t[1]] && !was[said] && anyRecord.MatchString(said) && !recorded(f.Before, t[1]) {
			at = append(at, i)
		}
		for _, c := range said {
			if n := len(open); c == '{' {
				open = append(open, said)
			} else if c == '}' && n > 0 {
				open = open[:n-1]
			}
		}
	}
	return at
}

// recorded reports whether a type of that name already had members of any name.
func recorded(lines []lang.Line, name string) bool {
	return slices.ContainsFunc(lines, func(l lang.Line) bool {
		m := typeHead.FindStringSubmatch(code(l))
		return m != nil && m[1] == name && anyRecord.MatchString(code(l))
	})
}
