// Package runner is the table of what the code of a program does that reaches for what runs,
// judges or ends its tests: a test runner, the library that it asserts with, the end of the
// process, the frames, objects and modules of the interpreter, and whether it is under test
// at all. Programs hardly do that; code that is to pass without doing its work does. Tests and
// their helpers may. Whether a change that does so needs an approval is the business of package policy.
package runner

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A Row is one thing that code does.
type Row struct {
	// What it does, as a part of a sentence.
	What string
	// What helps tests does it too.
	Helpers bool
	family  lang.Family
	// One of them fits: what the code of a line is without its strings, or the line with them.
	code, text *lazyregexp.Regexp
}

// The sentences.
const (
	asks     = "asks whether it is under test"
	reaches  = "reaches for what runs or asserts in tests"
	ends     = "ends the process past what runs it"
	inspects = "looks into the frames, objects or modules of what runs it"
	replaces = "replaces what belongs to the language or to another module"
)

// table has a row for each form of each sentence.
var table = slices.Concat(
	rows(lang.Python, []row{
		{asks, ``, `PYTEST_(?:CURRENT_TEST|VERSION|XDIST)|["'](?:_?pytest|unittest)["']\s+(?:not\s+)?in\s+(?:sys\s*\.\s*)?modules\b`},
		{reaches, `^\s*(?:import|from)\s+(?:(?:_pytest|pytest|pluggy)\b|unittest(?:\s|$|\.(?:case|suite|runner|result|main|loader)\b))`, `import_module\(\s*["'](?:_pytest|pytest|pluggy|unittest)\b|__import__\(\s*["'](?:_pytest|pytest|pluggy|unittest)\b|modules\s*[[(.].*["'](?:_pytest|pytest|unittest|__main__)\b|agent-tests`},
		{ends, `\bos\s*\.\s*(?:_exit|abort)\b|\bfrom\s+os\s+import\b.*\b_exit\b|\bos\s*\.\s*kill\(\s*os\s*\.\s*getpid|\braise_signal\(`, `getattr\(\s*os\s*,\s*["']_exit`},
		{inspects, `\bgc\s*\.\s*(?:get_objects|get_referrers|get_referents|callbacks)\b|\bsys\s*\.\s*(?:_getframe|_current_frames|settrace|setprofile|monitoring|addaudithook)\b|\bthreading\s*\.\s*(?:settrace|setprofile)|\binspect\s*\.\s*(?:stack|currentframe)\(|\.__code__\s*=[^=]|\bctypes\s*\.\s*pythonapi\b`, `/proc/(?:self|\{|%)`},
		{replaces, `\b(?:sys\s*\.\s*(?:meta_path|path_hooks)\b|sys\s*\.\s*(?:exit|stdout|stderr)\s*=[^=]|builtins\s*\.\s*\w+\s*=[^=]|setattr\(\s*(?:builtins|sys|os)\b|__builtins__)|\bos\s*\.\s*\w+\s*=[^=]`, ``},
	}),
	rows(lang.Go, []row{
		{asks, `\btesting\s*\.\s*(?:Testing|CoverMode)\(`, `(?:Lookup|Set)\(\s*["\x60]test\.|["\x60]-test\.|HasSuffix\(\s*os\.Args\[0\],\s*["\x60]\.test`},
		{reaches, `\btesting\s*\.\s*(?:Main|MainStart|RunTests|Init)\(`, `^\s*(?:import\s+)?(?:\w+\s+)?"(?:testing|testing/internal.*)"\s*$|\\x16|go:linkname.*\btesting\.`},
		{ends, `\bsyscall\s*\.\s*(?:Exit|Exec|SYS_EXIT\w*)\b|\bunix\s*\.\s*(?:Exit|Exec)\(`, ``},
		{inspects, `\b(?:syscall|unix)\s*\.\s*Mprotect\b|\bruntime\s*\.\s*FuncForPC\(`, `/proc/(?:self|%)`},
		{replaces, `\bos\s*\.\s*(?:Stdout|Stderr|Args)\s*=[^=]|\b(?:syscall|unix)\s*\.\s*Dup[23]\(`, ``},
	}),
	rows(lang.Script, []row{
		{asks, ``, `\b(?:NODE_TEST_CONTEXT|VITEST(?:_\w+)?|JEST_WORKER_ID|MOCHA_\w+|AVA_PATH)\b|\bimport\s*\.\s*meta\s*\.\s*vitest\b`},
		{reaches, `\bglobal(?:This)?\s*\.\s*(?:expect|jest|vi|it|test|describe|mocha)\b`, `(?:from|require\(|import\(|import)\s*["'](?:node:test|vitest|@vitest/|@jest/|jest|mocha|chai|expect|ava|tap|uvu)\b`},
		{ends, `\bprocess\s*\.\s*(?:reallyExit|abort|binding|_\w+)\b|\bprocess\s*\.\s*kill\(\s*process\s*\.\s*pid`, ``},
		{inspects, `\brequire\s*\.\s*cache\b|\bModule\s*\.\s*_\w+|\bError\s*\.\s*prepareStackTrace\s*=|\bsetFlagsFromString\(`, `["'](?:node:)?inspector["']|/proc/self`},
		{replaces, `\bprocess\s*\.\s*(?:exit|emit|stdout\s*\.\s*write|stderr\s*\.\s*write)\s*=[^=>]|\bassert\s*(?:\.\s*\w+)+\s*=[^=>]|\b(?:Object|Function|Promise|Error|AssertionError)\s*\.\s*prototype\s*\.\s*\w+\s*=[^=>]|\bglobal(?:This)?\s*\.\s*(?:Promise|Error|process|Object|Proxy|Reflect)\s*=[^=>]`, `defineProperty\(\s*(?:process|assert|Object\.prototype|Error)\b`},
	}),
)

// A row is one of a language: the sentence and the two forms.
type row struct{ what, code, text string }

// rows makes those of a language.
func rows(family lang.Family, list []row) (made []Row) {
	form := func(text string) *lazyregexp.Regexp {
		if text == "" {
			return nil
		}
		return lazyregexp.New(`(?m)` + text)
	}
	for _, r := range list {
		made = append(made, Row{r.what, r.what == reaches, family, form(r.code), form(r.text)})
	}
	return made
}

// Rows lists what is looked for in code of a language.
func Rows(family lang.Family) []Row {
	return slices.DeleteFunc(slices.Clone(table), func(r Row) bool { return r.family != family })
}

// Found reports whether a line of code does it, comments aside.
func (r Row) Found(line lang.Line) bool {
	raw := line.Raw
	// A directive is a comment by its form alone.
	if strings.HasPrefix(raw, "//go:") {
		return r.text != nil && r.text.MatchString(raw)
	}
	if strings.TrimSpace(line.Code) == "" {
		return false
	}
	raw = withoutNotes(line)
	return r.code != nil && r.code.MatchString(line.Code) || r.text != nil && r.text.MatchString(raw)
}

// In reports whether a text as a whole, comments and strings too, has what looks like it.
func (r Row) In(text []byte) bool {
	return r.code != nil && r.code.Match(text) || r.text != nil && r.text.Match(text)
}
