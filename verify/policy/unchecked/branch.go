package unchecked

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// mostNear bounds how far the search goes for lines that belong to another line.
const mostNear = 50

var (
	// uncheckedBranch matches the head of a branch that type checkers skip.
	uncheckedBranch = lazyregexp.New(`^(?:el)?if\b.*\bnot\s*\(?\s*(?:\w+\.)?(?:TYPE_CHECKING|MYPY)\b.*:$`)
	// checkedNoFurther matches what ends a function for type checkers alone, and neverLeft what does so at the start of a branch.
	checkedNoFurther = lazyregexp.New(`^assert\s+not\s*\(?\s*(?:\w+\.)?(?:TYPE_CHECKING|MYPY)\b|^while\s+\(?\s*(?:\w+\.)?(?:TYPE_CHECKING|MYPY)\b`)
	neverLeft        = lazyregexp.New(`^(?:return|raise|continue|break|sys\.exit|exit|assert\s+False|while\s+True)\b`)
	// checkingBranch matches the head of a branch that only type checkers see.
	checkingBranch = lazyregexp.New(`^if\s+\(?\s*(?:\w+\.)?(?:TYPE_CHECKING|MYPY)\s*\)?\s*:$`)
)

// hidden returns the new lines that keep type checkers from lines that they saw before: heads of branches that they
// skip, and ends of a function that are ends only to them.
func hidden(f File) (at []int) {
	was, elses := known(f.Before), false
	for i := range f.Before {
		elses = elses || code(f.Before[i]) == "else:" && elseOfChecking(f.Before, i)
	}
	for i := range f.After {
		said := code(f.After[i])
		opens := !was[said] && uncheckedBranch.MatchString(said) && !strings.Contains(said, " or ") || said == "else:" && !elses && elseOfChecking(f.After, i)
		ends := !was[said] && checkedNoFurther.MatchString(said) ||
			checkingBranch.MatchString(said) && neverLeft.MatchString(codeAfter(f.After, i)) && !was[codeAfter(f.After, i)]
		if ends || opens && slices.ContainsFunc(inside(f.After, i), func(code string) bool { return was[code] }) {
			at = append(at, i)
		}
	}
	return at
}

// codeAfter returns the next line that contains code, or "" if there is none nearby.
func codeAfter(lines []lang.Line, i int) string {
	for _, line := range lines[i+1 : min(len(lines), i+1+mostNear)] {
		if said := code(line); said != "" {
			return said
		}
	}
	return ""
}

// inside lists the code of a block of Python, line by line.
func inside(lines []lang.Line, head int) (list []string) {
	for _, line := range lines[head+1:] {
		said := code(line)
		if said != "" && lang.Indent(line.Code) <= lang.Indent(lines[head].Code) || len(list) == mostNear {
			break
		}
		if said != "" {
			list = append(list, said)
		}
	}
	return list
}

// elseOfChecking reports whether an else belongs to a branch that only type checkers see.
func elseOfChecking(lines []lang.Line, i int) bool {
	in := lang.Indent(lines[i].Code)
	for k := i - 1; k >= max(0, i-mostNear); k-- {
		said := code(lines[k])
		if said == "" || lang.Indent(lines[k].Code) > in {
			continue
		}
		return lang.Indent(lines[k].Code) == in && checkingBranch.MatchString(said)
	}
	return false
}

var (
	// ofOldPython matches a condition on the names that mypy takes to be always false or always true, whatever their
	// values (https://mypy.readthedocs.io/en/stable/common_issues.html#python-version-and-system-platform-checks).
	ofOldPython = lazyregexp.New(`\b(?:if|elif|while|and|or|not|assert)\s*\(*\s*(?:\w+\.)*PY[23]\s*(?:\)*\s*(?::|,|\b(?:and|or|else)\b|$))|\bPY[23]\s+(?:and|or)\b`)
	// newPython matches syntax that no program for Python 2 has.
	newPython = lazyregexp.New(`->|:=|\basync\s+def\b`)
	// inFunction matches a condition on who reads the text, by which type checkers skip the code that runs.
	inFunction = lazyregexp.New(`\bnot\s*\(?\s*(?:\w+\.)?(?:TYPE_CHECKING|MYPY)\b|\b(?:TYPE_CHECKING|MYPY)\s+or\b|\bif\s+(?:\w+\.)?(?:TYPE_CHECKING|MYPY)\s+else\b`)
	// otherSys matches a statement that gives the name sys to something else: checkers judge conditions on it by the name.
	otherSys = lazyregexp.New(`^(?:import\s.*\bas\s+sys\b|from\s.*\bimport\b.*\bsys\b|class\s+sys\b|sys\s*(?::[^=]*)?=[^=])`)
	plainSys = lazyregexp.New(`^import\s+sys\s+as\s+sys\b|^sys\s*=\s*(?:None|__import__\(.*|import_module\(.*)$`)
	bySys    = lazyregexp.New(`\b(?:if|elif|while|and|or|not|assert)\b.*\bsys\s*\.\s*(?:platform|version_info)\b`)
	defHead  = lazyregexp.New(`^(?:async\s+)?def\s`)
)

// skipped returns the new lines with a condition that type checkers decide by its name alone, although the answer is another one:
// on Python 2 in a text that Python 2 cannot read, on a sys that is not Python's, or, inside a function, on who reads the text.
func skipped(f File) (at []int) {
	was, today, shadowed := known(f.Before), false, false
	for _, line := range f.After {
		said := code(line)
		today = today || newPython.MatchString(said) || strings.Contains(line.Raw, `f"`) && strings.Contains(said, `f""`)
		shadowed = shadowed || otherSys.MatchString(said) && !plainSys.MatchString(said)
	}
	for i, line := range f.After {
		said := code(line)
		if said == "" || was[said] {
			continue
		}
		if today && ofOldPython.MatchString(said) || shadowed && bySys.MatchString(said) || inFunction.MatchString(said) && ofFunction(f.After, i) {
			at = append(at, i)
		}
	}
	return at
}

// ofFunction reports whether a line is inside a function.
func ofFunction(lines []lang.Line, i int) bool {
	in := lang.Indent(lines[i].Code)
	for k := i - 1; k >= 0 && in > 0; k-- {
		if said := code(lines[k]); said != "" && !lines[k].Inside && lang.Indent(lines[k].Code) < in {
			if in = lang.Indent(lines[k].Code); defHead.MatchString(said) {
				return true
			}
		}
	}
	return false
}
