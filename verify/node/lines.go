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

// traced has a check of tests tell which of the lines that it is asked about they executed: each
// process of node is given a script that asks V8 and writes that down when it ends. The program stays as it is.
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

// measured adds to the environment of a command that runs tests what has its processes be measured.
func measured(b check.Bench, env map[string]string) map[string]string {
	if len(b.Lines) == 0 {
		return env
	}
	return npmscript.Joined(env, map[string]string{"NODE_OPTIONS": strings.TrimSpace("--require=" + b.Tools.NodeLines + " " + env["NODE_OPTIONS"])})
}

// Measured runs a command that may start programs of node, as run does, and says which of Bench.Lines these executed; nil
// where nobody asks about JavaScript or it was not measured.
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

// reportLines starts the script that reads what processes wrote down; its head says more.
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

// traceOf is what the run that has just ended says of the lines; a trace of no file where nothing can be told.
func traceOf(ctx context.Context, b check.Bench) *check.Trace {
	var a lineAnswer
	res, ok := reportLines(ctx, b, "answer")
	if !ok || json.Unmarshal(res.Stdout.Head, &a) != nil {
		return &check.Trace{}
	}
	a.Others = slices.DeleteFunc(a.Others, ofConfig.MatchString)
	maps.DeleteFunc(a.Code, func(p string, _ []int) bool {
		// What was loaded as it stands, and as part of what was built as well, may have been executed there.
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

// ofConfig matches the file that Vite makes of its configuration.
var ofConfig = lazyregexp.New(`\.timestamp-\d+-[0-9a-f]+\.mjs$`)

// built matches the files that come of others.
var built = lazyregexp.New(`(^|/)(?:dist|build|out|bundles?)/`)

// tells reports whether a file was not executed that nothing loaded under its name or by a source map. It may
// have been as part of another one: of what was built, or of TypeScript that somebody compiled.
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

// typedScript matches the names of files that node runs only when something compiles them.
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
