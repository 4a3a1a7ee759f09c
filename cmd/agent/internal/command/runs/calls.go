package runs

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/llm"
	"agent/orchestrator/store/calls"
)

// runsCalls returns the command that shows the questions to the models of a run, and their answers.
func (c command) runsCalls(which, about string) *cli.Command {
	return &cli.Command{
		Name: "calls", Usage: "list the requests of a run to models; --text shows what was said", ArgsUsage: which,
		Description: about + cmdline.Examples(
			"agent runs calls", "each request of the latest run: tokens, seconds, cost",
			"agent runs calls 1k3 --text", "questions and answers, word for word",
			"agent runs calls 1k3 --json", "all of it, for programs"),
		Flags: append(naming(),
			&cli.BoolFlag{Name: "text", Usage: "print questions and answers too", DisableDefaultText: true},
			cmdline.JSONFlag(cmdline.Document[[]CallRow]("calls", 1)),
		),
		Action: c.showCalls,
	}
}

// A CallRow is one request as `runs calls --json` prints it: which model was asked what, when, with which key, and with
// what result. Money is left out if the price is unknown.
type CallRow struct {
	Call      int64       `json:"call"`
	Step      string      `json:"step"`
	Attempt   int         `json:"attempt"`
	Purpose   string      `json:"purpose"`
	Template  string      `json:"template"`
	Vendor    string      `json:"vendor"`
	Model     string      `json:"model"`
	Version   string      `json:"version,omitempty"` // the vendor's name for the version that answered
	Key       string      `json:"key_id,omitempty"`
	Begun     time.Time   `json:"begun"`
	Ended     *time.Time  `json:"ended"` // null while in progress, and for ever if the process died
	Seconds   float64     `json:"seconds"`
	Usage     llm.Usage   `json:"usage"`
	Cost      *float64    `json:"cost"`
	ErrorKind string      `json:"error_kind,omitempty"`
	Detail    string      `json:"detail,omitempty"`
	Question  llm.Request `json:"question"`
	Answer    string      `json:"answer"`
	// The tool calls in the answer.
	Calls []llm.ToolCall `json:"calls,omitempty"`
	// Made are the calls that were carried out.
	Made []ToolRow `json:"made,omitempty"`
}

// A ToolRow is one tool call that was carried out, without its answer, which is in the next question.
type ToolRow struct {
	Number    int     `json:"number"` // in its conversation
	Tool      string  `json:"tool"`
	Arguments string  `json:"arguments"` // with credentials hidden
	Failed    bool    `json:"failed"`
	Bytes     int     `json:"bytes"` // shown to the model
	Seconds   float64 `json:"seconds"`
}

// made returns the calls that were carried out for the answer to the question of a step.
func made(list []conversation.Call, step string) []ToolRow {
	var rows []ToolRow
	for _, c := range list {
		if fmt.Sprintf("%s/r%d", c.Step, c.Round) == step {
			rows = append(rows, ToolRow{c.Number, c.Tool, c.Arguments, c.Failed, c.Shown, c.Took.Seconds()})
		}
	}
	return rows
}

// line describes a call on one line.
func (t ToolRow) line() string {
	failed := ""
	if t.Failed {
		failed = ", failed"
	}
	return fmt.Sprintf("%d %s %s (%d bytes, %.1f s%s)", t.Number, t.Tool, ansi.Truncate(term.CleanLine(t.Arguments), maxArguments, "…"), t.Bytes, t.Seconds, failed)
}

// maxArguments is the maximum width of a call's arguments on a line, in cells.
const maxArguments = 100

// newCallRow translates a request of the store.
//
// A request without an end has no end in the row, and one without a price has no cost: readers would add up a zero.
func newCallRow(e calls.Exchange) CallRow {
	row := CallRow{
		Call: e.Number, Step: e.Step, Attempt: e.Attempt, Purpose: e.Purpose, Template: e.Template, Vendor: e.Vendor, Model: e.Model,
		Version: e.Version, Key: e.Key, Begun: e.Begun, Seconds: e.Duration.Seconds(), Usage: e.Usage,
		ErrorKind: string(e.Kind), Detail: e.Detail, Question: e.Question, Answer: e.Text, Calls: e.Calls,
	}
	if !e.Ended.IsZero() {
		row.Ended = &e.Ended
	}
	if e.Priced {
		// The store counts in millionths, so that sums are exact; people and scripts read the unit of the prices.
		cost := float64(e.Cost) / 1e6
		row.Cost = &cost
	}
	return row
}

// showCalls prints the requests of one run.
//
// It lists the requests of every attempt, including those that failed and those that another model finally answered:
// each may have cost something.
func (c command) showCalls(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		d, err := named(ctx, s, set)
		if err != nil {
			return err
		}
		found, err := s.DB.Exchanges(ctx.Context, d.ID)
		if err != nil {
			return err
		}
		called, err := s.DB.ToolCalls(ctx.Context, d.ID)
		if err != nil {
			return err
		}
		rows := []CallRow{}
		for _, e := range found {
			row := newCallRow(e)
			if e.Kind == "" { // a failed attempt led to none
				row.Made = made(called, e.Step)
			}
			rows = append(rows, row)
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, rows)
		}
		if len(rows) == 0 {
			fmt.Fprintf(c.Stderr, "run %s asked no model\n", d.ID)
			return nil
		}
		return term.Print(c.Stdout, func(w io.Writer) error {
			for _, r := range rows {
				r.print(w, ctx.Bool("text"), c.Palette(c.Stdout))
			}
			return nil
		})
	})
}

// print prints a request on one line, a second line for an error, and with text also the texts of both sides.
//
// Everything that a model or a vendor wrote is cleaned before it is printed; the JSON has it verbatim.
func (r CallRow) print(w io.Writer, text bool, p term.Palette) {
	fmt.Fprintf(w, "%s %s\n", p.Bold(term.CleanLine(fmt.Sprintf("%s %s/%s", r.Step, r.Vendor, r.Model))), term.CleanLine(r.line()))
	if r.ErrorKind != "" {
		fmt.Fprintf(w, "  %s\n", p.Warn(term.CleanLine(r.ErrorKind+": "+r.Detail)))
	}
	if !text {
		for _, t := range r.Made {
			fmt.Fprintf(w, "  %s\n", t.line())
		}
		return
	}
	// In the order in which the model read them.
	said := []llm.Message{{Role: "instructions", Text: r.Question.System}}
	said = append(said, r.Question.Messages...)
	if r.ErrorKind == "" && r.Ended != nil {
		said = append(said, llm.Message{Role: "answer", Text: r.Answer, Calls: r.Calls})
	}
	for _, m := range said {
		fmt.Fprintf(w, "%s\n", p.Dim("── "+string(m.Role)))
		// In the order of vendors: results before the user's text, calls after the model's.
		for _, result := range m.Results {
			mark := "result of "
			if result.Error {
				mark = "error of "
			}
			fmt.Fprintf(w, "%s\n%s\n", p.Dim("─ "+mark+term.CleanLine(result.ID)), strings.TrimRight(term.Clean(result.Text), "\n"))
		}
		if m.Text != "" || len(m.Results)+len(m.Calls) == 0 {
			fmt.Fprintf(w, "%s\n", strings.TrimRight(term.Clean(m.Text), "\n"))
		}
		for _, call := range m.Calls {
			fmt.Fprintf(w, "%s %s %s\n", p.Dim("─ call "+term.CleanLine(call.ID)+":"), term.CleanLine(call.Name), term.Clean(call.Arguments))
		}
	}
	fmt.Fprintln(w)
}

// line says when a request was made, what it cost and how it ended.
//
// A tilde marks numbers that no vendor has measured.
func (r CallRow) line() string {
	about := ""
	if r.Usage.In.Estimated || r.Usage.Out.Estimated {
		about = "~"
	}
	text := fmt.Sprintf("%s %s, %s%d tokens in, %s%d out, %.1f s", r.Purpose, r.Begun.Local().Format(time.DateTime),
		about, r.Usage.In.N, about, r.Usage.Out.N, r.Seconds)
	// The possible cost of a request is not printed before it has ended.
	switch {
	case r.Ended == nil:
		return text + ", not ended"
	case r.Cost == nil:
		text += ", cost not known"
	default:
		text += fmt.Sprintf(", cost %.6f", *r.Cost)
	}
	if r.Key != "" {
		text += ", key " + r.Key
	}
	return text
}
