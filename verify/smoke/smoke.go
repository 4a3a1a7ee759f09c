// Package smoke finds the program of a workspace, starts it, watches it, and compares its behaviour with that before the
// patch. In a workspace without a program, it imports what others may import.
package smoke

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/python"
)

// How long the program is watched, and how long it may take to end after the order to do so. Within ten seconds a server has
// come up or fallen over; what a program does later is for the tests. A program that answers is not watched beyond its
// answer: see guest.Watch.
const (
	smokeTime  = 10 * time.Second
	smokeGrace = 2 * time.Second
	// lookTime is how long a guessed program is watched while it listens on nothing: during its imports and the start of its
	// work.
	lookTime = 3 * time.Second
)

// ExitNotFound is the exit status of env if the program does not exist.
const ExitNotFound = 127

// smokeCommand starts the program as the guest's own child, without a shell in between whose status would replace the
// program's. Its input is empty.
func smokeCommand(b check.Bench) (guest.Command, error) {
	watch, err := b.Smoke.Watch()
	if err != nil {
		return guest.Command{}, err
	}
	seconds := smokeTime
	if s := time.Duration(b.Smoke.Seconds) * time.Second; s > 0 {
		seconds = min(s, smokeTime)
	}
	if b.Entry.Guess {
		watch.Look = lookTime
	}
	// The entry belongs to both sides, hence the copy.
	env := maps.Clone(b.Entry.Env)
	if env == nil {
		env = map[string]string{}
	}
	// Configured variables win, PYTHONPATH included.
	maps.Copy(env, b.Smoke.Env)
	return guest.Command{Args: b.Entry.Args, Dir: check.Work, Env: env, Timeout: seconds, Grace: smokeGrace, Watch: &watch}, nil
}

// run starts the program and watches it. The guest kills processes that the program leaves behind, and they are not held
// against it: programs that fork into the background are common.
func run(ctx context.Context, b check.Bench) check.Outcome {
	if len(b.Entry.Args) == 0 {
		return check.Outcome{}
	}
	made, built := build(ctx, b)
	if !built {
		return made
	}
	cmd, err := smokeCommand(b)
	if err != nil {
		return check.Infraf("[smoke] %v", err)
	}
	tracer := python.NewTracer(ctx, b)
	var res guest.Result
	var out check.Outcome
	scripts := node.Measured(ctx, b, cmd, func(cmd guest.Command) { res, out, _ = tracer.Command(ctx, b, cmd) })
	out.Traced = tracer.Trace().With(scripts)
	out.Seconds, out.Peak = out.Seconds+made.Seconds, max(out.Peak, made.Peak)
	switch {
	case out.Verdict == check.OOM || res.Killed:
		return out // only the end of the box was seen, not of the program
	case out.Verdict == check.Infra && res.Exit == 0 && res.Signal == "":
		return out // the guest did not run it
	}
	// Anything else is an ordinary ending for a program, even a deadline or a signal, which would not be one for a tool.
	out.Verdict = ""
	end := readEnding(res)
	end.Asked, end.Command = b.Smoke.Ready != "", b.Entry.Args
	end.Glanced = b.Entry.Guess && res.TimedOut && len(res.Ports) == 0
	if len(b.Entry.Build) > 0 {
		end.Command = slices.Concat([]string{"go"}, end.Command)
	}
	out.Ending = &end
	out.Detail = fmt.Sprintf("%s: %s", b.Entry, end)
	lines := check.NewSources(b.View)
	end.Where.Source = lines.Line(end.Where.File, end.Where.Line)
	end.Told.Source = lines.Line(end.Told.File, end.Told.Line)
	return out
}

// judge holds against the patch what the unpatched program did not do. So a program that needs arguments, a network or a
// key, and ends with a message about it, is not an obstacle: it must only end in the same way. Which crashes occur counts,
// but not how often, since the number of attempts of a server that tries again varies.
func judge(base, cand check.Outcome, d check.Diff) check.Gate {
	g := check.GateOf(check.GateSmoke, cand)
	if g.Verdict != "" {
		return g
	}
	now := *cand.Ending
	// A program that the patch adds must end well.
	then := check.Ending{}
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
	// A new program may need other arguments.
	asks := base.Ending == nil && now.Usage
	broken, isBroken := serverTrouble(base.Ending, now)
	rests, isIdle := idle(base.Ending, now, d)
	g.Verdict = check.Pass
	switch {
	case now.Exit == ExitNotFound && then.Exit == ExitNotFound:
		// A configured command that does not exist proves nothing about any patch.
		g.Verdict = check.Infra
		g.Detail += ": the command is not in the box: correct [smoke] command in agent.toml"
	case len(fresh) > 0 || now.Crashed() && differs && !asks:
		g.Verdict = check.Fail
		g.Findings = append(g.Findings, smokeFinding(now, g))
	case now.Running && now.Busy && base.Ending != nil && !then.Running && !then.Crashed():
		g.Verdict = check.Timeout
		g.Findings = append(g.Findings, check.Finding{
			Rule: ruleEndless, Message: "the program ended by itself before the patch; now it keeps running and stays busy",
		})
	case isBroken:
		g.Verdict = check.Fail
		if broken.Rule == RuleEnded {
			g.Verdict = check.Policy
		}
		g.Findings = append(g.Findings, broken)
	case isIdle:
		g.Verdict = check.Policy
		g.Findings = append(g.Findings, rests)
	case onlyWaits(base.Ending, now):
		g.Verdict = check.Fail
		g.Findings = append(g.Findings, check.Finding{
			Rule: ruleWait, Message: "the program did its work and ended before the patch; now it only waits, without output",
		})
	case asks:
		g.Detail += ", with a usage message"
	case now.Crashed():
		g.Old = max(g.Old, 1)
		g.Detail += ", as before the patch"
	}
	return g
}

// Unequal reports whether only one of two endings was cut short after a look, so that they do not compare. That side, the
// candidate if cand is true, must be watched to the end.
func Unequal(before, after check.Outcome) (cand, unequal bool) {
	if before.Ending == nil || after.Ending == nil {
		return false, false
	}
	return after.Ending.Glanced, before.Ending.Glanced != after.Ending.Glanced
}

// smokeFinding points at the crash, or says how the program ended if it left no report.
func smokeFinding(e check.Ending, g check.Gate) check.Finding {
	if len(e.Crashes) > 0 {
		return e.Where
	}
	message := "the program did not run as before: " + e.String()
	if last := check.FirstLine(check.LastLine(g.Output)); last != "" {
		message += ": " + last
	}
	return check.Finding{Rule: ruleExit, Message: check.Shorten(message)}
}

// These are the names of the checks of a program.
const (
	ProgramName = "program"
	ImportsName = "imports"
)

// Program starts the program of the workspace. Only the entries say whether there is one.
var Program = check.Check{
	Name: ProgramName, Gate: check.GateSmoke, Group: check.GroupSmoke, Run: run, Judge: judge, Planted: planted, Prove: prove,
}

// planted holds programs that crash and programs that do not, one of them a server.
var planted = map[string]string{
	"sound.py":         check.PlantedSound,
	"crash.py":         "def start():\n    raise LookupError(\"planted\")\n\n\nstart()\n",
	"control/clean.js": "const answer = 42;\nconsole.log(answer);\n",
	"server.py": "import http.server\n\n\nclass Page(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(204)\n        self.end_headers()\n\n\n" +
		"http.server.HTTPServer((\"127.0.0.1\", 8000), Page).serve_forever()\n",
}

// prove starts programs that crash and programs that do not, and requires that the server among them is seen and asked. If
// the box does not show what listens, a server cannot be told from a program that only waits.
func prove(ctx context.Context, b check.Bench) error {
	for file, want := range map[string]check.Verdict{"crash.py": check.Fail, "sound.py": check.Pass, "control/clean.js": check.Pass, "server.py": check.Pass} {
		b.Entry = startFile(b.View, b.Tools, file)
		out := run(ctx, b)
		if out.Verdict != "" {
			return errors.New(out.Detail)
		}
		g := judge(check.Outcome{}, out, check.Diff{})
		if g.Verdict != want {
			return fmt.Errorf("the start of %s was judged %s: %s", file, g.Verdict, g.Detail)
		}
		if ports := out.Ending.Ports; file == "server.py" && (len(ports) != 1 || ports[0].Port != 8000 || ports[0].Status != 204) {
			return fmt.Errorf("the ending of %s was: %s", file, out.Ending)
		}
		// A report without its place would be of no use for fixing the crash.
		if want == check.Fail && (g.Findings[0].File != file || g.Findings[0].Line != 2) {
			return fmt.Errorf("the crash of %s was placed at %s:%d", file, g.Findings[0].File, g.Findings[0].Line)
		}
	}
	return nil
}
