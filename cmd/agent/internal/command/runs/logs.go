package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
	"agent/orchestrator/store/history"
	"agent/sandbox/workspace/lazyregexp"
)

// followEvery is how often a followed log is checked. To a person it looks instantaneous, and it costs the database a
// few small reads a second.
const followEvery = 300 * time.Millisecond

// settleEvery is how often a command that follows a run checks whether the run's process is alive.
const settleEvery = 2 * time.Second

// logKinds are the kinds of entries that a user may ask for. The help page and the error about a wrong --kind list them
// in this order.
var logKinds = []run.EntryKind{
	run.StateEntry, run.ModelEntry, run.ToolEntry, run.GateEntry, run.PolicyEntry, run.ApprovalEntry, run.EgressEntry, run.EngineEntry,
}

// LogKinds lists the kinds of entries of a run's log.
func LogKinds() []run.EntryKind { return slices.Clone(logKinds) }

// runsLogs returns the command that shows a run's events in order.
func (c command) runsLogs(which, about string) *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "show a run's events in order, and who decided", ArgsUsage: which,
		Description: about + "Entries are only ever added. The log holds no secret that the agent knows of, and nothing that looks like one.\n\n" + cmdline.Examples(
			"agent runs logs", "the latest run, in seconds since it began",
			"agent runs logs 1k3 --kind approval", "who let it pass",
			"agent runs logs --follow", "until the run ends",
			"agent runs logs 1k3 --json > 1k3.jsonl", "one JSON document per line, to keep elsewhere"),
		Flags: append(naming(),
			&cli.StringFlag{Name: "kind", Usage: fmt.Sprintf("only events of `KIND`: %s", strings.Trim(fmt.Sprint(logKinds), "[]"))},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue until the run ends", DisableDefaultText: true},
			cmdline.JSONFlag(cmdline.Document[LogRow]("event", 1)),
		),
		Action: c.showLogs,
	}
}

// A LogRow is one event as `runs logs --json` prints it. Seconds are since the run began. Event increases within a run
// and tells a reader that was cut off where to continue. Actor is who did it: the agent, a vendor's model, a person.
// Detail is an object whose fields depend on the kind.
type LogRow struct {
	Run     string          `json:"run"`
	Event   int64           `json:"event"`
	At      time.Time       `json:"at"`
	Seconds float64         `json:"seconds"`
	Kind    run.EntryKind   `json:"kind"`
	Actor   string          `json:"actor"`
	Subject string          `json:"subject"`
	Detail  json.RawMessage `json:"detail"`
}

// showLogs prints the log of one run. With --json each event is a line of its own, so that a reader of --follow need
// not wait for the end of a document.
func (c command) showLogs(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	// A misspelt kind would print nothing, which would look as if nothing happened.
	kind := run.EntryKind(ctx.String("kind"))
	if kind != "" && !slices.Contains(logKinds, kind) {
		return fault.Usage(fmt.Sprintf("the kinds are %v", logKinds), "unknown kind of event %q", kind)
	}
	show := c.printEvent
	if set.On("json") {
		show = func(r LogRow) error { return term.PrintJSONLine(c.Stdout, r) }
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		d, err := named(ctx, s, set)
		if err != nil {
			return err
		}
		return eachEvent(ctx.Context, s, d.ID, kind, ctx.Bool("follow"), show)
	})
}

// eachEvent passes the events of a run to show, and with follow also later events until the run ends. Boxes that are
// removed after that are nevertheless in the log.
//
// It reads in batches, from the last number shown, and holds only one batch in memory. The first error of show ends it,
// such as that of a closed pipe. A run whose process died would never end. Therefore eachEvent regularly settles what
// dead processes left, as every command does when it starts.
func eachEvent(ctx context.Context, s *wire.Session, id string, kind run.EntryKind, follow bool, show func(LogRow) error) error {
	settled := time.Now() // when the command began
	for after := int64(0); ; {
		// Asked before the events are read: the events of a run that had ended by then are complete.
		over := !follow
		if follow {
			d, err := s.DB.Run(ctx, id)
			if err != nil {
				return err
			}
			over = !d.Ended.IsZero()
		}
		list, err := s.DB.Events(ctx, id, kind, after)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := show(newLogRow(id, e)); err != nil {
				return err
			}
			after = e.Number
		}
		switch {
		// Even if the run is over: a full batch says nothing about what follows it.
		case len(list) > 0: // there may be more
		case over:
			return nil
		default:
			if err := pause(ctx, followEvery); err != nil {
				return err
			}
			if time.Since(settled) < settleEvery {
				continue
			}
			if _, err := s.Recover(ctx); err != nil {
				return err
			}
			settled = time.Now()
		}
	}
}

// pause waits for d, or until ctx ends. The error is that of ctx, and so exit code 130.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// newLogRow translates an event of the store.
func newLogRow(id string, e history.EventRow) LogRow {
	return LogRow{Run: id, Event: e.Number, At: e.At, Seconds: e.Seconds, Kind: e.Kind, Actor: e.Actor, Subject: e.Subject, Detail: e.Detail}
}

// printEvent prints an event on one line for people. Each line is a single write, so that lines of two writers do not
// mix.
func (c command) printEvent(r LogRow) error {
	return term.Print(c.Stdout, func(w io.Writer) error {
		// The engine's names are longer than any line.
		subject := longName.ReplaceAllString(term.CleanLine(r.Subject), "$1")
		_, err := fmt.Fprintf(w, "%8.3fs  %-8s  %s: %s%s\n", r.Seconds, r.Kind, term.CleanLine(r.Actor), subject, c.Palette(c.Stdout).Dim(details(r.Detail)))
		return err
	})
}

// longName matches a digest or a name of the engine, of which people read the beginning. The engine itself prints
// twelve digits, so they can be looked up there.
var longName = lazyregexp.New(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// details formats the detail of an event, sorted by name so that two logs can be compared. It leaves out what cannot be
// read: --json has it unchanged.
func details(data []byte) string {
	var detail map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // as it was written
	if decoder.Decode(&detail) != nil {
		return ""
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		text += fmt.Sprintf("  %s=%v", name, detail[name])
	}
	return term.CleanLine(text)
}
