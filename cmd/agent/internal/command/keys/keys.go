// Package keys implements `agent keys`, which shows API keys: active, rate-limited or disabled.
package keys

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/llm"
)

type command struct{ *cmdline.Line }

// Command returns the command that shows what is known of the keys to models, and lets a user discard what was learnt
// about one.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "keys", Usage: "show API keys: active, rate-limited or disabled",
		Description: "A key over its limit rests, and a key that its vendor rejects is retired, for every process\n" +
			"on the same database. Keys are named by the beginning of their SHA-256, and never shown.\n\n" + cmdline.Examples(
			"agent keys", "each key that is configured or known",
			"agent keys --forget 0a1b2c3d", "use that key again, after it was fixed or topped up"),
		Flags:  []cli.Flag{&cli.StringFlag{Name: "forget", Usage: "use the key `ID` again, whatever was learnt about it; a vendor's name if it needs no key"}, cmdline.JSONFlag(cmdline.Document[[]Row]("keys", 1))},
		Action: c.keys,
	}
}

// A Row is a key as `keys --json` prints it. A time is null if it never came.
type Row struct {
	Vendor     string     `json:"vendor"`
	Key        string     `json:"key_id"` // empty for a vendor that needs none
	State      string     `json:"state"`  // ready, resting, retired
	Reason     string     `json:"reason"` // kind of error, empty if it is ready
	Until      *time.Time `json:"until"`  // end of its rest
	Used       *time.Time `json:"used"`
	Configured bool       `json:"configured"`
}

// keys prints the keys, or forgets what is known of one.
func (c command) keys(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	// The value is an unset shell variable. Ignoring the flag would forget nothing and tell no one.
	if ctx.IsSet("forget") && ctx.String("forget") == "" {
		return fault.Usage("see `agent keys` for the keys that are known", "--forget names no key")
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		// One instant for all of them: the time that printing takes must not make a difference between two keys whose
		// rest ends together.
		rows, err := knownKeys(ctx.Context, s, set, time.Now())
		if err != nil {
			return err
		}
		if id := ctx.String("forget"); id != "" {
			return c.forgetKey(ctx.Context, s, rows, id)
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, rows)
		}
		if len(rows) == 0 {
			fmt.Fprintln(c.Stderr, "no key is configured, and none was ever used")
			return nil
		}
		return c.printKeys(rows)
	})
}

// knownKeys lists the keys of every vendor that are configured or were used before. now determines which of them rest.
//
// They are in the order of their vendors. A key that is no longer configured is listed too, since its state applies
// again once it is.
func knownKeys(ctx context.Context, s *wire.Session, set config.Settings, now time.Time) ([]Row, error) {
	rows := []Row{}
	configured, err := wire.ConfiguredKeys(set)
	if err != nil {
		return nil, err
	}
	vendors := slices.Sorted(maps.Keys(configured))
	for _, vendor := range vendors {
		states, err := s.DB.Keys().Load(ctx, vendor)
		if err != nil {
			return nil, err
		}
		for _, st := range states {
			own := slices.ContainsFunc(configured[vendor], func(k llm.Key) bool { return k.ID == st.Key })
			rows = append(rows, newRow(st, own || st.Key == "", now))
		}
	}
	// A key that was never used has no state yet, and is ready.
	for _, vendor := range vendors {
		for _, k := range configured[vendor] {
			if !slices.ContainsFunc(rows, func(r Row) bool { return r.Vendor == vendor && r.Key == k.ID }) {
				rows = append(rows, Row{Vendor: vendor, Key: k.ID, State: "ready", Configured: true})
			}
		}
	}
	return rows, nil
}

// newRow translates the state of a key.
//
// A rest that is over needs no action: the key is ready, whatever reason the record still states.
func newRow(st llm.KeyState, configured bool, now time.Time) Row {
	row := Row{Vendor: st.Vendor, Key: st.Key, State: "ready", Configured: configured}
	if !st.Used.IsZero() {
		row.Used = &st.Used
	}
	switch {
	case st.Retired != "":
		row.State, row.Reason = "retired", string(st.Retired)
	case st.Until.After(now):
		row.State, row.Reason, row.Until = "resting", string(st.Reason), &st.Until
	}
	return row
}

// forgetKey makes a key usable again. An unknown key was mistyped.
//
// The rows are those of the list, so any key shown there can be named here.
func (c command) forgetKey(ctx context.Context, s *wire.Session, rows []Row, id string) error {
	// A vendor that needs no key rests as a whole, and is named itself.
	at := slices.IndexFunc(rows, func(r Row) bool { return r.Key == id || r.Key == "" && r.Vendor == id })
	if at < 0 {
		return fault.Usage("see `agent keys` for the keys that are known", "unknown key %q", id)
	}
	r := rows[at]
	if err := s.DB.ForgetKey(ctx, r.Vendor, r.Key); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "key %s of %s was %s, and is used again\n", cmp.Or(r.Key, "none"), r.Vendor, r.State)
	return err
}

// printKeys prints the keys as a table.
//
// Times are local: people compare them with a clock. In JSON they include their zone.
func (c command) printKeys(rows []Row) error {
	shown := func(t *time.Time) string {
		if t == nil {
			return "never"
		}
		return t.Local().Format(time.DateTime)
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "VENDOR\tKEY\tSTATE\tLAST USED\tCONFIGURED")
		for _, r := range rows {
			state := r.State
			if r.Reason != "" {
				state += " (" + r.Reason + ")"
			}
			if r.Until != nil {
				state += " until " + shown(r.Until)
			}
			// If a vendor needs no key, its only row has no key ID.
			own := map[bool]string{true: "yes", false: "no"}[r.Configured]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.Vendor, cmp.Or(r.Key, "none needed"), state, shown(r.Used), own)
		}
		return t.Flush()
	})
}
