// Package watch implements `agent watch`, which proves the working tree whenever it settles.
package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/proof"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/forge/revision"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

const (
	// lookShare bounds the cost of looking: the pause between two looks is this many times as long as a look takes.
	lookShare = 10
	// retryTime is how long to wait before something that could not be judged is tried again, if nothing changes.
	retryTime = 30 * time.Second
)

// A State is what is known of the working tree at a time, as `agent watch --json` prints it, one per line.
type State struct {
	// State is one of proving, passed, failed, held, unjudged and unchanged.
	State string    `json:"state" jsonschema:"enum=proving,enum=passed,enum=failed,enum=held,enum=unjudged,enum=unchanged"`
	At    time.Time `json:"at"`
	Run   string    `json:"run,omitempty"`
	// Findings are those that the change brings, by gate.
	Findings []Finding `json:"findings"`
	// Unproven is what no gate judged.
	Unproven []verify.Unproven `json:"unproven"`
	Error    *run.Problem      `json:"error"`
}

// A Finding is one of a State.
type Finding struct {
	Gate string `json:"gate"`
	verify.Finding
}

type command struct{ *cmdline.Line }

// Command returns the command that watches a workspace.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "watch", Usage: "prove the working tree whenever it settles",
		Description: "As you or a coding agent edit, the working tree is proved against HEAD each time it was left\n" +
			"alone for a while, and one line shows its state. Nothing is written to the workspace; what\n" +
			"git ignores is not looked at. Ctrl-C ends it. With --json each state is a line of JSON, for\n" +
			"editors. With --once it ends with the first verdict, and with its exit code.\n\n" + cmdline.Examples(
			"agent watch", "next to an editor",
			"agent watch --once", "prove what is not committed yet",
			"agent watch --json --settle 5s", "for an editor"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.DurationFlag{Name: "settle", Value: 2 * time.Second, Usage: "prove once nothing has changed for `TIME`"},
			&cli.BoolFlag{Name: "once", Usage: "end with the first verdict", DisableDefaultText: true},
			cmdline.AllowFlag(), cmdline.NoInstallFlag(), cmdline.JSONFlag(cmdline.Document[State]("watch", 1)),
		},
		Action: c.watch,
	}
}

// watch runs the command.
func (c command) watch(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	settle := ctx.Duration("settle")
	if settle < 100*time.Millisecond {
		return fault.Usage("use e.g. 500ms or 2s", "invalid duration %q (minimum 100ms)", settle)
	}
	return proof.With(ctx.Context, c.Line, set, true, func(p *proof.Prover) error {
		w := follow(p, settle)
		w.command, w.once, w.json = c, ctx.Bool("once"), set.On("json")
		w.tell = w.print
		return w.watch(ctx.Context)
	})
}

// Follow proves the working tree of p each time it has not changed for settle, and reports each state to tell. It
// returns nil when ctx ends, or the error of tell.
func Follow(ctx context.Context, p *proof.Prover, settle time.Duration, tell func(State) error) error {
	w := follow(p, settle)
	w.tell = tell
	return w.watch(ctx)
}

// follow returns a watch of the working tree of p; its tell is not set yet.
func follow(p *proof.Prover, settle time.Duration) *watching {
	return &watching{
		settle: settle, pause: cmdline.Pause, now: time.Now,
		look: func(ctx context.Context) (string, error) { return look(ctx, p) },
		prove: func(ctx context.Context) run.Document {
			head, err := head(ctx, p.Repo)
			if err != nil {
				return run.Document{Exit: run.ExitInfra, Error: &run.Problem{Message: err.Error(), Next: "see `git status`"}}
			}
			return p.WorkingTree(ctx, "what is not committed yet", head)
		},
	}
}

// head returns the last commit, or the empty tree before the first one.
func head(ctx context.Context, repo *revision.Repository) (string, error) {
	head, err := repo.Commit(ctx, "HEAD")
	if none, ok := errors.AsType[*revision.NoRevisionError](err); ok && none.Name == "HEAD" {
		return revision.EmptyTree, nil
	}
	return head, err
}

// look identifies what there is to prove: the files and the commit under them.
func look(ctx context.Context, p *proof.Prover) (string, error) {
	files, err := workspace.Rescan(ctx, p.Request.Place.Path, p.Request.Exclude, workspace.Limits{})
	if err != nil {
		return "", err
	}
	head, err := head(ctx, p.Repo)
	return head + " " + files.Digest(), err
}

// A watching is one run of the command.
type watching struct {
	command
	settle     time.Duration
	once, json bool
	look       func(context.Context) (string, error)
	prove      func(context.Context) run.Document
	pause      func(context.Context, time.Duration) error
	now        func() time.Time
	tell       func(State) error

	open bool // a status line is on the terminal, without its end
}

// watch looks and proves until it is told to end.
func (w *watching) watch(ctx context.Context) error {
	defer w.end()
	last, judged, broken := "", "", ""
	var doc run.Document // of the judged state
	for {
		began := w.now()
		there, err := w.look(ctx)
		wait := max(w.settle, lookShare*w.now().Sub(began))
		switch {
		case ctx.Err() != nil:
			return w.ended(ctx)
		case err != nil && err.Error() != broken:
			broken = err.Error()
			if err := w.show(State{State: "unjudged", Error: &run.Problem{Message: broken, Next: "it is checked again"}}); err != nil {
				return err
			}
		case err == nil && broken != "" && there == judged: // unchanged since then
			broken = ""
			if err := w.show(stateOf(doc)); err != nil {
				return err
			}
		case err == nil && there == last && there != judged:
			broken = ""
			if doc, err = w.judge(ctx); err != nil || w.once {
				return err
			}
			judged = there
			if doc.Exit == run.ExitInfra {
				judged, wait = "", max(wait, retryTime)
			}
		}
		last = there
		if w.pause(ctx, wait) != nil {
			return w.ended(ctx)
		}
	}
}

// ended returns the result when the watch is told to end: nil, unless a verdict was asked for.
func (w *watching) ended(ctx context.Context) error {
	if w.once {
		return ctx.Err()
	}
	return nil
}

// judge proves the current state, and shows the result.
func (w *watching) judge(ctx context.Context) (run.Document, error) {
	if err := w.show(State{State: "proving"}); err != nil {
		return run.Document{}, err
	}
	doc := w.prove(ctx)
	if ctx.Err() != nil {
		return doc, w.ended(ctx)
	}
	err := w.show(stateOf(doc))
	if err == nil && w.once && doc.Exit != run.ExitDone {
		err = fault.Reported{Exit: doc.Exit}
	}
	return doc, err
}

// stateOf returns the state for a verdict.
func stateOf(doc run.Document) State {
	s := State{Run: doc.Run, Unproven: doc.Unproven, Error: doc.Error}
	switch doc.Exit {
	case run.ExitDone:
		s.State = "passed"
		if len(doc.Candidates) == 0 {
			s.State = "unchanged"
		}
	case run.ExitFail:
		s.State = "failed"
	case run.ExitApproval:
		s.State = "held"
	default:
		s.State = "unjudged"
	}
	if n := len(doc.Candidates); n > 0 {
		for _, g := range doc.Candidates[n-1].Gates {
			for _, f := range g.Findings {
				s.Findings = append(s.Findings, Finding{g.Name, f})
			}
		}
	}
	return s
}

// show completes a state and reports it.
func (w *watching) show(s State) error {
	s.At = w.now().UTC()
	if s.Findings == nil {
		s.Findings = []Finding{}
	}
	if s.Unproven == nil {
		s.Unproven = []verify.Unproven{}
	}
	return w.tell(s)
}

// print prints a state: as a line of JSON, by rewriting the line of a terminal, or as a new line.
func (w *watching) print(s State) error {
	if w.json {
		return term.PrintJSONLine(w.Stdout, s)
	}
	text := w.now().Format(time.TimeOnly) + "  " + s.Line()
	if term.Terminal(w.Stdout) == nil || w.Getenv("TERM") == "dumb" {
		_, err := fmt.Fprintln(w.Stdout, text)
		return err
	}
	columns, _ := w.Size(w.Stdout)
	w.open = true
	_, err := fmt.Fprint(w.Stdout, "\r\x1b[K", ansi.Truncate(text, max(columns-1, 1), "…"))
	return err
}

// end ends the line on the terminal.
func (w *watching) end() {
	if w.open {
		fmt.Fprintln(w.Stdout)
	}
}

// Line describes a state in one line, which is safe to show.
func (s State) Line() string {
	words := []string{map[string]string{"passed": "passes", "failed": "fails", "held": "needs approval", "unjudged": "not judged", "unchanged": "as committed"}[s.State]}
	if words[0] == "" {
		words[0] = s.State
	}
	if n := len(s.Findings); n > 0 {
		f := s.Findings[0]
		place := f.File
		if f.Line > 0 {
			place += fmt.Sprintf(":%d", f.Line)
		}
		words = append(words, run.Count(n, "finding"), strings.TrimSpace(f.Gate+" "+place+" "+f.Message))
	} else if s.Error != nil {
		words = append(words, s.Error.Message)
	}
	for i, u := range s.Unproven {
		if i == 0 {
			words = append(words, "not judged: "+u.Reason)
		}
	}
	if s.Run != "" && s.State != "passed" && s.State != "unchanged" {
		words = append(words, "agent runs show "+s.Run)
	}
	return term.CleanLine(strings.Join(words, "  "))
}
