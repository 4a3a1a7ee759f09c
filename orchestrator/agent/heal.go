package agent

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// MaxHeals bounds the repairs of one candidate, as in the original system. A fourth try at the same failure rarely does
// better than the third, and each costs a call and a run of all gates.
const MaxHeals = 3

// CriticGate stands in a Failure for the gate when critics, and no gate, object to a candidate.
const CriticGate = "critic"

// Template chooses the question for a failure by the gate that failed and by whether the failure lies in files that the
// change touched. A second repair for the same gate asks with everything that is known, since the narrow question did
// not help.
func (f Failure) Template(downstream, again bool) Purpose {
	switch {
	case f.Gate == CriticGate:
		return AnswerCritic
	case again || f.Gate == "edit":
		return Repair
	case f.Gate == "types" && downstream:
		return FixDownstream
	case f.Gate == "format" || f.Gate == "syntax" || f.Gate == "lint" || f.Gate == "types":
		return FixLint
	case f.Gate == "smoke" || f.Gate == "tests":
		return FixRuntime
	}
	return Repair
}

// The stack frames of the runtimes: a file and a line. Their order differs: Python prints the innermost frame last, the
// others print it first.
var (
	pythonFrame = lazyregexp.New(`(?m)^\s*File "([^"\n]+)", line (\d+)`)
	nodeFrame   = lazyregexp.New(`(?m)^\s+at (?:.*\()?(?:file://)?(/[^\s():]+):(\d+)(?::\d+)?\)?$`)
	goFrame     = lazyregexp.New(`(?m)^\t(/[^\s:]+\.go):(\d+)`)
	pytestFrame = lazyregexp.New(`(?m)^([\w./-]+\.py):(\d+): \w+`)
)

// Culprit returns the file and line of the workspace at which a log says that it failed: the innermost frame that lies
// below root and in a file of the workspace. It passes over frames of the language's own library, since the cause is in
// the code that called it wrongly.
//
// root is where the workspace lies in the box; has reports whether the workspace holds a path. ok is false if no frame
// fits.
func Culprit(log, root string, has func(path string) bool) (file string, line int, ok bool) {
	type runtime struct {
		frame     *lazyregexp.Regexp
		innermost bool // the last frame of a text is the innermost one
	}
	for _, r := range []runtime{{pythonFrame, true}, {pytestFrame, true}, {nodeFrame, false}, {goFrame, false}} {
		found := r.frame.FindAllStringSubmatch(log, -1)
		if r.innermost {
			slices.Reverse(found)
		}
		for _, m := range found {
			name, inside := within(root, m[1])
			if n, err := strconv.Atoi(m[2]); err == nil && inside && has(name) {
				return name, n, true
			}
		}
	}
	return "", 0, false
}

// within returns name relative to root; a relative name is already relative to it.
func within(root, name string) (string, bool) {
	name = path.Clean(name)
	if !path.IsAbs(name) {
		return name, !strings.HasPrefix(name, "../")
	}
	return strings.CutPrefix(name, path.Clean(root)+"/")
}

// missingModule matches how Python and Node say that a package is missing.
var missingModule = lazyregexp.New(`(?m)(?:ModuleNotFoundError: No module named '([\w.]+)'|Cannot find (?:module|package) '([^'./][^']*)')`)

// MissingPackage returns the package that a log reports as not installed, or "" for none: the part of the name that can
// be installed, without submodules.
//
// The name comes from untrusted text, so it is only ever shown to a person or compared with a list that policy allows.
// It is never installed as it stands.
func MissingPackage(log string) string {
	m := missingModule.FindStringSubmatch(log)
	if m == nil {
		return ""
	}
	if m[1] != "" {
		name, _, _ := strings.Cut(m[1], ".")
		return name
	}
	parts := strings.Split(m[2], "/")
	if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
