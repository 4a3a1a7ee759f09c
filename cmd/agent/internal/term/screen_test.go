package term

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// screenLines is the number of lines of these tests' terminals.
const screenLines = 24

// A scene is what a person sees of a run: its board, then its result.
type scene struct {
	*Board
	result func(run.Document)
	// The gates take their time to report.
	after func(time.Duration)
}

// did reports gates that began and ended, one after another.
func (s scene) did(candidate int, gates ...verify.Event) {
	for _, g := range gates {
		s.Event(run.Event{Candidate: candidate, Gate: &verify.Event{Gate: g.Gate, Baseline: g.Baseline}})
		s.after(time.Duration(g.Seconds * float64(time.Second)))
		g.Done = true
		s.Event(run.Event{Candidate: candidate, Gate: &g})
	}
}

// begins reports a gate that works from now on.
func (s scene) begins(candidate int, gate string, baseline bool) {
	s.Event(run.Event{Candidate: candidate, Gate: &verify.Event{Gate: gate, Baseline: baseline}})
}

// asks reports a question that is answered after 6.2 seconds.
func (s scene) asks(step string) {
	s.Event(run.Event{Model: &agent.Progress{Step: step, Stage: agent.Asked, Model: "gemini/gemini-2.5-flash", In: 3120, Estimated: true}})
	s.after(6200 * time.Millisecond)
	s.Event(run.Event{Model: &agent.Progress{Step: step, Stage: agent.Answered, In: 3094, Out: 410, Seconds: 6.2, Cost: 2100, Priced: true}})
}

// state reports that the run enters another state.
func (s scene) state(state run.State, note string) { s.Event(run.Event{State: state, Note: note}) }

// pass returns the event of a gate that passed after this many seconds.
func pass(gate string, seconds float64, detail string) verify.Event {
	return verify.Event{Gate: gate, Verdict: verify.Pass, Seconds: seconds, Detail: detail}
}

// gates returns every gate of a patch that passes; the tests come last, after a wait.
func gates() []verify.Event {
	return []verify.Event{
		pass("format", 0.1, "ruff format"), pass("syntax", 0, "parsed 2 of 2 changed files"),
		pass("lint", 0.4, "ruff check over the workspace"), pass("types", 1.9, "mypy over the workspace"),
		pass("smoke", 10, "still running when the watch was over"), pass("tests", 3.2, "14 passed"),
	}
}

// green is a run whose patch passes.
func green(s scene) {
	s.state(run.Queued, "patch good.xml")
	s.state(run.Analyzing, "scan the workspace")
	s.state(run.Verifying, "2 files changed")
	s.did(0, verify.Event{Gate: "lint", Baseline: true, Seconds: 0.5})
	s.did(0, gates()...)
	s.Event(run.Event{Verdict: verify.Pass})
	s.state(run.Promoting, "")
	s.state(run.Promoted, "")
	s.result(screenPromoted())
}

// atWork is the same run before its end.
func atWork(s scene) {
	s.state(run.Queued, "patch good.xml")
	s.state(run.Verifying, "2 files changed")
	s.did(0, gates()[:3]...)
	s.begins(0, "types", true)
	s.begins(0, "types", false)
	s.begins(0, "smoke", false)
	s.after(1900 * time.Millisecond)
	s.Event(run.Event{Gate: &verify.Event{Gate: "types", Waiting: true, Seconds: 1.9, Detail: "waiting for baseline"}})
	s.after(2 * time.Second)
	s.Event(run.Event{Gate: &verify.Event{Gate: "tests", Baseline: true, Done: true, Detail: "baseline cached"}})
}

// refused is a run whose patch breaks a caller.
func refused(s scene) {
	s.state(run.Queued, "patch breaks-caller.xml")
	s.state(run.Verifying, "1 file changed")
	s.did(0, gates()[:3]...)
	s.did(0, verify.Event{Gate: "types", Verdict: verify.Fail, Seconds: 1.9, Detail: "mypy over the workspace", New: 2})
	s.Event(run.Event{Verdict: verify.Fail})
	s.state(run.Rejected, "")
	s.result(termtest.Rejected())
}

// three is a run of three candidates: one failed, one is at work, one waits.
func three(s scene) {
	s.state(run.Analyzing, "scan the workspace")
	s.state(run.Proposing, "never go below zero")
	for _, step := range []string{"propose/1", "propose/2", "propose/3"} {
		s.asks(step)
	}
	s.state(run.Verifying, "3 candidates")
	s.did(2, gates()[:3]...)
	s.did(1, gates()[:3]...)
	s.did(2, verify.Event{Gate: "types", Verdict: verify.Fail, Seconds: 1.9, Detail: "mypy over the workspace", New: 2})
	s.Event(run.Event{Candidate: 2, Verdict: verify.Fail})
	s.begins(1, "tests", false)
	s.begins(1, "smoke", false)
	s.after(2 * time.Second)
	s.did(1, gates()[3])
}

// decided is the end of that run.
func decided(s scene) {
	three(s)
	s.did(1, gates()[4:]...)
	s.Event(run.Event{Candidate: 1, Verdict: verify.Pass})
	s.did(3, gates()[:2]...)
	s.Event(run.Event{Candidate: 3, Gate: &verify.Event{Gate: "contest", Done: true, Verdict: verify.Cancelled, Detail: "candidate 1 has passed"}})
	s.Event(run.Event{Candidate: 3, Verdict: verify.Cancelled})
	s.state(run.Promoted, "")
	d := screenPromoted()
	d.Candidates = append(d.Candidates,
		gate.Document{Verdict: verify.Fail, Gates: []verify.Gate{{Name: "types", Verdict: verify.Fail, Seconds: 1.9, Findings: make([]verify.Finding, 2), Tool: "mypy 1.15.0"}}},
		gate.Document{Verdict: verify.Cancelled, Gates: []verify.Gate{{Name: "contest", Verdict: verify.Cancelled, Detail: "candidate 1 has passed"}}})
	s.result(d)
}

// repair is a run whose second attempt is being written.
func repair(s scene) {
	s.state(run.Analyzing, "scan the workspace")
	s.state(run.Proposing, "never go below zero")
	s.asks("propose/1")
	s.state(run.Verifying, "1 candidate")
	s.did(0, gates()[:3]...)
	s.did(0, verify.Event{Gate: "types", Verdict: verify.Fail, Seconds: 1.9, Detail: "mypy over the workspace", New: 2})
	s.Event(run.Event{Verdict: verify.Fail})
	s.state(run.Proposing, "repair: types")
	s.Event(run.Event{Model: &agent.Progress{Step: "heal/1.2", Stage: agent.Asked, Model: "gemini/gemini-2.5-flash", In: 3420, Estimated: true}})
	s.after(3 * time.Second)
	s.Event(run.Event{Model: &agent.Progress{Step: "heal/1.2", Stage: agent.Writing, Text: "<EDIT file=\"shop/stock.py\">\n\tdef level(self, name: str) -> int:"}})
}

// conflict is a run whose files the user edited meanwhile.
func conflict(s scene) {
	s.state(run.Verifying, "2 files changed")
	s.did(0, gates()...)
	s.Event(run.Event{Verdict: verify.Pass})
	s.state(run.Promoting, "")
	s.state(run.Conflicted, "")
	d := screenPromoted()
	d.State, d.Verdict, d.Exit, d.Promotion = run.Conflicted, verify.Conflict, run.ExitConflict, nil
	d.Error = &run.Problem{
		Kind: run.ProblemConflict, Message: "changed on the host since the snapshot, or open for writing: shop/stock.py; nothing was written: run again to start from the current state",
		Next: "your edits were kept and nothing was written; make the patch again from the files as they are now",
	}
	s.result(d)
}

// cutOff is a run that a person ended with Ctrl-C.
func cutOff(s scene) {
	s.state(run.Verifying, "2 files changed")
	s.did(0, gates()[:3]...)
	s.begins(0, "tests", false)
	s.after(time.Second)
	s.notices.Say("agent: cancelling; interrupt again to exit at once")
	s.state(run.Cancelled, "")
	d := run.Document{
		Run: "1k3mzq8a0v2d", State: run.Cancelled, Verdict: verify.Cancelled, Workspace: "/home/me/shop", Exit: run.ExitCancelled,
		Error: &run.Problem{Kind: run.ProblemCancelled, Message: "cancelled; the workspace is untouched", Next: "run the same command again"},
	}
	s.result(d)
}

// screenPromoted is the document of the run that green shows.
func screenPromoted() run.Document {
	d := run.Document{
		Run: "1k3mzq8a0v2d", State: run.Promoted, Verdict: verify.Pass, Workspace: "/home/me/shop",
		Promotion: &run.DocumentPromotion{Diff: termtest.Diff, Files: []run.DocumentFile{{Path: "shop/stock.py", Op: workspace.Modify}, {Path: "new.txt", Op: workspace.Create}}},
	}
	c := gate.Document{Verdict: verify.Pass, Diff: termtest.Diff, Executed: []verify.Execution{{Path: "shop/stock.py", Lines: 3, Executed: 2}}}
	for _, g := range gates() {
		c.Gates = append(c.Gates, verify.Gate{Name: g.Gate, Verdict: g.Verdict, Seconds: g.Seconds, Detail: g.Detail})
	}
	d.Candidates = []gate.Document{c}
	return d
}

// The test compares what a person sees on a terminal of each width, with and without colours.
func TestScreens(t *testing.T) {
	t.Parallel()
	for name, show := range map[string]func(scene){
		"green": green, "at-work": atWork, "refused": refused, "candidates": three, "decided": decided, "repair": repair, "conflict": conflict, "cut-off": cutOff,
	} {
		for _, live := range []bool{true, false} {
			file := "screen-" + name
			if !live {
				file += "-plain"
			}
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				termtest.Screens(t, file+".txt", screenLines, func(columns int) string { return screen(t, show, columns, screenLines, live) })
			})
		}
	}
}

// screen returns the output of a scene on a terminal. Its clock stands still unless the scene lets time pass.
func screen(t *testing.T, show func(scene), columns, lines int, live bool) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		pal := Palette{on: live}
		b := &Board{
			w: &out, live: live, palette: pal, smoke: 10 * time.Second, done: make(chan struct{}), ticking: true, notices: NewNotices(&out),
			size: func() (int, int) { return columns, lines },
		}
		if live {
			b.notices.attach(b)
		}
		show(scene{Board: b, after: time.Sleep, result: func(d run.Document) {
			b.Fold()
			b.Close()
			summary{Out: &out, Palette: pal, columns: columns}.Document(d)
		}})
	})
	return out.String()
}

// Whatever a run reports, a frame fits the screen, none of its lines wraps, and it overwrites only the last frame.
func TestAFrameFitsEveryScreen(t *testing.T) {
	t.Parallel()
	for _, show := range []func(scene){atWork, three, repair} {
		for columns := 10; columns <= 130; columns += 15 {
			for _, lines := range []int{4, 7, 12, 24} {
				text := "above\n" + screen(t, show, columns, lines, true)
				shown := termtest.Screen(t, text, columns, lines)
				if n := strings.Count(shown, "\n"); n > lines || !strings.Contains(shown, "above\n") {
					t.Errorf("on %d by %d there are %d lines:\n%s", columns, lines, n, shown)
				}
			}
		}
	}
}
