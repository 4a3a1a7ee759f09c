package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/plan"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/run"
)

// A show displays a running plan on stderr. On a terminal that can move its cursor it redraws the tree in place, with
// the activity of each running task, below the events so far. Elsewhere it prints a line for each event.
type show struct {
	line  *cmdline.Line
	began time.Time

	mu      sync.Mutex
	plan    crew.Plan
	doing   map[int]string // the activity of each task's run; 0 for the whole
	drawn   int            // lines of the tree on the screen
	paused  int            // questions that have the terminal
	waiting []string       // events during a question, printed after it
	hidden  bool

	asking sync.Mutex // one question at a time
}

// newShow returns the show of a plan.
func newShow(line *cmdline.Line, p crew.Plan) *show {
	return &show{line: line, began: time.Now(), plan: p, doing: map[int]string{}, hidden: term.Terminal(line.Stderr) == nil || line.Getenv("TERM") == "dumb"}
}

// note handles an event of the plan.
func (s *show) note(n builder.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Text != "" {
		s.plan = n.Plan
	}
	if e := n.Event; e != nil {
		if text := said(*e); text != "" && s.doing[n.Task] != text {
			s.doing[n.Task] = text
			s.draw("")
		}
		return
	}
	s.draw(fmt.Sprintf("%6s  %s", time.Since(s.began).Round(time.Second), term.CleanLine(n.Text)))
}

// said returns what an event says about the progress of a run, or "".
func said(e run.Event) string {
	switch {
	case e.State != "" && e.Note != "":
		return string(e.State) + ": " + term.CleanLine(e.Note)
	case e.State != "":
		return string(e.State)
	case e.Gate != nil && e.Gate.Gate != "":
		return "gate " + e.Gate.Gate
	case e.Model != nil && e.Model.Model != "":
		return "asks " + term.CleanLine(e.Model.Model)
	}
	return ""
}

// draw prints a line about an event, unless it is "", and the tree below it.
func (s *show) draw(happened string) {
	w := s.line.Stderr
	if s.paused > 0 {
		if happened != "" {
			s.waiting = append(s.waiting, happened)
		}
		return
	}
	if s.hidden {
		if happened != "" {
			fmt.Fprintln(w, happened)
		}
		return
	}
	var b strings.Builder
	s.erase(&b)
	columns, rows := s.line.Size(w)
	if happened != "" {
		b.WriteString(clip(happened, columns) + "\n")
	}
	pal := s.line.Palette(w)
	lines := plan.Lines(pal, s.plan)
	for _, t := range s.plan.Tasks {
		if t.State == crew.Running && s.doing[t.N] != "" {
			lines = append(lines, pal.Dim(fmt.Sprintf("  %d: %s", t.N, s.doing[t.N])))
		}
	}
	if s.doing[0] != "" {
		lines = append(lines, pal.Dim("  whole: "+s.doing[0]))
	}
	if most := max(3, rows-4); len(lines) > most {
		lines = append(lines[:most-1], pal.Dim(fmt.Sprintf("  and %d more lines", len(lines)-most+1)))
	}
	for _, l := range lines { // a wrapped line would take more lines than erase removes
		b.WriteString(clip(l, columns) + "\n")
	}
	s.drawn = len(lines)
	io.WriteString(w, b.String())
}

// erase removes the tree from the screen.
func (s *show) erase(b *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(b, "\x1b[%dA\x1b[J", s.drawn)
	}
	s.drawn = 0
}

// clip cuts a line, which may hold colours and wide characters, to less than the width of a terminal.
func clip(s string, columns int) string { return ansi.Truncate(s, columns-1, "…") }

// close removes the tree from the screen permanently: the result that is printed next contains it.
func (s *show) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hidden {
		var b strings.Builder
		s.erase(&b)
		io.WriteString(s.line.Stderr, b.String())
	}
	s.hidden = true
}

// pause leaves the terminal to a question until the returned function is called.
func (s *show) pause() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused++; !s.hidden {
		var b strings.Builder
		s.erase(&b)
		io.WriteString(s.line.Stderr, b.String())
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.paused--; s.paused > 0 {
			return
		}
		columns, _ := s.line.Size(s.line.Stderr)
		for _, happened := range s.waiting {
			if !s.hidden {
				happened = clip(happened, columns)
			}
			fmt.Fprintln(s.line.Stderr, happened)
		}
		if s.waiting = nil; !s.hidden {
			s.draw("")
		}
	}
}

// An approver asks while the show is off the screen.
type approver struct {
	*checkpoint.Approver
	show *show
}

// Approve implements run.Approver.
func (a approver) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	defer a.show.pause()()
	return a.Approver.Approve(ctx, p)
}

// A stepper asks the user before each step.
type stepper struct {
	line *cmdline.Line
	show *show

	ended bool // the user wants no more questions
}

// ask implements builder.Builder.Step. Tasks start at the same time, but the questions about them come one after the
// other: each takes the terminal.
func (s *stepper) ask(ctx context.Context, step builder.Step) (builder.StepAnswer, error) {
	s.show.asking.Lock()
	defer s.show.asking.Unlock()
	if s.ended { // set while this question waited
		return builder.StepAnswer{Abort: true}, nil
	}
	defer s.show.pause()()
	what := "Judge the whole now?"
	if step.Task != nil {
		what = fmt.Sprintf("Begin task %d, %s?", step.Task.N, term.CleanLine(step.Task.Title))
		fmt.Fprintf(s.line.Stderr, "\n%s\n", strings.TrimSpace(term.Clean(step.Text)))
	}
	q := term.Question{Text: what, Default: 'b', Choices: []term.Choice{{Key: 'b', Name: "begin", Help: "do it now", More: "y"}}}
	if step.Task != nil {
		q.Choices = append(q.Choices,
			term.Choice{Key: 'e', Name: "edit", Help: "edit the engineer's instructions in your editor"},
			term.Choice{Key: 's', Name: "skip", Help: "skip the task; tasks that depend on it wait", More: "n"})
	}
	q.Choices = append(q.Choices, term.Choice{Key: 'q', Name: "quit", Help: "stop here; `agent build --resume` continues"})
	for {
		key, err := s.line.Ask(ctx, q)
		if errors.Is(err, io.EOF) { // Ctrl-D, or the terminal went away
			s.ended = true
			return builder.StepAnswer{Abort: true}, nil
		}
		if err != nil {
			return builder.StepAnswer{}, err
		}
		switch key {
		case 's':
			return builder.StepAnswer{Skip: true}, nil
		case 'q':
			s.ended = true
			return builder.StepAnswer{Abort: true}, nil
		case 'e':
			texts, err := s.line.EditTexts(ctx, map[string][]byte{"task.txt": []byte(step.Text)})
			if err != nil {
				fmt.Fprintln(s.line.Stderr, term.CleanLine(err.Error()))
				continue
			}
			if text := strings.TrimSpace(string(texts["task.txt"])); text != "" {
				return builder.StepAnswer{Text: text}, nil
			}
			continue
		}
		return builder.StepAnswer{}, nil
	}
}
