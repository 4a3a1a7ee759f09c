package python

import (
	"context"
	"encoding/json"
	"slices"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
)

// traceAsked is where trace_plan.py leaves the input of trace.py, and traceMarks is where trace.py marks what was executed.
// The first path is also in trace.pth.
const (
	traceAsked = "/tmp/agent-trace.asked"
	traceMarks = "/tmp/agent-trace.marks"
)

// mostTraced bounds the lines of one request, so that the marks never exceed what the guest collects.
const mostTraced = 500_000

// A Tracer measures which of Bench.Lines the Python programs in one box execute. A nil Tracer measures nothing.
type Tracer struct {
	// places lists, for each file, the lines on which something can be executed, and the positions of their marks.
	places map[string][][2]int
	// marks are the marks after the last command.
	marks []byte
}

// NewTracer makes every interpreter that starts in the box from now on leave marks. It reads what can be executed before
// anything of the workspace runs. It returns nil if no Python lines are asked about, or if they cannot be measured.
func NewTracer(ctx context.Context, b check.Bench) *Tracer {
	total := 0
	asked := b.Lines.Only(func(p string) bool {
		l := lang.Detect(p, b.View.Text(p))
		return l != nil && l.Family == lang.Python
	})
	for _, lines := range asked {
		total += len(lines)
	}
	if total == 0 || total > mostTraced {
		return nil
	}
	request, err := json.Marshal(asked)
	if err != nil {
		return nil
	}
	res, _, done := b.Command(ctx, guest.Command{
		Args: []string{b.Tools.Python, "-I", "-S", "-B", b.Tools.Trace, check.Work, traceAsked, traceMarks}, Dir: check.Work,
		Stdin: request, MaxOutput: check.MaxToolOutput,
	})
	t := &Tracer{}
	if !done || res.Exit != 0 || json.Unmarshal(res.Stdout.Head, &t.places) != nil {
		return nil
	}
	return t
}

// Command is Bench.Command for a command that may start Python programs.
func (t *Tracer) Command(ctx context.Context, b check.Bench, cmd guest.Command) (guest.Result, check.Outcome, bool) {
	if t != nil {
		cmd.Collect = append(slices.Clone(cmd.Collect), traceMarks)
	}
	res, out, done := b.Command(ctx, cmd)
	if t != nil && res.Files[traceMarks] != nil {
		t.marks = res.Files[traceMarks]
	}
	return res, out, done
}

// Trace returns what was executed, or nil if nothing was measured.
func (t *Tracer) Trace() *check.Trace {
	if t == nil || t.marks == nil {
		return nil
	}
	trace := &check.Trace{Code: check.Lines{}, Ran: check.Lines{}}
	for file, lines := range t.places {
		code, ran := []int{}, []int{}
		for _, l := range lines {
			line, place := l[0], l[1]
			code = append(code, line)
			// If there are fewer marks than before, the code that ran removed them.
			if place < len(t.marks) && t.marks[place] != 0 {
				ran = append(ran, line)
			}
		}
		trace.Code[file], trace.Ran[file] = code, ran
	}
	return trace
}
