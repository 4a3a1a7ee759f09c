package verify

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"agent/sandbox/guest"
)

// How long the program is watched, and how long it may take to end when it is
// told to. A server has come up or fallen over within ten seconds; what a program
// does later is for the tests. One that answers is not watched longer than that
// takes: see guest.Watch.
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
	// Running, and it was ready for its work: it answered, or wrote the text that
	// is configured. It was not watched any longer then.
	Settled bool `json:"settled,omitempty"`
	// What makes it ready is configured.
	Asked bool `json:"asked,omitempty"`
	// Those on which it listened at the end of the watch.
	Ports []guest.Port `json:"ports,omitempty"`
	// Running, and at work for more than half of the time, or ready for it on a
	// machine that has other things to do: a loop, not a wait.
	Busy bool `json:"busy,omitempty"`
	// What its crash reports say, each once, volatile parts removed.
	Crashes []string `json:"crashes,omitempty"`
	// It ended with the status that means a wrong command line, and showed the right one.
	Usage bool `json:"usage,omitempty"`
	// How long it ran, the processor time of all its processes, and how many
	// bytes it wrote on both streams.
	Wall  time.Duration `json:"wall,omitempty"`
	CPU   time.Duration `json:"cpu,omitempty"`
	Wrote int64         `json:"wrote,omitempty"`
	// How long, at the end of the watch, it had not been at work.
	Rested time.Duration `json:"rested,omitempty"`
	// The last crash with a place in the workspace, else the last one.
	Where Finding `json:"where"`
	// The last report of an exception, be it one that was caught.
	Told Finding `json:"told"`
}

// smokeCommand starts the program as the guest's own child, with no shell
// between them whose status would stand for the program's. Its input is empty.
func smokeCommand(b bench) (guest.Command, error) {
	watch, err := b.smoke.watch()
	if err != nil {
		return guest.Command{}, err
	}
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
	return guest.Command{Args: b.entry.args, Dir: work, Env: env, Timeout: seconds, Grace: smokeGrace, Watch: &watch}, nil
}

// runSmoke starts the program and watches it. Processes that it leaves behind
// are killed by the guest and held against nobody: programs that fork into the
// background are common.
func runSmoke(ctx context.Context, b bench) outcome {
	if len(b.entry.args) == 0 {
		return outcome{}
	}
	made, built := b.build(ctx)
	if !built {
		return made
	}
	cmd, err := smokeCommand(b)
	if err != nil {
		return infra("[smoke] %v", err)
	}
	res, out, _ := b.command(ctx, cmd)
	out.Seconds, out.Peak = out.Seconds+made.Seconds, max(out.Peak, made.Peak)
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
	end.Asked = b.smoke.Ready != ""
	out.Ending = &end
	out.Detail = fmt.Sprintf("%s: %s", b.entry, end)
	lines := newSources(b.view)
	end.Where.Source = lines.line(end.Where.File, end.Where.Line)
	end.Told.Source = lines.line(end.Told.File, end.Told.Line)
	return out
}

// String tells an ending to people.
func (e ending) String() string {
	switch ports := served(e.Ports); {
	case e.Settled:
		return strings.TrimPrefix(ports+", still running when it was ready", ", ")
	case e.Running:
		return strings.TrimSuffix("still running when the watch was over, "+ports, ", ")
	case e.Signal != "":
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Exit)
}

// crashed reports whether the ending alone is one of a crash.
func (e ending) crashed() bool { return !e.Running && (e.Exit != 0 || e.Signal != "") }

// readEnding reads exit status and crash reports of a program.
func readEnding(res guest.Result) ending {
	e := ending{
		Exit: res.Exit, Signal: res.Signal, Running: res.TimedOut || res.Settled, Settled: res.Settled, Ports: res.Ports,
		Wall: res.Wall, CPU: res.CPU + res.Waited, Wrote: written(res.Stdout) + written(res.Stderr), Rested: res.Rested,
	}
	e.Busy = res.TimedOut && res.Wall > 0 && e.CPU > res.Wall/2
	// A running program is ended by the watch, not by itself.
	if e.Running {
		e.Exit, e.Signal = 0, "" // how it took the order to end is not judged
	}
	text := clean(whole(res.Stderr))
	e.Usage = (e.Exit == exitUsage || e.Exit == exitBSDUsage) && usageText.MatchString(text+"\n"+clean(whole(res.Stdout)))
	lines := strings.Split(text, "\n")
	reports := crashReports(text)
	own := lastOwn(reports)
	for i, report := range reports {
		e.Told = report.Finding
		// What a program caught it may tell as it likes: only the end of one that
		// did not end well is a crash, and what the runtime says of its parts. Of a
		// chain of exceptions that is the last: nobody caught that one.
		if !report.part && (i != own || !e.crashed() || !report.ends(lines)) {
			continue
		}
		text := volatile.ReplaceAllString(report.Message, "N")
		if !slices.Contains(e.Crashes, text) {
			e.Crashes = append(e.Crashes, text)
		}
		if report.File != "" || e.Where.File == "" {
			e.Where = report.Finding
		}
	}
	return e
}

// The statuses of a wrong command line: that of most programs, and that of BSD's
// sysexits.h.
const (
	exitUsage    = 2
	exitBSDUsage = 64
)

// usageText is how the right one is shown.
var usageText = regexp.MustCompile(`(?im)^\s*usage\b`)

// written counts all the bytes of a stream.
func written(o guest.Output) int64 { return int64(len(o.Head)+len(o.Tail)) + o.Dropped }

// volatile is what differs between two runs of the same crash: addresses,
// times, ports, process numbers.
var volatile = regexp.MustCompile(`0x[0-9a-fA-F]+|\d+`)

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
	// A new program may want to be called otherwise.
	asks := base.Ending == nil && now.Usage
	broken, isBroken := serverTrouble(base.Ending, now)
	g.Verdict = Pass
	switch {
	case now.Exit == exitNotFound && then.Exit == exitNotFound:
		// A configured command that is not there proves nothing about any patch.
		g.Verdict = Infra
		g.Detail += ": the command is not in the box: correct [smoke] command in agent.toml"
	case len(fresh) > 0 || now.crashed() && differs && !asks:
		g.Verdict = Fail
		g.Findings = append(g.Findings, smokeFinding(now, g))
	case now.Running && now.Busy && base.Ending != nil && !then.Running && !then.crashed():
		g.Verdict = Timeout
		g.Findings = append(g.Findings, Finding{
			Rule: ruleEndless, Message: "the program ended by itself before the patch; now it runs busily without an end",
		})
	case isBroken:
		g.Verdict = Fail
		g.Findings = append(g.Findings, broken)
	case onlyWaits(base.Ending, now):
		g.Verdict = Fail
		g.Findings = append(g.Findings, Finding{
			Rule: ruleWait, Message: "the program did its work and ended before the patch; now it only waits, without output",
		})
	case asks:
		g.Detail += ", with a text on how to call it"
	case now.crashed():
		g.Old = max(g.Old, 1)
		g.Detail += ", as before the patch"
	}
	return g
}

// smokeFinding points at the crash, or says how the program ended when it
// left no report.
func smokeFinding(e ending, g Gate) Finding {
	if len(e.Crashes) > 0 {
		return e.Where
	}
	message := "the program did not run as before: " + e.String()
	if last := firstLine(lastLine(g.Output)); last != "" {
		message += ": " + last
	}
	return Finding{Rule: ruleExit, Message: shorten(message)}
}

// lastLine is the last line of text that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
