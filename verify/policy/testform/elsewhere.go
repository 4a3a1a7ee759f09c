package testform

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A whereForm describes how a language asks where and when it runs, and leaves a function or opens a branch depending
// on the answer. Literals are empty in its code.
type whereForm struct {
	// A branch: its condition, group 1, and the rest of its line, group 2.
	branch *lazyregexp.Regexp
	// A statement that leaves a function.
	leave *lazyregexp.Regexp
	// A question about the environment, the time, the host or the system.
	asks *lazyregexp.Regexp
	// A name, group 1, and what is assigned to it, group 2.
	named *lazyregexp.Regexp
	// A comparison of the system, with its literals: the operator, group 1, and the value to compare with, group 2.
	system *lazyregexp.Regexp
}

var whereForms = map[lang.Family]whereForm{
	lang.Python: {
		lazyregexp.New(`^if\b\s*(.+?):\s*(.*)$`),
		lazyregexp.New(`^return(?:\s+None)?\s*$`),
		lazyregexp.New(`\b(?:environ|getenv|gethostname|getfqdn|uname|getpass|cpu_count|getuid|geteuid|getlogin|monotonic|perf_counter|utcnow)\b|\bsys\s*\.\s*(?:platform|version_info|version|implementation|executable|argv|flags|gettrace|hexversion|stdin|stdout)\b|` +
			`\bos\s*\.\s*name\b|\bplatform\s*\.\s*\w+\(|\btime\s*\.\s*\w+\(|\b(?:datetime|date)\s*\.\s*(?:now|today)\(|\b(?:IN_|ON_|IS_)?CI\b|\b(?:running_)?(?:is|in|on)_ci\b|\bGITHUB_ACTIONS\b`),
		lazyregexp.New(`^(\w+)\s*(?::[^=]+)?=\s*([^=].*)$`),
		lazyregexp.New(`\b(?:sys\s*\.\s*platform|os\s*\.\s*name|platform\s*\.\s*system\(\))\s*(==|!=)\s*["']([^"']*)["']`),
	},
	lang.Go: {
		lazyregexp.New(`^if\s+(.+?)\s*\{\s*(.*)$`),
		lazyregexp.New(`^return\s*;?\s*\}?$`),
		lazyregexp.New(`\bos\s*\.\s*(?:Getenv|LookupEnv|Environ|Hostname|Getuid|Geteuid|Args)\b|\btime\s*\.\s*Now\(|\bruntime\s*\.\s*(?:GOOS|GOARCH|NumCPU|Version)\b|\btesting\s*\.\s*(?:Short|Verbose|CoverMode)\(|\b(?i:(?:is|in|on)?CI)\b`),
		lazyregexp.New(`^(?:var\s+)?(\w+)(?:\s*,\s*\w+)?\s*:?=\s*(.+)$`),
		lazyregexp.New(`\bruntime\s*\.\s*GOOS\s*(==|!=)\s*["\x60]([^"\x60]*)["\x60]`),
	},
	lang.Script: {
		lazyregexp.New(`^if\s*\((.+?)\)\s*(?:\{\s*)?((?:return\b.*)?)$`),
		lazyregexp.New(`^return(?:\s+(?:null|undefined))?\s*;?\s*\}?$`),
		lazyregexp.New(`\bprocess\s*\.\s*(?:env|platform|arch|version|versions|argv|execArgv|hrtime|getuid|stdout|stdin)\b|\bimport\s*\.\s*meta\s*\.\s*env\b|\bDate\s*\.\s*now\(|\bnew\s+Date\(\s*\)|\bos\s*\.\s*(?:hostname|platform|type|userInfo|cpus)\(|\bnavigator\s*\.|\b(?:is|in|on|IS_|IN_|ON_)?CI\b`),
		lazyregexp.New(`^(?:const|let|var)\s+(\w+)\s*=\s*(.+)$`),
		lazyregexp.New(`\bprocess\s*\.\s*platform\s*([!=]==?)\s*["']([^"']*)["']`),
	},
}

// here lists the names of the system on which tests are judged.
var here = []string{"linux", "linux2", "posix", "Linux"}

// mostHeld bounds the lines of a branch.
const mostHeld = 200

// LeftElsewhere lists the lines of after, counted from 0, that keep assertions that before also has from running, depending
// on where or when they run: a branch in front of them that leaves the test, or a branch around them without an asserting
// alternative. A branch for a system other than the one on which tests are judged keeps nothing from running here.
func LeftElsewhere(family lang.Family, before, after []lang.Line) (at []int) {
	f, ok := whereForms[family]
	if !ok {
		return nil
	}
	names, old := f.names(after), f.kept(family, before, f.names(before))
	for i, line := range after {
		cond, rest, is := f.ask(line, names)
		if !is {
			continue
		}
		answer := f.answer(family, line.Raw, cond)
		end := endOf(family, after, i)
		leaves := f.leave.MatchString(rest) || f.leaves(family, after[i+1:max(end, i+1)])
		switch {
		case leaves && answer >= 0 && asserted(family, after[end:behind(family, after, i, end)], old):
			at = append(at, i)
		case !leaves && answer <= 0 && asserted(family, after[i+1:end], old) && !otherwise(family, after, end):
			at = append(at, i)
		}
	}
	return at
}

// names lists the names that a text gives to the answer to such a question.
func (f whereForm) names(lines []lang.Line) (list []string) {
	for _, line := range lines {
		if len(line.Code) > longestMark || len(list) == mostHeld {
			continue
		}
		if m := f.named.FindStringSubmatch(strings.TrimSpace(line.Code)); m != nil && f.asks.MatchString(m[2]) && !strings.ContainsAny(m[2], "{") {
			list = append(list, m[1])
		}
	}
	return list
}

// ask reports whether a line opens a branch on such a question, and returns its condition and the rest of its line.
func (f whereForm) ask(line lang.Line, names []string) (cond, rest string, is bool) {
	if len(line.Code) > longestMark || line.Inside {
		return "", "", false
	}
	m := f.branch.FindStringSubmatch(strings.TrimSpace(line.Code))
	if m == nil {
		return "", "", false
	}
	is = f.asks.MatchString(m[1]) || slices.ContainsFunc(ownWords(m[1]), func(w string) bool { return slices.Contains(names, w) })
	return m[1], m[2], is
}

// ofVersion matches a comparison with a Python version no newer than the one on which tests are judged: the operator, group 1.
var ofVersion = lazyregexp.New(`\bversion_info\s*([<>])=?\s*\(\s*(?:2\b[^)]*|3\s*(?:,\s*(?:\d|1[01])\b[^)]*)?)\)`)

// answer returns the value, where tests are judged, of a condition on the system alone: 1 for true, -1 for false, 0 if unknown.
func (f whereForm) answer(family lang.Family, raw, cond string) int {
	if strings.Contains(cond, " or ") || strings.Contains(cond, "||") || strings.Contains(cond, "not ") {
		return 0
	}
	holds := 0
	if m := f.system.FindStringSubmatch(raw); m != nil {
		holds = map[bool]int{true: 1, false: -1}[(m[1][0] == '=') == slices.Contains(here, m[2])]
	} else if m := ofVersion.FindStringSubmatch(cond); m != nil && family == lang.Python {
		holds = map[bool]int{true: 1, false: -1}[m[1] == ">"]
	}
	if holds > 0 && (strings.Contains(cond, " and ") || strings.Contains(cond, "&&")) {
		return 0
	}
	return holds
}

// kept returns the assertions of a text that are in no such branch.
func (f whereForm) kept(family lang.Family, lines []lang.Line, names []string) map[string]bool {
	old, form, until := map[string]bool{}, Of(family), 0
	for i, line := range lines {
		if _, _, is := f.ask(line, names); is {
			until = max(until, endOf(family, lines, i))
		}
		if code := strings.TrimSpace(line.Code); i >= until && form.Assertion.MatchString(code) {
			old[strings.TrimSpace(line.Raw)] = true
		}
	}
	return old
}

// leaves reports whether the lines of a branch leave the test and assert nothing.
func (f whereForm) leaves(family lang.Family, lines []lang.Line) bool {
	return slices.ContainsFunc(lines, func(l lang.Line) bool { return f.leave.MatchString(strings.TrimSpace(l.Code)) }) && !asserts(family, lines)
}

// asserts reports whether one of the lines is an assertion.
func asserts(family lang.Family, lines []lang.Line) bool {
	form := Of(family)
	return slices.ContainsFunc(lines, func(l lang.Line) bool { return form.Assertion.MatchString(strings.TrimSpace(l.Code)) })
}

// asserted reports whether one of the lines is an assertion that was there before.
func asserted(family lang.Family, lines []lang.Line, old map[string]bool) bool {
	form := Of(family)
	return slices.ContainsFunc(lines, func(l lang.Line) bool {
		return old[strings.TrimSpace(l.Raw)] && form.Assertion.MatchString(strings.TrimSpace(l.Code))
	})
}

// otherwise reports whether a branch that ends before a line has an alternative that asserts.
func otherwise(family lang.Family, lines []lang.Line, end int) bool {
	if end >= len(lines) || !strings.Contains(lines[end].Code, "el") || !branchElse.MatchString(strings.TrimSpace(lines[end].Code)) {
		return false
	}
	return asserts(family, lines[end+1:max(end+1, endOf(family, lines, end))])
}

// branchElse matches the start of the other case of a branch.
var branchElse = lazyregexp.New(`^\}?\s*(?:else|elif)\b`)

// endOf returns the line after a branch that opens on line i; in JavaScript, TypeScript and Go, the line that closes it.
func endOf(family lang.Family, lines []lang.Line, i int) int {
	last := min(len(lines), i+mostHeld)
	if family == lang.Python {
		for k := i + 1; k < last; k++ {
			if d := depth(lines[k]); d >= 0 && d <= depth(lines[i]) && !lines[k].Inside {
				return k
			}
		}
		return last
	}
	open := 0
	for k := i; k < last; k++ {
		for n, c := range lines[k].Code {
			switch {
			case c == '{':
				open++
			case c == '}' && (k > i || open > 0 && n > 0):
				if open--; open <= 0 {
					return max(k, i+1)
				}
			}
		}
		if k == i && open == 0 { // it ends on its line, or on the next
			return min(len(lines), i+1+map[bool]int{true: 1}[strings.HasSuffix(strings.TrimSpace(lines[k].Code), ")")])
		}
	}
	return last
}

// behind returns the line where the code after a branch stops belonging to the block that contains the branch.
func behind(family lang.Family, lines []lang.Line, i, end int) int {
	last := min(len(lines), end+mostHeld)
	if family == lang.Python {
		for k := end; k < last; k++ {
			if d := depth(lines[k]); d >= 0 && d < depth(lines[i]) && !lines[k].Inside {
				return k
			}
		}
		return last
	}
	open := 0
	for k := end; k < last; k++ {
		code := lines[k].Code
		if k == end && strings.HasPrefix(strings.TrimSpace(code), "}") {
			code = strings.Replace(code, "}", "", 1)
		}
		if open += strings.Count(code, "{") - strings.Count(code, "}"); open < 0 {
			return k
		}
	}
	return last
}
