// Package crash reads what the runtimes of Python, node and Go write about an uncaught exception. It distinguishes
// reports from a program's own output by their form alone, and judges nothing.
package crash

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// A Report is what a runtime writes about an uncaught exception.
type Report struct {
	// Finding is where it happened, with the place in the workspace if it has one.
	check.Finding
	// last is the index of its last line.
	last int
	// Part says that it is about a thread, a task or a child: the runtime writes it and the program goes on. Otherwise
	// it is the last output of the program, or a report that the program wrote itself about an exception that it
	// caught.
	Part bool
}

// What runtimes write.
var (
	traceback = "Traceback (most recent call last):"
	frame     = lazyregexp.New(`^\s+File "([^"]+)", line (\d+)`)
	exception = lazyregexp.New(`^(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?::|$| \[)`)
	// partOf matches what Python's threading, multiprocessing and asyncio write before a traceback.
	partOf  = lazyregexp.New(`^Exception in thread |^Process \S+:$|Task exception was never retrieved$`)
	chained = lazyregexp.New(`^(?:The above exception was the direct cause of|During handling of the above exception, another)`)

	// In order: the version that node writes last, the place that it writes first, which may be one of its own, the
	// frames of the stack, and the file that imports a missing module.
	nodeBanner = lazyregexp.New(`^Node\.js v\d+\.\d+`)
	nodePlace  = lazyregexp.New(`^(?:file://)?(/work/[^:\n]+):(\d+)$`)
	nodeHead   = lazyregexp.New(`^(?:(?:file://)?/|node:|\[eval|evalmachine)[^:\n]*:\d+$`)
	nodeFrame  = lazyregexp.New(`^\s+at (?:.*\()?(?:file://)?(/work/[^:()\n]+):(\d+):\d+\)?(?: \{)?$`)
	nodeImport = lazyregexp.New(`^- (/work/.+)$| imported from (?:file://)?(/work/\S+)$`)

	// In order: the runtime's message, the head of a stack, and a place in it.
	goPanic   = lazyregexp.New(`^(?:panic|fatal error): `)
	goRoutine = lazyregexp.New(`^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[`)
	goFrame   = lazyregexp.New(`^\t(/\S+\.go):(\d+)`)
)

// Find returns the reports in what a program wrote to its standard error, in order, recognized by the form that its
// runtime gives them: a line that only says "Error:" is text, such as a log or a help message. Standard output is not
// read: what a program prints there is its own business.
func Find(text string) []Report {
	lines := strings.Split(text, "\n")
	found := slices.Concat(pythonReports(lines), nodeReports(lines), InGo(lines))
	slices.SortStableFunc(found, func(a, b Report) int { return cmp.Compare(a.last, b.last) })
	return found
}

// LastOwn returns the index of the last report about the whole program, or -1.
func LastOwn(reports []Report) int {
	for i, r := range slices.Backward(reports) {
		if !r.Part {
			return i
		}
	}
	return -1
}

// MaxAfter is how many lines may follow a report that ends a program: exit handlers run, and other threads may write.
const MaxAfter = 5

// Ends reports whether r is the last report that a program wrote.
func (r Report) Ends(lines []string) bool {
	after := 0
	for _, line := range lines[min(r.last+1, len(lines)):] {
		if line != "" && !indented(line) {
			after++
		}
	}
	return after <= MaxAfter
}

// indented reports whether a line continues a report: source, carets, frames.
func indented(line string) bool { return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") }

// place sets the file and line where it happened, if that is in the workspace.
func (r *Report) place(file, line string) {
	if rel := check.Relative(file, check.Work); rel != "" {
		r.File = rel
		r.Line, _ = strconv.Atoi(line)
	}
}

// say sets the rule and message from the line of the exception.
func (r *Report) say(line string) {
	rule, _, _ := strings.Cut(line, ":")
	r.Rule, r.Message = path.Base(check.Shorten(rule)), check.Shorten(line)
}

// pythonReports finds tracebacks followed by an exception, and exceptions with frames but without a traceback, which is
// how Python rejects a program that does not parse.
func pythonReports(lines []string) []Report {
	var found []Report
	var at Report // the one that is being read
	inTrace, frames, part := false, false, false
	for i, line := range lines {
		if m := frame.FindStringSubmatch(line); m != nil {
			frames = true
			at.place(m[1], m[2]) // the last frame is the relevant one
			continue
		}
		switch {
		case strings.HasSuffix(line, traceback):
			inTrace, frames, at = true, false, Report{Part: part}
		case partOf.MatchString(line):
			part = true
		case chained.MatchString(line):
			part = len(found) > 0 && found[len(found)-1].Part
		case strings.HasPrefix(line, "future: "), line == "", indented(line):
			// A task's own line, source lines and carets between the frames.
		case inTrace, frames && exception.MatchString(line):
			at.say(line)
			at.last = i
			found = append(found, at)
			inTrace, frames, part, at = false, false, false, Report{}
		default:
			// Any other line separates what came before from what follows.
			frames, part, at = false, false, Report{}
		}
	}
	if inTrace { // cut off: it is still a report
		at.say(traceback)
		at.Rule, at.last = "traceback", len(lines)-1
		found = append(found, at)
	}
	return found
}

// nodeReports finds what node writes before it exits: a place, the source with a caret, the exception, its stack, and
// finally node's version, which identifies the report.
func nodeReports(lines []string) []Report {
	var found []Report
	from := 0
	for i, line := range lines {
		if !nodeBanner.MatchString(line) {
			continue
		}
		if r, ok := nodeReport(lines[from:i]); ok {
			r.last = i
			found = append(found, r)
		}
		from = i + 1
	}
	return found
}

// nodeReport reads the report at the end of lines.
func nodeReport(lines []string) (Report, bool) {
	var r Report
	// From the end: earlier output of the program may also look like a place.
	head := len(lines) - 1
	for head >= 0 && !nodeHead.MatchString(lines[head]) {
		head--
	}
	if head < 0 {
		return r, false
	}
	if m := nodePlace.FindStringSubmatch(lines[head]); m != nil {
		r.place(m[1], m[2])
	}
	caret := false
	for _, line := range lines[head+1:] {
		switch {
		case line != "" && strings.Trim(line, " \t^~") == "":
			caret = true
		case caret && line != "" && r.Message == "":
			r.say(line)
			if !exception.MatchString(line) {
				r.Rule = "uncaught" // anything can be thrown
			}
		}
		// For an error of node itself, the place comes further down.
		if m := nodeFrame.FindStringSubmatch(line); m != nil && r.Line == 0 {
			r.place(m[1], m[2])
		} else if m := nodeImport.FindStringSubmatch(line); m != nil && r.File == "" {
			r.place(m[1]+m[2], "")
		}
	}
	return r, r.Message != ""
}

// InGo finds panics and fatal errors that are followed by stacks.
func InGo(lines []string) []Report {
	var found []Report
	// A report counts only once a stack follows: any program can write the words alone.
	var at *Report
	stack := false
	for i, line := range lines {
		m := goFrame.FindStringSubmatch(line)
		switch {
		case goPanic.MatchString(line):
			at, stack = &Report{}, false
			at.say(line)
		case at == nil:
		case goRoutine.MatchString(line):
			if !stack {
				found = append(found, *at)
			}
			stack = true
			found[len(found)-1].last = i
		case stack && m != nil:
			r := &found[len(found)-1]
			r.last = i
			// Use the first place inside the workspace: the stack begins at the panic.
			if r.File == "" {
				r.place(m[1], m[2])
			}
		}
	}
	return found
}
