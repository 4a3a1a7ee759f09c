package verify

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/sandbox/guest"
)

// How long the program is watched, and how long it may take to end when it is
// told to. A server has come up or fallen over within ten seconds; what a program
// does later is for the tests.
const (
	smokeTime  = 10 * time.Second
	smokeGrace = 2 * time.Second
)

// exitNotFound is how env ends when there is no such program.
const exitNotFound = 127

// An ending is how the program of the smoke gate behaved.
type ending struct {
	// The exit status; -1 with a signal.
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Still there when the watch was over, as a server is.
	Running bool `json:"running,omitempty"`
	// Running, and at work for more than half of the time, or ready for it on a
	// machine that has other things to do: a loop, not a wait.
	Busy bool `json:"busy,omitempty"`
	// What its crash reports say, each once, volatile parts removed.
	Crashes []string `json:"crashes,omitempty"`
	// The last crash with a place in the workspace, else the last one.
	Where Finding `json:"where"`
}

// smokeCommand starts the program as the guest's own child, with no shell
// between them whose status would stand for the program's. Its input is empty.
func smokeCommand(b bench) guest.Command {
	seconds := smokeTime
	if s := time.Duration(b.smoke.Seconds) * time.Second; s > 0 {
		seconds = min(s, smokeTime)
	}
	// A copy: the entry belongs to both sides.
	env := maps.Clone(b.entry.env)
	if env == nil {
		env = map[string]string{}
	}
	// What is configured wins, PYTHONPATH included.
	maps.Copy(env, b.smoke.Env)
	return guest.Command{Args: b.entry.args, Dir: work, Env: env, Timeout: seconds, Grace: smokeGrace}
}

// runSmoke starts the program and watches it. Processes that it leaves behind
// are killed by the guest and held against nobody: programs that fork into the
// background are common.
func runSmoke(ctx context.Context, b bench) outcome {
	if len(b.entry.args) == 0 {
		return outcome{}
	}
	cmd := smokeCommand(b)
	res, out, _ := b.command(ctx, cmd)
	switch {
	case out.Verdict == OOM || res.Killed:
		return out // no ending was seen, only that of the box
	case out.Verdict == Infra && res.Exit == 0 && res.Signal == "":
		return out // the guest did not run it
	}
	// Anything else is an ending like any other for a program, as a deadline
	// or a signal is not for a tool.
	out.Verdict = ""
	end := readEnding(res)
	out.Ending = &end
	out.Detail = fmt.Sprintf("%s: %s", b.entry, end)
	end.Where.Source = newSources(b.view).line(end.Where.File, end.Where.Line)
	return out
}

// String tells an ending to people.
func (e ending) String() string {
	switch {
	case e.Running:
		return "still running when the watch was over"
	case e.Signal != "":
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Exit)
}

// crashed reports whether the ending alone is one of a crash.
func (e ending) crashed() bool { return !e.Running && (e.Exit != 0 || e.Signal != "") }

// readEnding reads exit status and crash reports of a program.
func readEnding(res guest.Result) ending {
	e := ending{Exit: res.Exit, Signal: res.Signal, Running: res.TimedOut}
	e.Busy = e.Running && res.Wall > 0 && res.CPU+res.Waited > res.Wall/2
	// A running program is ended by the watch, not by itself.
	if e.Running {
		e.Exit, e.Signal = 0, "" // how it took the order to end is not judged
	}
	seen := map[string]bool{}
	for _, report := range crashReports(clean(whole(res.Stderr))) {
		text := volatile.ReplaceAllString(report.Message, "N")
		// The last report inside the workspace is the one to look at: in a chain of
		// exceptions it is the one that nobody caught.
		if !seen[text] {
			seen[text] = true
			e.Crashes = append(e.Crashes, text)
		}
		if report.File != "" || e.Where.File == "" {
			e.Where = report
		}
	}
	return e
}

// volatile is what differs between two runs of the same crash: addresses,
// times, ports, process numbers.
var volatile = regexp.MustCompile(`0x[0-9a-fA-F]+|\d+`)

// What a runtime's report of an uncaught exception looks like.
var (
	traceback = "Traceback (most recent call last):"
	frame     = regexp.MustCompile(`^\s+File "([^"]+)", line (\d+)`)
	exception = regexp.MustCompile(`^(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?::|$| \[)`)
	nodePlace = regexp.MustCompile(`^(?:file://)?(/work/[^:\n]+):(\d+)$`)
)

// crashReports finds the reports in what a program wrote to its standard error:
// Python's tracebacks with the exception after them, and lines that begin with
// the name of an error, which is how node ends a report. An indented line, or
// such a word further on, is only text. Standard output is not looked at: what a
// program prints there is its own business.
func crashReports(text string) []Finding {
	var found []Finding
	var at Finding // the last place inside the workspace
	inTrace := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := frame.FindStringSubmatch(line); m != nil {
			if file := relative(m[1], work); file != "" {
				at.File = file
				at.Line, _ = strconv.Atoi(m[2])
			}
			continue
		}
		// node names the place before the report, and no function with it.
		if m := nodePlace.FindStringSubmatch(line); m != nil {
			at.File = relative(m[1], work)
			at.Line, _ = strconv.Atoi(m[2])
			continue
		}
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case strings.HasSuffix(line, traceback):
			inTrace, at = true, Finding{}
		case line == "" || indented:
			// Source lines and carets between the frames.
		case inTrace || exception.MatchString(line):
			rule, _, _ := strings.Cut(line, ":")
			at.Rule, at.Message = path.Base(shorten(rule)), shorten(line)
			// The place belongs to this report alone.
			found = append(found, at)
			inTrace, at = false, Finding{}
		}
	}
	if inTrace { // cut off: the report is one all the same
		at.Rule, at.Message = "traceback", traceback
		found = append(found, at)
	}
	return found
}

// judgeSmoke holds against the patch what the unpatched program did not do. So a
// program that needs arguments, a network or a key, and ends with a message about
// it, is no obstacle: it must only end in the same way. Which crashes occur counts,
// not how often, since a server that tries again does so a different number of times.
func judgeSmoke(base, cand outcome, _ diff) Gate {
	g := gateOf(gateSmoke, cand)
	if g.Verdict != "" {
		return g
	}
	now := *cand.Ending
	// A program that the patch brings has to end well.
	then := ending{}
	if base.Ending != nil {
		then = *base.Ending
	}
	var fresh []string
	for _, c := range now.Crashes {
		if slices.Contains(then.Crashes, c) {
			g.Old++
		} else {
			fresh = append(fresh, c)
		}
	}
	differs := now.Exit != then.Exit || now.Signal != then.Signal || then.Running
	g.Verdict = Pass
	switch {
	case now.Exit == exitNotFound && then.Exit == exitNotFound:
		// A configured command that is not there proves nothing about any patch.
		g.Verdict = Infra
		g.Detail += ": the command is not in the box: correct [smoke] command in agent.toml"
	case len(fresh) > 0 || now.crashed() && differs:
		g.Verdict = Fail
		g.Findings = append(g.Findings, smokeFinding(now, g))
	case now.Running && now.Busy && base.Ending != nil && !then.Running && !then.crashed():
		g.Verdict = Timeout
		g.Findings = append(g.Findings, Finding{
			Rule: "endless", Message: "the program ended by itself before the patch; now it runs busily without an end",
		})
	case now.crashed():
		g.Old = max(g.Old, 1)
		g.Detail += ", as before the patch"
	}
	return g
}

// smokeFinding points at the crash, or says how the program ended when it
// left no report.
func smokeFinding(e ending, g Gate) Finding {
	if e.Where.Message != "" {
		return e.Where
	}
	message := "the program did not run as before: " + e.String()
	if last := firstLine(lastLine(g.Output)); last != "" {
		message += ": " + last
	}
	return Finding{Rule: "exit", Message: shorten(message)}
}

// lastLine is the last line of text that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
