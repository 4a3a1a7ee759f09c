package trial

import (
	"regexp"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// Tests of a program share a process: what one file puts into a variable of the program is there for all others. Code that
// may do so is matched generously, since the only consequence is a run without the file, and that run shows the truth.

// assigns matches code that does so anywhere in a file.
var assigns = map[lang.Family]*lazyregexp.Regexp{
	lang.Go:     lazyregexp.New(`(?m)^func (?:init|TestMain)\(|^\t+[\w.]+(?:\[.*\])?\s*(?:[-+*/|&^%]|<<|>>|&\^)?=[^=]|^(?:var\s+\(?\s*)?\t*_\s*=|^\t+[\w.]+(?:\+\+|--)$|\b(?:maps\.Copy|maps\.DeleteFunc|delete|clear|copy)\(`),
	lang.Python: lazyregexp.New(`(?m)^\s*[\w.]+\.\w+\s*(?:\[.*\]\s*)?=[^=]|\bsetattr\(|\bpatch\b|\bmodules\b|\b__dict__\b|\bvars\(|\bglobals\(`),
	lang.Script: lazyregexp.New(`(?m)^[\w.]+\.\w+\s*=[^=>]|\b(?:defineProperty|assign)\(|\brequire\.cache\b|\bmock\b`),
}

// A loading describes what a language runs in a test file when it loads the file.
type loading struct {
	// The head of a function: nothing inside it runs until it is called.
	function *lazyregexp.Regexp
	// A line outside of functions that calls nothing when the file loads.
	skip *lazyregexp.Regexp
	// A change of a table or an attribute without a call.
	sets *lazyregexp.Regexp
	// Calls that change nothing in a program.
	harmless *lazyregexp.Regexp
	// The names that the file imports, as the groups, and a call of a method that changes one of them.
	imported, changes *lazyregexp.Regexp
}

const changing = `\s*(?:\.[\w.]+|\[[^\]]*\])*\.(?:update|setdefault|pop|popitem|clear|append|extend|insert|remove|discard|add|sort|reverse|push|unshift|shift|splice|fill|set|delete|register\w*|configure|install)\(`

// loadings describes the known families.
var loadings = map[lang.Family]loading{
	lang.Python: {
		function: lazyregexp.New(`^\s*(?:async\s+)?def\b|^if\s+__name__\s*==`),
		skip:     lazyregexp.New(`^\s*(?:from|import)\b`),
		sets:     lazyregexp.New(`^\s*(?:\w+\s*[|+*&^-]=|\(?[\w.]+\[[^=]*\]\s*(?:[,|+*/&^-].*)?=[^=]|[\w.]+\.\w+\s*:[^=]*=)|^\s*del\b|\b(?:for|as)\s+[\w.]*\w[\[.]`),
		harmless: lazyregexp.New(`^(?:pytest\.(?:mark\.\w+|param|fixture|importorskip|approx|raises|skip|warns)|mark\.\w+|fixture|param|importorskip|(?:unittest\.)?skip\w*|(?:unittest\.)?expectedFailure|parametrize|parameterized(?:\.expand)?|given|settings|example|(?:st|strategies)\.\w+|getLogger|logging\.\w+|(?:re\.)?compile|(?:collections\.)?namedtuple|TypeVar|NewType|ParamSpec|(?:pathlib\.)?(?:Pure)?Path|os\.path\.\w+|os\.getenv|os\.environ\.get|dict|list|tuple|set|frozenset|range|len|int|str|float|bool|bytes|bytearray|complex|object|zip|enumerate|abs|round|repr|ord|chr|type|isinstance|issubclass|hasattr|super|print|open|property|staticmethod|classmethod|cast|TypedDict|(?:dataclasses\.)?(?:dataclass|field)|auto|(?:decimal\.)?Decimal|(?:fractions\.)?Fraction|(?:datetime\.)?(?:datetime|date|time|timedelta|timezone)|(?:uuid\.)?UUID|(?:textwrap\.)?dedent|json\.(?:loads|dumps)|(?:functools\.)?partial|TestCase|` +
			`[\w.]*\.(?:resolve|absolute|joinpath|with_name|with_suffix|exists|is_file|is_dir|read_text|read_bytes|splitlines|split|strip|encode|decode|format|join|lower|upper|replace|items|keys|values|startswith|endswith))$`),
		imported: lazyregexp.New(`^\s*(?:from\s+\S+\s+)?import\s+([^#(]+)|^\s{4}(\w+),$`),
		changes:  lazyregexp.New(changing),
	},
	lang.Go: {
		function: lazyregexp.New(`^(?:func|type|import|const)\b`),
		skip:     lazyregexp.New(`^(?:package|//)`),
		sets:     nil,
		harmless: lazyregexp.New(`^(?:regexp\.MustCompile|lazyregexp\.New|errors\.New|fmt\.(?:Errorf|Sprintf|Sprint)|flag\.\w+|time\.(?:Date|Duration|Unix)|strings\.\w+|bytes\.\w+|big\.New\w+|len|cap|make|new|append|min|max|func|interface|struct|string|bool|byte|rune|error|any|u?int\d*|float\d+|complex\d+|template\.\w+|json\.RawMessage|math\.\w+|filepath\.\w+|os\.(?:Getenv|FileMode)|(?:reflect\.)?TypeOf|var|map)$`),
	},
	lang.Script: {
		function: lazyregexp.New(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\b|^\s*(?:export\s+)?(?:const|let|var)\s+\w+[^=]*=\s*(?:async\s*)?(?:\([^)]*\)[^=]*|\w+)\s*=>|^\s*(?:(?:describe|it|test|suite|specify|context|before|after|beforeEach|afterEach|beforeAll|afterAll|setup|teardown|bench)\b[\w.]*\()`),
		skip:     lazyregexp.New(`^\s*(?:import\b|export\s+(?:\*|\{|type|interface)|interface\b|type\b)`),
		sets:     lazyregexp.New(`^\s*[\w.]+\[[^\]]*\]\s*[-+*/|&^?]*=[^=>]|^\s*delete\b`),
		harmless: lazyregexp.New(`^(?:require|describe|it|test|suite|expect|import|createRequire|fileURLToPath|(?:path|url|fs)\.\w+|(?:new\s+)?(?:Set|Map|Date|RegExp|URL|Error|Array)|String|Number|Boolean|BigInt|Symbol|Object\.(?:keys|values|entries|freeze|fromEntries)|JSON\.\w+|parseInt|parseFloat|if|for|while|switch|catch|function|dirname|join|resolve|readFileSync|(?:jest|vi)\.(?:fn|setTimeout)|[\w.]*\.(?:join|split|trim|map|filter|repeat|toString|slice|concat|replace|toUpperCase|toLowerCase))$`),
		imported: lazyregexp.New(`^\s*import\s+(.+?)\s+from\b|^\s*(?:const|let|var)\s+(.+?)\s*=\s*(?:await\s+)?(?:require|import)\(`),
		changes:  lazyregexp.New(changing),
	},
}

var (
	// calls matches what is called: a name, or the result of an expression.
	calls = lazyregexp.New(`([\p{L}_$][\w$.]*|\.\w+|[)\]}])\s*\(`)
	// noCall matches words before a bracket that call nothing, and typed what only names a type.
	noCall  = lazyregexp.New(`^(?:if|elif|else|for|while|in|not|and|or|is|return|yield|assert|lambda|with|as|await|async|except|print|del|from|import|case|match|typeof|new|of)$`)
	typed   = lazyregexp.New(`\(\*[\w.\[\]]+\)\(nil\)|\[\](?:byte|rune|string)\(`)
	defines = lazyregexp.New(`\b(?:def|class|function|func)\s+(\w+)\s*\(`)
	plainly = lazyregexp.New(`[\p{L}_$][\w$]*`)
)

// reaches reports whether a new test file may change the program for other tests.
func reaches(p, text string) bool {
	l := lang.Of(p)
	if l == nil || !isTestModule(p) || assigns[l.Family] == nil {
		return false
	}
	return assigns[l.Family].MatchString(text) || loadings[l.Family].reach(l, text)
}

// reach reports whether anything that is not known to be harmless is called when a file loads, or whether the file
// changes an imported name anywhere.
func (f loading) reach(l *lang.Language, text string) bool {
	lines := l.Lex(text)
	own := map[string]bool{} // a name that the file defines need not mean what it says
	for _, line := range lines {
		for _, m := range defines.FindAllStringSubmatch(line.Code, -1) {
			own[m[1]] = true
		}
	}
	if f.changesImported(lines) {
		return true
	}
	// The indentation of the enclosing function, or its depth in other languages; the open brackets; whether in the head of a function.
	within, depth, head := -1, 0, false
	for _, line := range lines {
		code, begins := strings.TrimRight(line.Code, " \t"), depth == 0
		at := depth
		depth = max(0, depth+brackets(code))
		if strings.TrimSpace(code) == "" || line.Inside {
			continue
		}
		python := l.Family == lang.Python
		if python {
			at = len(code) - len(strings.TrimLeft(code, " \t"))
		}
		if (begins || !python) && at <= within {
			within = -1
		}
		opens := within < 0 && (begins || !python) && f.function.MatchString(code)
		// The head of a Python function is checked for its defaults.
		outside := within < 0 && (!opens || python) || head && !begins
		if opens {
			within = at
		}
		head = python && (opens || head && !begins) && depth > 0
		if outside && !f.skip.MatchString(code) && f.runs(code, own) {
			return true
		}
	}
	return false
}

// runs reports whether a line calls something that may change a program, or sets something in it.
func (f loading) runs(code string, own map[string]bool) bool {
	code = typed.ReplaceAllString(defines.ReplaceAllString(code, " ("), "")
	if f.sets != nil && f.sets.MatchString(code) {
		return true
	}
	for _, m := range calls.FindAllStringSubmatch(code, -1) {
		name := strings.TrimSuffix(m[1], ".")
		first, _, _ := strings.Cut(name, ".")
		if !noCall.MatchString(name) && (own[first] || !f.harmless.MatchString(name)) {
			return true
		}
	}
	return false
}

// changesImported reports whether a method that changes its receiver is called on a name that the file imports.
func (f loading) changesImported(lines []lang.Line) bool {
	if f.imported == nil {
		return false
	}
	var names []string
	for _, line := range lines {
		if m := f.imported.FindStringSubmatch(line.Code); m != nil && !line.Inside {
			for _, name := range plainly.FindAllString(strings.Join(m[1:], " "), -1) {
				names = append(names, regexp.QuoteMeta(name))
			}
		}
	}
	if len(names) == 0 {
		return false
	}
	changed := regexp.MustCompile(`(?:^|[^\w.$])(?:` + strings.Join(names, "|") + `)` + f.changes.String())
	for _, line := range lines {
		if !line.Inside && changed.MatchString(line.Code) {
			return true
		}
	}
	return false
}

// brackets counts the brackets of any kind that a line leaves open.
func brackets(code string) (depth int) {
	for _, c := range code {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
	}
	return depth
}
