package python

import (
	"context"
	"encoding/json"
	"slices"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
)

// Where trace_plan.py leaves what trace.py reads, and where that marks what was executed.
// The first is also in trace.pth.
const (
	traceAsked = "/tmp/agent-trace.asked"
	traceMarks = "/tmp/agent-trace.marks"
)

// mostTraced bounds the lines of one request, so that the marks are never more than the
// guest collects.
const mostTraced = 500_000

// A Tracer measures which of Bench.Lines the programs of Python in one box execute. A nil
// one measures nothing.
type Tracer struct {
	// Of each file the lines on which something can be executed, and the places of their marks.
	places map[string][][2]int
	// As they were after the last command.
	marks []byte
}

// NewTracer has every interpreter that is started in the box from here on marked. What can be
// executed is read before anything of the workspace runs. It returns nil where nobody asks
// about Python, or when it cannot be measured.
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

// Command is Bench.Command for one that may start programs of Python.
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

// Trace says what was executed; nil when nothing was measured.
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
			// Fewer marks than there were is the doing of what ran.
			if place < len(t.marks) && t.marks[place] != 0 {
				ran = append(ran, line)
			}
		}
		trace.Code[file], trace.Ran[file] = code, ran
	}
	return trace
}
