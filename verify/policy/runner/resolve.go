package runner

import (
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A naming describes how code of a language gives another name to something in the table.
type naming struct {
	// A whole module or object, and parts that are taken out of it. The groups are the module and the new name or the
	// list of parts, or else an empty group, the name or the list, and the module.
	whole, parts []*lazyregexp.Regexp
	// How a part is renamed: its name and the new one.
	part *lazyregexp.Regexp
	// An expression that stands for a module where it is used; the first group that matched is the module.
	inline *lazyregexp.Regexp
	// The text between two literals that form one.
	joined *lazyregexp.Regexp
	// The names in the table that importing all of a module brings, by module.
	all map[string]string
}

// The modules and objects that the table refers to by name.
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

// patterns returns expressions that are compiled when they are first needed.
func patterns(list ...string) (made []*lazyregexp.Regexp) {
	for _, text := range list {
		made = append(made, lazyregexp.New(text))
	}
	return made
}

// mostNamed bounds the new names of a file.
const mostNamed = 256

// quoted matches a literal that ends on its line.
var quoted = lazyregexp.New("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'")

// Resolve returns the lines of a file as the table reads them: names that stand for something in the table are replaced
// by its own name, and assembled literals are joined. Code that hides what it reaches for usually begins with these two.
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
	// In the second pass, a name for another name gets resolved too.
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

// anyOf returns an expression for any of the names on its own, nil for no names. A name after a dot means something else.
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

// renamed replaces names by what they stand for, except where they get another value and so mean something else.
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

// rootOf returns the module in a match of a naming.
func rootOf(m []string) string {
	if len(m) > 3 {
		return m[3]
	}
	return m[1]
}

// literal matches a string literal without an escape.
const literal = "(?:\"[^\"\\\\]*\"|'[^'\\\\]*'|`[^`\\\\$]*`)"

// Calls that join literals: the literals of a list, in JavaScript and in Python, and two literals.
var (
	scriptJoin = lazyregexp.New(`\[\s*(` + literal + `(?:\s*,\s*` + literal + `)*)\s*,?\s*\]\s*\.\s*join\(\s*(` + literal + `)\s*\)`)
	pythonJoin = lazyregexp.New(`(` + literal + `)\s*\.\s*join\(\s*[\[(]\s*(` + literal + `(?:\s*,\s*` + literal + `)*)\s*,?\s*[\])]\s*\)`)
	concatCall = lazyregexp.New(`["'\x60]\s*\.\s*concat\(\s*(` + literal + `)\s*\)`)
	oneLiteral = lazyregexp.New(literal)
)

// joinedBy returns the literal that results from joining the literals of a list with another one.
func joinedBy(list, by string) string {
	var parts []string
	for _, part := range oneLiteral.FindAllString(list, -1) {
		parts = append(parts, part[1:len(part)-1])
	}
	return `"` + strings.Join(parts, by[1:len(by)-1]) + `"`
}

// joinCalls replaces calls that join literals by their result.
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

// join joins the literals of a line.
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

// modulesByName matches an expression that gets all modules, or what finds them, by a literal name.
var modulesByName = lazyregexp.New(`\bgetattr\(\s*sys\s*,\s*["'](modules|meta_path|path_hooks)["'][^()]*\)`)

// inPlace replaces expressions that name a module by a literal with the module.
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

// longestLine bounds the lines that are examined, in bytes: nobody reads a longer one.
const longestLine = 4096

// bind adds the new names that a line defines to names.
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
