package runner

import (
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A naming is how code of a language gives what the table speaks of another name.
type naming struct {
	// A module or an object as a whole, and parts that are taken out of it. The groups are the module and the new name, or
	// the list of the parts; or nothing, the name or the list, and the module.
	whole, parts []*lazyregexp.Regexp
	// How one of the parts is renamed: its name and the new one.
	part *lazyregexp.Regexp
	// An expression for a module where it is used; its first group that matched is the module.
	inline *lazyregexp.Regexp
	// Two literals that are one: what stands between them.
	joined *lazyregexp.Regexp
	// What all of a module, taken at once, brings of what the table speaks of.
	all map[string]string
}

// What the table speaks of by the name of a module or an object.
const (
	pythonRoots = `(os|sys|gc|inspect|builtins|signal|threading|ctypes|types|marshal)`
	scriptRoots = `(process|assert|module|vm)`
	scriptThing = `(process|assert|globalThis|global|Object|Array|Function|Promise|Error|JSON|Math|Reflect)`
)

var namings = map[lang.Family]naming{
	lang.Python: {
		whole: patterns(`\bimport\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*`+pythonRoots+`\s+as\s+(\w+)`, `^\s*(?:\w+\s*=\s*)*()(\w+)\s*=\s*`+pythonRoots+`\s*(?:;|$)`,
			// All modules under another name, or a copy of them.
			`()\b((?:\w+\.)*\w+)\s*(?::\s*[\w.]+(?:\[[^=]*\])?\s*)?:?=\s*(?:(?:dict|list|set|frozenset|tuple|sorted|copy\.copy|MappingProxyType)\(\s*|\{\s*\*\*\s*)?(?:\w+\s*\.\s*)*(sys\s*\.\s*modules)\s*(?:[;,)}\]]|\b(?:or|if|and)\b|$)`),
		parts: patterns(`^\s*from\s+` + pythonRoots + `\s+import\s+\(?([\w\s,*]+)`),
		part:  lazyregexp.New(`^(\w+|\*)(?:\s+as\s+(\w+))?$`),
		inline: lazyregexp.New(`\b__import__\(\s*["']` + pythonRoots + `["'][^()]*\)|\b(?:importlib\s*\.\s*)?import_module\(\s*["']` + pythonRoots + `["'][^()]*\)|` +
			`\bsys\s*\.\s*modules\s*\[\s*["']` + pythonRoots + `["']\s*\]|\bsys\s*\.\s*modules\s*\.\s*get\(\s*["']` + pythonRoots + `["']\s*\)`),
		joined: lazyregexp.New(`(?:""|''|["']\s*\+?\s*[rbfuRBFU]?["'])`),
		all: map[string]string{
			"os": "_exit abort execl execle execlp execlpe execv execve execvp execvpe kill killpg getpid getppid dup2 closerange", "signal": "raise_signal pthread_kill",
			"sys": "_getframe _current_frames settrace setprofile addaudithook monitoring modules meta_path path_hooks", "inspect": "stack currentframe getouterframes", "gc": "get_objects get_referrers get_referents callbacks",
		},
	},
	lang.Script: {
		whole: patterns(`\bimport\s+(?:\*\s*as\s+)?()([\w$]+)\s+from\s*["'](?:node:)?`+scriptRoots+`(?:/strict)?["']`,
			`\b(?:const|let|var)\s+()([\w$]+)\s*=\s*(?:await\s+import|require)\(\s*["'](?:node:)?`+scriptRoots+`(?:/strict)?["']\s*\)`,
			`\b(?:const|let|var)\s+()([\w$]+)\s*=\s*(?:globalThis\s*\.\s*)?`+scriptThing+`\s*(?:;|,|$)`),
		parts: patterns(`\b(?:const|let|var)\s*()\{([^{}]*)\}\s*=\s*(?:globalThis\s*\.\s*)?`+scriptThing+`\b`,
			`\b(?:const|let|var)\s*()\{([^{}]*)\}\s*=\s*(?:await\s+import|require)\(\s*["'](?:node:)?`+scriptRoots+`(?:/strict)?["']`, `\bimport\s*()\{([^{}]*)\}\s*from\s*["'](?:node:)?`+scriptRoots+`(?:/strict)?["']`),
		part:   lazyregexp.New(`^([\w$]+)(?:\s*(?::|\bas\b)\s*([\w$]+))?$`),
		inline: lazyregexp.New(`\brequire\(\s*["'](?:node:)?` + scriptRoots + `(?:/strict)?["']\s*\)`),
		joined: lazyregexp.New("[\"'`]\\s*\\+\\s*[\"'`]"),
	},
	lang.Go: {
		whole:  patterns(`^\s*(?:import\s+)?()([\pL_][\pL\pN_]*)\s+"(?:[\w./]*/)?(os|syscall|testing|runtime|unix|flag|debug)"`),
		parts:  patterns(`^\s*(?:import\s+)?()(\.)\s+"(?:[\w./]*/)?(os|syscall|testing|runtime|unix|flag|debug)"`),
		part:   lazyregexp.New(`^(\.)()$`),
		joined: lazyregexp.New("[\"`]\\s*\\+\\s*[\"`]"),
		all: map[string]string{
			"os": "Stdout Stderr Args Getppid NewFile", "syscall": "Exit Exec Kill Mprotect Getppid Dup2 Dup3 Syscall RawSyscall", "unix": "Exec Kill Mprotect Getppid Dup2 Dup3 Syscall RawSyscall",
			"testing": "Testing CoverMode Main MainStart RunTests Init", "runtime": "FuncForPC Caller Callers CallersFrames", "flag": "Lookup Set VisitAll",
		},
	},
}

// patterns compiles expressions when they are needed.
func patterns(list ...string) (made []*lazyregexp.Regexp) {
	for _, text := range list {
		made = append(made, lazyregexp.New(text))
	}
	return made
}

// mostNamed bounds the new names of a file.
const mostNamed = 256

// quoted is a literal that ends on its line.
var quoted = lazyregexp.New("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'")

// Resolve returns lines of a file as the table reads them: what has another name there under its own, and literals that are
// put together as one. Whoever hides what code reaches for begins with these two.
func Resolve(family lang.Family, lines []lang.Line) []lang.Line {
	n, known := namings[family]
	if !known {
		return lines
	}
	plain, names := slices.Clone(lines), map[string]string{}
	for i := range plain {
		if line := &plain[i]; !line.Inside && len(line.Raw) <= longestLine {
			n.join(line)
		}
	}
	// The second time through, what has another name gets one more.
	for range 2 {
		used := anyOf(names)
		for _, named := range plain {
			if named.Inside || len(named.Raw) > longestLine {
				continue
			}
			if used != nil {
				named.Raw, named.Code = renamed(named.Raw, used, names), renamed(named.Code, used, names)
			}
			n.inPlace(&named)
			n.bind(withoutNotes(named), names)
		}
	}
	used, given, held := anyOf(names), map[int][]string{}, continues(family, plain)
	for i := range plain {
		if !held[i] {
			given[i] = targets(family, plain, i)
		}
	}
	for i := range plain {
		line := &plain[i]
		if used != nil && len(line.Raw) <= longestLine {
			line.Raw, line.Code = renamed(line.Raw, used, names), renamed(line.Code, used, names)
		}
		if !line.Inside && len(line.Raw) <= longestLine {
			n.inPlace(line)
		}
	}
	for i, list := range given {
		for _, target := range list {
			if used != nil {
				target = renamed(target, used, names)
			}
			plain[i].Code += "; " + target + " = x"
		}
	}
	return plain
}

// anyOf matches any of some names by itself; nil for none. What stands behind a dot is the name of something else.
func anyOf(names map[string]string) *regexp.Regexp {
	var words []string
	for name := range names {
		words = append(words, regexp.QuoteMeta(name))
	}
	if len(words) == 0 {
		return nil
	}
	slices.Sort(words)
	return regexp.MustCompile(`(^|[^.\w$])(` + strings.Join(words, "|") + `)\b`)
}

// renamed puts what names stand for in their place, but where they get another value: that is something else then.
func renamed(text string, used *regexp.Regexp, names map[string]string) string {
	var b strings.Builder
	at := 0
	for _, m := range used.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[4]:m[5]]
		if rest := strings.TrimLeft(text[m[5]:], " \t"); strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") {
			continue
		}
		b.WriteString(text[at:m[4]])
		b.WriteString(names[name])
		at = m[5]
	}
	b.WriteString(text[at:])
	return b.String()
}

// rootOf is the module of a match of a naming.
func rootOf(m []string) string {
	if len(m) > 3 {
		return m[3]
	}
	return m[1]
}

// literal is one without an escape in it.
const literal = "(?:\"[^\"\\\\]*\"|'[^'\\\\]*'|`[^`\\\\$]*`)"

// Calls that put literals together: of a list, in JavaScript and in Python, and of two.
var (
	scriptJoin = lazyregexp.New(`\[\s*(` + literal + `(?:\s*,\s*` + literal + `)*)\s*,?\s*\]\s*\.\s*join\(\s*(` + literal + `)\s*\)`)
	pythonJoin = lazyregexp.New(`(` + literal + `)\s*\.\s*join\(\s*[\[(]\s*(` + literal + `(?:\s*,\s*` + literal + `)*)\s*,?\s*[\])]\s*\)`)
	concatCall = lazyregexp.New(`["'\x60]\s*\.\s*concat\(\s*(` + literal + `)\s*\)`)
	oneLiteral = lazyregexp.New(literal)
)

// joinedBy is the literal that joins those of a list by another one.
func joinedBy(list, by string) string {
	var parts []string
	for _, part := range oneLiteral.FindAllString(list, -1) {
		parts = append(parts, part[1:len(part)-1])
	}
	return `"` + strings.Join(parts, by[1:len(by)-1]) + `"`
}

// joinCalls puts together what calls do.
func joinCalls(text string) string {
	if strings.Contains(text, "join") {
		text = scriptJoin.ReplaceAllStringFunc(text, func(call string) string {
			m := scriptJoin.FindStringSubmatch(call)
			return joinedBy(m[1], m[2])
		})
		text = pythonJoin.ReplaceAllStringFunc(text, func(call string) string {
			m := pythonJoin.FindStringSubmatch(call)
			return joinedBy(m[2], m[1])
		})
	}
	if strings.Contains(text, "concat") {
		text = concatCall.ReplaceAllStringFunc(text, func(call string) string {
			part := concatCall.FindStringSubmatch(call)[1]
			return part[1:len(part)-1] + call[:1] // the quote of the first, whose end this takes
		})
	}
	return text
}

// join puts the literals of a line together.
func (n naming) join(line *lang.Line) {
	if strings.ContainsAny(line.Raw, "\"'`") {
		line.Raw = joinCalls(line.Raw)
		line.Raw = n.joined.ReplaceAllStringFunc(line.Raw, func(between string) string {
			if between == `""` || between == "''" {
				return between // an empty one, or the mark of a long one
			}
			return ""
		})
	}
}

// modulesByName matches an expression for all modules, and for what finds them, by a literal.
var modulesByName = lazyregexp.New(`\bgetattr\(\s*sys\s*,\s*["'](modules|meta_path|path_hooks)["'][^()]*\)`)

// inPlace puts a module in the place of what names it by a literal.
func (n naming) inPlace(line *lang.Line) {
	if n.inline == nil || !strings.ContainsAny(line.Raw, `"'`) {
		return
	}
	raw := n.inline.ReplaceAllString(modulesByName.ReplaceAllString(line.Raw, "sys.$1"), "$1$2$3$4")
	if raw != line.Raw {
		line.Raw = raw
		line.Code = quoted.ReplaceAllString(withoutNotes(*line), `""`)
	}
}

// longestLine bounds in bytes the lines that are looked into: nobody reads a longer one.
const longestLine = 4096

// bind takes in the new names that a line gives.
func (n naming) bind(text string, names map[string]string) {
	give := func(as, what string) {
		if as != "" && as != what && len(names) < mostNamed {
			names[as] = what
		}
	}
	for _, form := range n.whole {
		for _, m := range form.FindAllStringSubmatch(text, mostImports) {
			give(m[2], rootOf(m))
		}
	}
	for _, form := range n.parts {
		for _, m := range form.FindAllStringSubmatch(text, mostImports) {
			root := rootOf(m)
			for one := range strings.SplitSeq(m[2], ",") {
				p := n.part.FindStringSubmatch(strings.TrimSpace(one))
				switch {
				case p == nil:
				case p[1] == "*" || p[1] == ".":
					for _, name := range strings.Fields(n.all[root]) {
						give(name, root+"."+name)
					}
				case p[2] != "":
					give(p[2], root+"."+p[1])
				default:
					give(p[1], root+"."+p[1])
				}
			}
		}
	}
}
