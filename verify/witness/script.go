package witness

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// The names of the JavaScript runners in this package.
const (
	NodeTests  = "node"
	VitestLike = "vitest"
	JestLike   = "jest"
	MochaLike  = "mocha"
)

// A scriptRunner describes the test files of a runner.
type scriptRunner struct {
	// modules matches the modules that provide its functions; a call of one counts if the file imports it.
	modules *lazyregexp.Regexp
	// global says that its functions exist in files that declare none.
	global bool
	// todo says that a failing test marks itself as still to be done and is inside a passing one: it fails nothing
	// around it, and the exit status of a file's process remains that of the other tests.
	todo bool
	// suites says that tests outside of suites run before those inside, wherever they are.
	suites bool
}

// scriptRunners are the runners whose files can get witnesses.
var scriptRunners = map[string]scriptRunner{
	NodeTests:  {modules: lazyregexp.New(`^(?:node:)?test$`), todo: true},
	VitestLike: {modules: lazyregexp.New(`^vitest$`), global: true},
	JestLike:   {modules: lazyregexp.New(`^@jest/globals$`), global: true},
	MochaLike:  {modules: lazyregexp.New(`^mocha$`), global: true, suites: true},
}

// asserting matches the modules of assertion libraries.
var asserting = lazyregexp.New(`^(?:(?:node:)?assert(?:/strict)?|chai|power-assert|vitest|@jest/globals|expect|should|node:test)$`)

// A scriptForm is one way to assert. The object that it is called on precedes its first name.
type scriptForm struct {
	// call is the function, and behind what the text must have after it.
	call, behind string
	body         string
	turned       bool
	awaits       bool
}

// scriptForms are the forms of node:assert, chai and the runners' own. {on} is what precedes the name, "assert." or
// nothing. An assertion about one value has a message: to make one, node reads the text of the call where a loader's
// source map locates it, and Node 20 may hang there (seen with tsx).
var scriptForms = []scriptForm{
	{call: "expect", behind: `\.toBe\(`, body: "{on}expect({expr}).toBe({want});"},
	{call: "expect", behind: `\.to\.equal\(`, body: "{on}expect({expr}).to.equal({want});"},
	{call: "strictEqual", body: "{on}strictEqual({expr}, {want});"},
	{call: "equal", body: "{on}equal({expr}, {want});"},
	{call: "expect", behind: `\.toEqual\(`, body: "{on}expect([{expr}]).toEqual([{want}]);"},
	{call: "expect", behind: `\.to\.(?:deep\.equal|eql)\(`, body: "{on}expect([{expr}]).to.eql([{want}]);"},
	{call: "deepStrictEqual", body: "{on}deepStrictEqual([{expr}], [{want}]);"},
	{call: "deepEqual", body: "{on}deepEqual([{expr}], [{want}]);"},
	{call: "", behind: `\.should\.equal\(`, body: "({expr}).should.equal({want});"},
	{call: "expect", behind: `\.toStrictEqual\(`, body: "{on}expect({ {var}: {expr} }).toStrictEqual({ {var}: {want} });"},
	{call: "ok", body: "{on}ok({expr} === {want}, \"{var}\");"},
	{call: "isTrue", body: "{on}isTrue({expr} === {want});"},
	{call: "assert", body: "{on}assert({expr} === {want}, \"{var}\");"},
	{call: "expect", behind: `\.(?:toBeTruthy|toBeFalsy)\(`, body: "{on}expect({expr} === {want}).toBeTruthy();"},
	{call: "expect", behind: `\.to\.be\.(?:true|ok)\b`, body: "{on}expect({expr} === {want}).to.be.true;"},
	{call: "throws", body: "{on}throws(() => { if ({expr} === {want}) throw new Error(\"{var}\"); });"},
	{call: "expect", behind: `\.toThrow\(`, body: "{on}expect(() => { if ({expr} === {want}) throw new Error(\"{var}\"); }).toThrow();"},
	{call: "expect", behind: `\.to\.throw\(`, body: "{on}expect(() => { if ({expr} === {want}) throw new Error(\"{var}\"); }).to.throw();"},
	{call: "rejects", body: "await {on}rejects(async () => { if ({expr} === {want}) throw new Error(\"{var}\"); });", awaits: true},
	{call: "expect", behind: `\.rejects\.`, body: "await {on}expect((async () => { if ({expr} === {want}) throw new Error(\"{var}\"); })()).rejects.toThrow();", awaits: true},
	{call: "expect", behind: `\.resolves\.`, body: "await {on}expect((async () => {expr})()).resolves.toEqual({want});", awaits: true},
	{call: "notStrictEqual", body: "{on}notStrictEqual({expr}, {want});", turned: true},
	{call: "notEqual", body: "{on}notEqual({expr}, {want});", turned: true},
	{call: "notDeepEqual", body: "{on}notDeepEqual([{expr}], [{want}]);", turned: true},
	{call: "expect", behind: `\.not\.toBe\(`, body: "{on}expect({expr}).not.toBe({want});", turned: true},
	{call: "expect", behind: `\.not\.toEqual\(`, body: "{on}expect([{expr}]).not.toEqual([{want}]);", turned: true},
	{call: "expect", behind: `\.to\.not\.equal\(`, body: "{on}expect({expr}).to.not.equal({want});", turned: true},
}

// scriptName matches a JavaScript name.
const scriptName = `[A-Za-z_$][\w$]*`

var (
	importClause = lazyregexp.New(`(?m)^import\s+([^'";()]+?)\s+from\s*["']([^"'\n]+)["']`)
	requireName  = lazyregexp.New(`(?m)^(?:export\s+)?(?:const|let|var|import)\s+(\{[^}]*\}|` + scriptName + `)\s*(?::\s*[\w.]+\s*)?=\s*([^\n;]*)`)
	varList      = lazyregexp.New(`(?m)^(?:var|const|let)\s[^;]*?(?:;|\n[ \t]*\n|\z)`)
	inVarList    = lazyregexp.New(`(?m)^[ \t]+,?[ \t]*(` + scriptName + `)\s*=\s*(require\([^\n]*)`)
	required     = lazyregexp.New(`^(?:require\(\s*["']([^"']+)["']|(` + scriptName + `))`)
	localName    = lazyregexp.New(`(` + scriptName + `)(?:\s*(?:\bas\b|:)\s*(` + scriptName + `))?`)
	testTitle    = lazyregexp.New("(?:^|[^.\\w$])(" + scriptName + ")\\(\\s*(?:\"([^\"\\n]*)\"|'([^'\\n]*)'|`([^`\\n]*)`)\\s*,")
	onlyCall     = lazyregexp.New(`\.only\b|\bf(?:it|describe)\(`)
	mapped       = lazyregexp.New(`(?m)^//[#@] sourceMappingURL=`)
)

// A scriptText is a file with the names that it declares outside of functions, and the module that each is from; "" for
// other values.
type scriptText struct {
	text    string
	imports map[string]string
}

// readScript parses the declarations of a file.
func readScript(text string) scriptText {
	s := scriptText{text, map[string]string{}}
	for _, m := range importClause.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "type ") {
			s.declare(m[1], m[2])
		}
	}
	for _, m := range requireName.FindAllStringSubmatch(text, -1) {
		s.declare(m[1], s.module(m[2]))
	}
	for _, list := range varList.FindAllString(text, -1) {
		for _, m := range inVarList.FindAllStringSubmatch(list, -1) {
			s.declare(m[1], s.module(m[2]))
		}
	}
	return s
}

// module returns the module that a value is from.
func (s scriptText) module(value string) string {
	m := required.FindStringSubmatch(value)
	if m == nil {
		return ""
	}
	return cmp.Or(m[1], s.imports[m[2]])
}

// declare records the names in a clause.
func (s scriptText) declare(clause, module string) {
	for _, m := range localName.FindAllStringSubmatch(strings.ReplaceAll(clause, "* as ", ""), -1) {
		if name := cmp.Or(m[2], m[1]); name != "type" {
			s.imports[name] = module
		}
	}
}

// free reports whether a file declares a name nowhere, so that it may be global.
func (s scriptText) free(name string) bool {
	q := regexp.QuoteMeta(name)
	return !regexp.MustCompile(`\b(?:const|let|var|function|class|import)\b[^=;\n]*\b` + q + `\b|\{[^{}\n]*\b` + q + `\b[^{}\n]*\}\s*\)?\s*=|\(\s*` + q + `\s*\)\s*=>`).MatchString(s.text)
}

// asserts reports whether a name is that of an assertion library, or of a part of one.
func (s scriptText) asserts(name string) bool {
	if module, ok := s.imports[name]; ok {
		return asserting.MatchString(module)
	}
	return slices.Contains([]string{"expect", "assert", "chai"}, name) && s.free(name)
}

// tests lists the functions by which a file makes tests, those for suites, and the titles of the tests.
func (s scriptText) tests(r scriptRunner) (calls, suites, titles []string) {
	for _, m := range testTitle.FindAllStringSubmatch(s.text, -1) {
		name, title := m[1], cmp.Or(m[2], m[3], m[4])
		module, declared := s.imports[name]
		known := slices.Contains([]string{"test", "it", "specify"}, name)
		suite := slices.Contains([]string{"describe", "suite", "context"}, name)
		// A helper of the workspace with the same name may take other arguments.
		usable := declared && r.modules.MatchString(module) || !declared && r.global && s.free(name)
		switch {
		case !usable || !known && !suite && !declared:
		case suite && !slices.Contains(suites, name):
			suites = append(suites, name)
		case !suite:
			if titles = append(titles, title); !slices.Contains(calls, name) {
				calls = append(calls, name)
			}
		}
	}
	return calls, suites, titles
}

// forms lists the forms of assertion in a file, as it calls them.
func (s scriptText) forms() (forms []Form, awaits []bool) {
	for _, f := range scriptForms {
		on := ""
		if f.behind != "" && !regexp.MustCompile(f.behind).MatchString(s.text) {
			continue
		}
		if f.call != "" {
			m := regexp.MustCompile(`(?:^|[^.\w$])((?:`+scriptName+`\.)*)`+f.call+`\(`).FindAllStringSubmatch(s.text, -1)
			i := slices.IndexFunc(m, func(m []string) bool {
				root, _, ok := strings.Cut(m[1], ".")
				if !ok {
					root = f.call
				}
				return s.asserts(root)
			})
			if i < 0 {
				continue
			}
			on = m[i][1]
		}
		forms = append(forms, Form{Body: strings.ReplaceAll(f.body, "{on}", on), Turned: f.turned})
		awaits = append(awaits, f.awaits)
	}
	return forms, awaits
}

// AppendScripts adds witnesses to files of a JavaScript runner: two for each form that a file uses, for at most most
// forms. Files that do not look like tests of that runner get none.
func (s *Set) AppendScripts(d *Draw, v check.View, runner string, files []string, most int) {
	r := scriptRunners[runner]
	s.todo, s.titles = r.todo, map[string]int{}
	for _, p := range files {
		text := v.Text(p)
		if len(text) == 0 || len(text) > MaxFile || onlyCall.MatchString(text) || mapped.MatchString(text) {
			continue
		}
		if added, tests := d.script(r, p, text, most); len(tests) > 0 {
			for i, t := range tests {
				s.titles[t.Name] = len(s.tests) + i
			}
			s.Append(v, p, added, tests)
		}
	}
}

// script draws the text that is appended to a file.
func (d *Draw) script(r scriptRunner, place, text string, most int) (added string, tests []Test) {
	file := readScript(outsideStrings(place, text))
	calls, suites, titles := file.tests(r)
	forms, awaits := file.forms()
	if len(calls) == 0 || len(forms) == 0 {
		return "", nil
	}
	name, indent := func() string { return d.Name(Style{"", " ", false}, titles) }, ""
	inSuite, call := r.suites && len(suites) > 0, calls[0]
	if inSuite || r.todo {
		indent = "  "
	}
	if r.todo {
		call = "await t.test"
	}
	var parts []string
	for n, i := range d.Perm(len(forms)) {
		if n == most {
			break
		}
		for _, fails := range []bool{true, false} {
			t := Test{place, name(), fails}
			tests = append(tests, t)
			parts = append(parts, scriptTest(call, t.Name, d.Write(wrapped(forms[i]), fails), r.todo, awaits[i], indent))
		}
	}
	d.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	added = strings.Join(parts, "\n")
	if inSuite {
		added = suites[0] + "(" + quote(name()) + ", function () {\n" + added + "});\n"
	}
	if r.todo {
		around := Test{place, name(), false}
		added, tests = calls[0]+"("+quote(around.Name)+", async (t) => {\n"+added+"});\n", append(tests, around)
	}
	return "\n" + added, tests
}

// wrapped returns a form with the declaration of its variable.
func wrapped(f Form) Form {
	f.Body = "const {var} = {start};\n" + f.Body + "\n"
	return f
}

// scriptTest returns the text of one test.
func scriptTest(call, name, body string, todo, awaits bool, indent string) string {
	head := "() => {"
	if todo {
		head, body = "(t) => {", "t.todo();\n"+body
	}
	if awaits {
		head = "async " + head
	}
	lines := call + "(" + quote(name) + ", " + head + "\n"
	for line := range strings.Lines(body) {
		lines += "  " + line
	}
	lines += "});\n"
	if indent == "" {
		return lines
	}
	return indent + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n"+indent) + "\n"
}

// quote returns a text of plain words in quotes.
func quote(text string) string { return `"` + text + `"` }
