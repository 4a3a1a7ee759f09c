package build

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/run"
	"agent/verify"
)

// row returns a plan of n tasks in a row, each with this title, of which the first is running.
func row(n int, title string) crew.Plan {
	p := crew.Plan{ID: 3, Workspace: "/w", Goal: "prices have a currency", State: crew.Building}
	for i := range n {
		t := crew.Task{N: i + 1, Title: title, Role: crew.Worker, State: crew.Waiting}
		if i > 0 {
			t.DependsOn = []int{i}
		} else {
			t.State = crew.Running
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

// film returns the final screen of a terminal of 24 by 80 after a series of notes, and the lines of those notes.
func film(t *testing.T, p crew.Plan, close bool) (screen string, told []string) {
	t.Helper()
	sits := cmdlinetest.NewPerson(t, nil)
	s := newShow(sits.Line, p)
	for i := range 12 {
		text := fmt.Sprintf("thing %d\x1b[2J happened %s", i, strings.Repeat("and more ", i))
		told = append(told, fmt.Sprintf("thing %d happened", i)) // Plain drops the rest
		s.note(builder.Note{Plan: p, Text: text})
		s.note(builder.Note{Task: 1, Event: &run.Event{State: "verifying", Note: strings.Repeat("x\n", 60)}})
		s.note(builder.Note{Event: &run.Event{Gate: &verify.Event{Gate: fmt.Sprint("gate", i)}}})
	}
	if close {
		s.close()
	}
	return termtest.Plain(t, sits.Whole(), 80, 24), told
}

// The tree appears once, below the notes, whatever the titles and however many the tasks. No part of an older tree
// stays above it, and no tree stays at the end.
func TestTheTreeIsDrawnInPlace(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]crew.Plan{
		"short": row(3, "first"), "wide": row(3, strings.Repeat("wide ", 24)), "double": row(3, strings.Repeat("広い", 20)), "many": row(40, "first"), "many and wide": row(40, strings.Repeat("広い ", 17)), "none": {ID: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen, told := film(t, p, false)
			lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
			if n := strings.Count(screen, "▸ running"); n != min(1, len(p.Tasks)) {
				t.Errorf("the tree is there %d times:\n%s", n, screen)
			}
			if !strings.Contains(screen, told[11]) || strings.Count(screen, told[11]) != 1 || len(p.Tasks) <= 3 && strings.Count(screen, "whole: gate gate11") != 1 {
				t.Errorf("what happened last:\n%s", screen)
			}
			if hint := lines[len(lines)-1]; len(p.Tasks) > 20 && !strings.Contains(hint, "more lines") {
				t.Errorf("the last line is %q", hint)
			}
			screen, _ = film(t, p, true)
			lines = strings.Split(strings.TrimRight(screen, "\n"), "\n")
			for i, line := range lines[max(0, len(lines)-3):] {
				if want := told[12-min(3, len(lines))+i]; !strings.Contains(line, want) {
					t.Errorf("in the end %q stands where %q was told:\n%s", line, want, screen)
				}
			}
		})
	}
}

func TestWithoutATerminalThingsAreLines(t *testing.T) {
	t.Parallel()
	dumb := cmdlinetest.NewPerson(t, map[string]string{"TERM": "dumb"})
	var out bytes.Buffer
	for _, line := range []*cmdline.Line{cmdline.New(func(string) string { return "" }, strings.NewReader(""), &out, &out), dumb.Line} {
		s := newShow(line, row(2, "first"))
		s.note(builder.Note{Plan: row(2, "second"), Task: 1, Text: "task 1: begun\nand\x1b[2J more"})
		s.note(builder.Note{Task: 1, Event: &run.Event{State: "verifying"}})
		s.pause()()
		s.note(builder.Note{Plan: row(2, "second"), Text: strings.Repeat("long ", 100)})
		s.close()
	}
	for _, text := range []string{out.String(), strings.ReplaceAll(dumb.Whole(), "\r\n", "\n")} {
		if lines := strings.Split(text, "\n"); len(lines) != 3 || !strings.HasSuffix(lines[0], "s  task 1: begun␊and␛[2J more") || len(lines[1]) < 500 || strings.Contains(text, "\x1b") {
			t.Errorf("%q", text)
		}
	}
}

func TestWhatAnEventSays(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]run.Event{
		"":                    {Gate: &verify.Event{}, Model: &agent.Progress{}},
		"verifying":           {State: "verifying"},
		"healing: again␛[2J":  {State: "healing", Note: "again\x1b[2J"},
		"gate types":          {Gate: &verify.Event{Gate: "types"}},
		"asks ollama␊/x␛[31m": {Model: &agent.Progress{Model: "ollama\n/x\x1b[31m"}},
	} {
		if got := said(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Many tasks report at once while a question uses the terminal: the tree is not drawn over the question.
func TestAQuestionHasTheTerminal(t *testing.T) {
	t.Parallel()
	sits := cmdlinetest.NewPerson(t, nil)
	s := newShow(sits.Line, row(3, "first"))
	s.note(builder.Note{Plan: row(3, "first"), Text: "before"})
	goesOn := s.pause()
	fmt.Fprintln(sits.TTY, "QUESTION")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s.note(builder.Note{Plan: row(3, "first"), Text: fmt.Sprintf("told %d.", i)})
			s.note(builder.Note{Task: 1, Event: &run.Event{Note: "n", State: run.State(fmt.Sprint("state ", i))}})
		})
	}
	all.Wait()
	fmt.Fprintln(sits.TTY, "ANSWER")
	goesOn()
	s.note(builder.Note{Plan: row(3, "first"), Text: "after"})
	_, asked, _ := strings.Cut(sits.Whole(), "QUESTION")
	asked, after, _ := strings.Cut(asked, "ANSWER")
	if strings.Contains(asked, "\x1b[") || strings.Contains(asked, "1. first") || strings.Contains(asked, "told ") {
		t.Errorf("beside the question:\n%q", asked)
	}
	if strings.Count(after, "1. first") != 2 || strings.Count(after, "told ") != 20 {
		t.Errorf("after it:\n%q", after)
	}
}

// `--step` asks before each task, and lets the person change its words, and before the whole plan is judged.
func TestAStepIsAskedAbout(t *testing.T) {
	t.Parallel()
	task := crew.Task{N: 2, Title: "second\x1b[2J"}
	for name, c := range map[string]struct {
		task *crew.Task
		keys []string // typed when the question appears again
		edit [2]string
		want builder.StepAnswer
	}{
		"begin": {&task, []string{"b"}, [2]string{}, builder.StepAnswer{}}, "yes": {&task, []string{"y"}, [2]string{}, builder.StepAnswer{}}, "enter": {&task, []string{"\r"}, [2]string{}, builder.StepAnswer{}},
		"skip": {&task, []string{"s"}, [2]string{}, builder.StepAnswer{Skip: true}}, "no": {&task, []string{"n"}, [2]string{}, builder.StepAnswer{Skip: true}}, "quit": {&task, []string{"q"}, [2]string{}, builder.StepAnswer{Abort: true}},
		"edit":                {&task, []string{"e"}, [2]string{"do", "undo"}, builder.StepAnswer{Text: "undo it"}},
		"edited into nothing": {&task, []string{"e", "s"}, [2]string{"do it", ""}, builder.StepAnswer{Skip: true}},
		"left as it was":      {&task, []string{"e", "q"}, [2]string{"zzz", ""}, builder.StepAnswer{Abort: true}},
		"no editor":           {&task, []string{"e", "b"}, [2]string{"none", "none"}, builder.StepAnswer{}},
		"the whole":           {nil, []string{"s", "b"}, [2]string{}, builder.StepAnswer{}}, "not the whole": {nil, []string{"q"}, [2]string{}, builder.StepAnswer{Abort: true}},
		"the end of input": {&task, []string{"\x04"}, [2]string{}, builder.StepAnswer{Abort: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"EDITOR": "/no/editor"}
			if c.edit[0] != "none" {
				env["EDITOR"] = termtest.Editor(t, c.edit[0], c.edit[1])
			}
			sits := cmdlinetest.NewPerson(t, env)
			s := &stepper{line: sits.Line, show: newShow(sits.Line, row(2, "first"))}
			type answer struct {
				builder.StepAnswer
				err error
			}
			got := make(chan answer, 1)
			go func() {
				a, err := s.ask(t.Context(), builder.Step{Task: c.task, Text: "do it\n"})
				got <- answer{a, err}
			}()
			for i, key := range c.keys {
				sits.Sees(t, "[b]egin", i+1)
				sits.Types(t, key)
			}
			if a := <-got; a.StepAnswer != c.want || a.err != nil {
				t.Errorf("%+v, %v", a.StepAnswer, a.err)
			}
			if shown := sits.Screen(); c.task != nil && !strings.Contains(shown, "second␛[2J") || c.task == nil && strings.Contains(shown, "[s]kip") {
				t.Errorf("%q", shown)
			}
		})
	}
	// Tasks that begin together are asked about one after the other; a caller that gives up asks no more.
	sits := cmdlinetest.NewPerson(t, nil)
	s := &stepper{line: sits.Line, show: newShow(sits.Line, row(2, "first"))}
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := s.ask(ctx, builder.Step{Task: &task, Text: "do it"})
			errs <- err
		}()
	}
	sits.Sees(t, "[b]egin", 1)
	if n := strings.Count(sits.Screen(), "[b]egin"); n != 1 {
		t.Errorf("%d are asked about at once", n)
	}
	cancel()
	for range 2 {
		if err := <-errs; err == nil {
			t.Error("a question that was cancelled is answered")
		}
	}
}

// Events during a question are shown after it, and a person who quits at a question is not asked the next one.
func TestNothingIsToldIntoAQuestion(t *testing.T) {
	t.Parallel()
	task := crew.Task{N: 1, Title: "first"}
	sits := cmdlinetest.NewPerson(t, nil)
	s := &stepper{line: sits.Line, show: newShow(sits.Line, row(2, "first"))}
	got := make(chan builder.StepAnswer, 2)
	for range 2 {
		go func() {
			a, err := s.ask(t.Context(), builder.Step{Task: &task, Text: "do it"})
			if err != nil {
				t.Error(err)
			}
			got <- a
		}()
	}
	sits.Sees(t, "[b]egin", 1)
	s.show.note(builder.Note{Plan: row(2, "first"), Text: "task 9: done"})
	if strings.Contains(sits.Screen(), "task 9: done") {
		t.Errorf("told into the question: %q", sits.Screen())
	}
	sits.Types(t, "q")
	for range 2 {
		if a := <-got; !a.Abort {
			t.Errorf("%+v", a)
		}
	}
	sits.Sees(t, "task 9: done", 1)
	if n := strings.Count(sits.Screen(), "[b]egin"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
