package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/verify"
)

// A film is a series of looks at a workspace, and what was seen of them.
type film struct {
	*watching
	out    bytes.Buffer
	proofs int
	waits  []time.Duration
}

// newFilm shows these looks and ends; a look that begins with ! is an error. Each proof returns the next of docs, then always the last.
func newFilm(looks []string, docs ...run.Document) (*film, context.Context) {
	f := &film{}
	ctx, cancel := context.WithCancel(context.Background())
	line := cmdline.New(func(string) string { return "" }, strings.NewReader(""), &f.out, &f.out)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.watching = &watching{command: command{line}, settle: 2 * time.Second, now: func() time.Time { return at }}
	f.tell = f.print
	f.look = func(context.Context) (string, error) {
		if len(looks) == 0 {
			cancel()
			return "", ctx.Err()
		}
		now := looks[0]
		looks = looks[1:]
		if message, bad := strings.CutPrefix(now, "!"); bad {
			return "", errors.New(message)
		}
		return now, nil
	}
	f.prove = func(context.Context) run.Document {
		f.proofs++
		return docs[min(f.proofs, len(docs))-1]
	}
	f.pause = func(_ context.Context, d time.Duration) error {
		f.waits = append(f.waits, d)
		return nil
	}
	return f, ctx
}

func passed() run.Document {
	return run.Document{Run: "1k3", Exit: run.ExitDone, Verdict: verify.Pass, Candidates: []gate.Document{{}}}
}

func failed() run.Document {
	return run.Document{Run: "1k4", Exit: run.ExitFail, Verdict: verify.Fail, Error: &run.Problem{Message: "the patch failed"}, Candidates: []gate.Document{{Gates: []verify.Gate{{
		Name: "types", Findings: []verify.Finding{{File: "a.py", Line: 7, Message: "wrong\x1b[2J type"}, {File: "b.py", Message: "x"}},
	}}}}}
}

// A state is proved once it has settled, and never twice.
func TestWhatSettledIsProvedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		looks  string
		proofs int
	}{
		{"a a a a", 1}, {"a b c d", 0}, {"a b b b c c c", 2}, {"a a b a a", 1}, {"a a b b a a", 3}, {"a !gone a a", 1}, {"", 0},
	} {
		f, ctx := newFilm(strings.Fields(c.looks), passed())
		if err := f.watch(ctx); err != nil || f.proofs != c.proofs {
			t.Errorf("%s: %d proofs, %v", c.looks, f.proofs, err)
		}
	}
}

func TestStatesAreLines(t *testing.T) {
	t.Parallel()
	held := run.Document{Run: "1k5", Exit: run.ExitApproval, Error: &run.Problem{Message: "ci must be approved"}, Candidates: []gate.Document{{}}}
	down := run.Document{Exit: run.ExitInfra, Error: &run.Problem{Message: "no engine answers"}}
	blind := passed()
	blind.Unproven = []verify.Unproven{{Reason: "no test ran"}}
	f, ctx := newFilm(strings.Fields("a a b b c c d d e e f f !broken !broken"), passed(), failed(), held, down, blind, run.Document{Run: "1k6", Exit: run.ExitDone})
	if err := f.watch(ctx); err != nil {
		t.Error(err)
	}
	want := `03:04:05  proving
03:04:05  passes
03:04:05  proving
03:04:05  fails  2 findings  types a.py:7 wrong␛[2J type  agent runs show 1k4
03:04:05  proving
03:04:05  needs approval  ci must be approved  agent runs show 1k5
03:04:05  proving
03:04:05  not judged  no engine answers
03:04:05  proving
03:04:05  passes  not judged: no test ran
03:04:05  proving
03:04:05  as committed
03:04:05  not judged  broken
`
	if got := f.out.String(); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if longest := f.waits[7]; longest != retryTime {
		t.Errorf("what could not be judged is tried again after %s: %v", longest, f.waits)
	}
}

func TestStatesAreJSON(t *testing.T) {
	t.Parallel()
	f, ctx := newFilm(strings.Fields("a a"), failed())
	f.json = true
	if err := f.watch(ctx); err != nil {
		t.Error(err)
	}
	var list []State
	for _, text := range strings.Split(strings.TrimSpace(f.out.String()), "\n") {
		var s State
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		list = append(list, s)
	}
	if len(list) != 2 || list[0].State != "proving" || list[1].State != "failed" || len(list[1].Findings) != 2 || list[1].Findings[0].Gate != "types" || list[1].Findings[0].Line != 7 {
		t.Errorf("%+v", list)
	}
}

func TestOneVerdictEndsItWithItsCode(t *testing.T) {
	t.Parallel()
	for want, doc := range map[int]run.Document{0: passed(), run.ExitFail: failed(), run.ExitInfra: {Exit: run.ExitInfra}} {
		f, ctx := newFilm(strings.Fields("a a a"), doc)
		f.once = true
		err := f.watch(ctx)
		var reported fault.Reported
		errors.As(err, &reported)
		if reported.Exit != want || (err == nil) != (want == 0) {
			t.Errorf("%d: %v", want, err)
		}
	}
	f, ctx := newFilm(nil)
	f.once = true
	if err := f.watch(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("no verdict: %v", err)
	}
}

// A terminal has one line, which is rewritten in place.
func TestATerminalHasOneLine(t *testing.T) {
	t.Parallel()
	p := cmdlinetest.NewPerson(t, map[string]string{"TERM": "xterm", "COLUMNS": "30"})
	f, ctx := newFilm(strings.Fields("a a b b"), passed(), failed())
	f.Line = p.Line
	if err := f.watch(ctx); err != nil {
		t.Error(err)
	}
	if got := p.Whole(); strings.Count(got, "\n") != 1 || strings.Count(got, "\r\x1b[K") != 4 || !strings.Contains(got, "fails  2 findings …") {
		t.Errorf("%q", got)
	}
}
