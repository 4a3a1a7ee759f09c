package runner

import (
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// standard lists the modules of Python's standard library from whose functions programs and assertions get their
// answers. sys, os and builtins have rows of their own.
var standard = strings.Fields(`abc argparse array ast asyncio base64 bisect calendar codecs collections contextlib copy csv dataclasses
	datetime decimal difflib dis enum errno fnmatch fractions functools glob gzip hashlib heapq hmac html http importlib inspect io ipaddress
	itertools json linecache locale logging math mimetypes multiprocessing numbers operator pathlib pickle platform pprint queue random re
	reprlib secrets select shlex shutil signal socket sqlite3 ssl statistics string struct subprocess tempfile textwrap threading time
	timeit token tokenize traceback types typing unicodedata unittest urllib uuid warnings weakref xml zipfile zlib zoneinfo`)

// builtin matches the modules of Node.js itself, except for process, whose settings are meant to be set.
var builtin = lazyregexp.New(`^(?:node:(?:[a-oq-z]\w*|p[a-qs-z]\w*)(?:/\w+)?|assert(?:/strict)?|async_hooks|buffer|child_process|crypto|fs(?:/promises)?|module|os|path|perf_hooks|stream|timers|url|util|v8|vm|worker_threads|zlib)$`)

var (
	pythonImport = lazyregexp.New(`^\s*import\s+(.+)$`)
	pythonPart   = lazyregexp.New(`^([\w.]+)(?:\s+as\s+(\w+))?$`)
	scriptImport = lazyregexp.New(`\bimport\s+(?:(\w+)\s*,?\s*)?(?:\*\s*as\s+(\w+)\s*)?(?:\{[^}]*\}\s*)?from\s*["']([^"']+)["']|\b(?:const|let|var)\s+(\w+)\s*=\s*require\(\s*["']([^"']+)["']\s*\)\s*(?:\.\s*strict\s*)?(?:;|$|,)`)
)

// modules lists the names that modules of the language have in a file.
func modules(family lang.Family, lines []lang.Line) (names []string) {
	for _, line := range lines {
		switch family {
		case lang.Python:
			m := pythonImport.FindStringSubmatch(line.Code)
			if m == nil {
				continue
			}
			for part := range strings.SplitSeq(m[1], ",") {
				if p := pythonPart.FindStringSubmatch(strings.TrimSpace(part)); p != nil {
					top, _, _ := strings.Cut(p[1], ".")
					names = append(names, nameOf(top, p[2])...)
				}
			}
		case lang.Script:
			if !strings.Contains(line.Raw, "import") && !strings.Contains(line.Raw, "require") {
				continue
			}
			for _, m := range scriptImport.FindAllStringSubmatch(withoutNotes(line), mostImports) {
				if builtin.MatchString(m[3] + m[5]) {
					for _, name := range []string{m[1], m[2], m[4]} {
						if name != "" && name != "type" {
							names = append(names, name)
						}
					}
				}
			}
		}
	}
	return names
}

// mostImports bounds the imports of one line.
const mostImports = 20

// nameOf returns the name that an import in Python binds, if its module belongs to the standard library.
func nameOf(top, as string) []string {
	switch {
	case (top == "sys" || top == "os" || top == "builtins") && as != "" && as != top:
		return []string{as} // the table has it under its own name
	case !slices.Contains(standard, top):
		return nil
	case as != "":
		return []string{as}
	}
	return []string{top}
}

// Replaced lists the lines, counted from 0, on which code gives another value to a part of a module of its language.
// A function of that module then does something else for the whole program, and for its tests.
func Replaced(family lang.Family, lines []lang.Line) (at []int, what string) {
	names := modules(family, lines)
	if len(names) == 0 {
		return nil, replaces
	}
	named := `(?:` + strings.Join(quoteAll(names), "|") + `)`
	form := `^\s*(?:[\w.]+\s*,\s*)*` + named + `(?:\s*\.\s*\w+)+\s*(?:,.*)?=[^=]|\bsetattr\(\s*` + named + `(?:\s*\.\s*\w+)*\s*,`
	if family == lang.Script {
		form = `(?:^|[^.\w$])` + named + `(?:\s*\.\s*\w+|\s*\[[^\]]*\])+\s*=[^=>]|\b(?:Object\s*\.\s*(?:assign|definePropert\w+)|Reflect\s*\.\s*(?:set|defineProperty))\(\s*` + named + `\b`
	}
	re, held := regexp.MustCompile(form), continues(family, lines)
	for i, line := range lines {
		assigns := func(target string) bool { return re.MatchString(target + " = x") }
		if !line.Inside && strings.TrimSpace(line.Code) != "" && (re.MatchString(withoutNotes(line)) || !held[i] && slices.ContainsFunc(targets(family, lines, i), assigns)) {
			at = append(at, i)
		}
	}
	return at, replaces
}

// quoteAll returns expressions that match the given words.
func quoteAll(words []string) (list []string) {
	for _, w := range words {
		list = append(list, regexp.QuoteMeta(w))
	}
	return list
}
