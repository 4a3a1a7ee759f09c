package node

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/node/npmscript"
	"agent/verify/node/testreport"
)

// traced makes a check of tests report which of the requested lines the tests executed. Each node process gets a script that
// asks V8 and writes down the answer when the process ends. The program stays as it is.
func traced(run func(context.Context, check.Bench) check.Outcome) func(context.Context, check.Bench) check.Outcome {
	return func(ctx context.Context, b check.Bench) check.Outcome {
		b.Lines = b.Lines.Only(testreport.ScriptFile.MatchString)
		return check.Unmeasured(ctx, b, check.TestResult.Bad, func(ctx context.Context, b check.Bench) check.Outcome {
			if len(b.Lines) == 0 {
				return run(ctx, b)
			}
			if _, ok := reportLines(ctx, b, "ask"); !ok {
				b.Lines = nil
				return run(ctx, b)
			}
			out := run(ctx, b)
			out.Traced = traceOf(ctx, b)
			return out
		})
	}
}

// measured extends the environment of a command that runs tests so that its processes are measured.
func measured(b check.Bench, env map[string]string) map[string]string {
	if len(b.Lines) == 0 {
		return env
	}
	return npmscript.Joined(env, map[string]string{"NODE_OPTIONS": strings.TrimSpace("--require=" + b.Tools.NodeLines + " " + env["NODE_OPTIONS"])})
}

// Measured runs a command that may start node programs, through run, and returns which of Bench.Lines they executed. It
// returns nil if no lines of JavaScript are requested or they could not be measured.
func Measured(ctx context.Context, b check.Bench, cmd guest.Command, run func(guest.Command)) *check.Trace {
	b.Lines = b.Lines.Only(testreport.ScriptFile.MatchString)
	if len(b.Lines) > 0 {
		if _, ok := reportLines(ctx, b, "ask"); !ok {
			b.Lines = nil
		}
	}
	cmd.Env = measured(b, cmd.Env)
	if run(cmd); len(b.Lines) == 0 {
		return nil
	}
	return traceOf(ctx, b)
}

// reportLines starts the script that reads what the processes wrote down; the head of the script says more.
func reportLines(ctx context.Context, b check.Bench, what string) (res guest.Result, ok bool) {
	data, err := json.Marshal(b.Lines)
	if err != nil {
		return res, false
	}
	res, _, ok = b.Command(ctx, guest.Command{
		Args: []string{b.Tools.OwnNode, b.Tools.NodeLinesReport, what, compilerPath(b.Tools)}, Dir: check.Work, Stdin: data, MaxOutput: check.MaxToolOutput,
	})
	return res, ok && res.Exit == 0 && res.Stdout.Dropped == 0
}

// A lineAnswer is the document that node_lines_report.cjs prints; its head describes it.
type lineAnswer struct {
	check.Trace
	Never  []string `json:"never"`
	Idle   bool     `json:"idle"`
	Others []string `json:"others"`
}

// traceOf returns what the run that has just ended says of the lines; a trace without files if nothing can be told.
func traceOf(ctx context.Context, b check.Bench) *check.Trace {
	var a lineAnswer
	res, ok := reportLines(ctx, b, "answer")
	if !ok || json.Unmarshal(res.Stdout.Head, &a) != nil {
		return &check.Trace{}
	}
	a.Others = slices.DeleteFunc(a.Others, ofConfig.MatchString)
	maps.DeleteFunc(a.Code, func(p string, _ []int) bool {
		// A file that was loaded as it stands, and is also part of something built, may have been executed there.
		never, bundled := slices.Contains(a.Never, p), slices.ContainsFunc(a.Others, built.MatchString)
		return never && !a.tells(b.View, p) || len(a.Ran[p]) == 0 && bundled
	})
	t := check.Trace{Code: check.Lines{}, Ran: check.Lines{}}
	for p, list := range a.Code {
		if asked, ok := b.Lines[p]; ok {
			t.Code[p] = both(asked, list)
			t.Ran[p] = both(t.Code[p], a.Ran[p])
		}
	}
	return &t
}

// ofConfig matches the file that Vite makes from its configuration.
var ofConfig = lazyregexp.New(`\.timestamp-\d+-[0-9a-f]+\.mjs$`)

// built matches files that are made from others.
var built = lazyregexp.New(`(^|/)(?:dist|build|out|bundles?)/`)

// tells reports whether a file that nothing loaded, under its name or by a source map, was certainly not executed. It may
// have run as part of another one: of something built, or of TypeScript that something compiled.
func (a lineAnswer) tells(v check.View, p string) bool {
	if a.Idle {
		return true
	}
	loaded := slices.Clone(a.Others)
	for q := range a.Code {
		if !slices.Contains(a.Never, q) {
			loaded = append(loaded, q)
		}
	}
	return len(loaded) > 0 && !slices.ContainsFunc(a.Others, func(q string) bool { return !v.Has(q) || built.MatchString(q) }) &&
		(isScript(p) || slices.ContainsFunc(loaded, func(q string) bool { return typedScript.MatchString(path.Base(q)) }))
}

// typedScript matches the names of files that node runs only after something has compiled them.
var typedScript = lazyregexp.New(`\.(?:[cm]?ts|[jt]sx)$`)

// both returns the lines that are in two lists, in the order of the first.
func both(lines, others []int) []int {
	list := []int{}
	for _, n := range lines {
		if slices.Contains(others, n) {
			list = append(list, n)
		}
	}
	return list
}
