// Command gatetest runs hostile patches through patch gates and reports what each gate did with them.
//
// A case is a workspace, patches of it that no gate may write without a person, and one honest patch that it must
// write, so that refusing everything does not win. A gate is any command that takes the workspace and the patch and
// exits with 0 if it wrote the patch. See docs/battery.md.
//
// The package owns the cases (cases, bases and built.go), the throwaway directories and the judgement. It runs nothing
// from a workspace itself: each gate decides what it runs where, and the plain reference runs in a container.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "battery:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// start runs what args ask for, and reports whether every gate except the reference did everything right.
func start(ctx context.Context, args []string, out, progress io.Writer) (bool, error) {
	var against, only []string
	flags := flag.NewFlagSet("battery", flag.ContinueOnError)
	flags.SetOutput(progress)
	agent := flags.String("agent", "bin/agent", "the agent's `PROGRAM`")
	asJSON := flags.Bool("json", false, "print one JSON document")
	list := flags.Bool("list", false, "print the cases, run none")
	own := flags.String("own", ".agent", "a `NAME` at the workspace's top that the gate may keep its own records in")
	patience := flags.Duration("patience", 10*time.Minute, "after so much `TIME` a gate is ended, and is said to hang")
	flags.Func("against", "judge by this `CMD` of sh, which finds BATTERY_WORKSPACE and BATTERY_PATCH in its environment, or by the agent or the reference; may be repeated (default agent, reference)",
		func(s string) error { against = append(against, s); return nil })
	flags.Func("only", "run the cases whose `NAME` begins so; may be repeated", func(s string) error { only = append(only, s); return nil })
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	trials, err := chosen(only)
	if err != nil {
		return false, err
	}
	if *list {
		for _, t := range trials {
			fmt.Fprintf(out, "%-44s %s\n", t.name(), t.mustNot())
		}
		return true, nil
	}
	if len(against) == 0 {
		against = []string{agentName, referenceName}
	}
	var gates []gate
	for _, cmd := range against {
		g, err := newGate(cmd, *agent)
		if err != nil {
			return false, err
		}
		gates = append(gates, g)
	}
	var results []result
	for _, t := range trials {
		for _, g := range gates {
			r, err := g.try(ctx, t, *own, *patience)
			if err != nil {
				return false, fmt.Errorf("%s by %s: %w", t.name(), g.name, err)
			}
			fmt.Fprintf(progress, "%-44s %-10s %-9s exit %d, %.1f s\n", t.name(), g.name, r.Outcome, r.Exit, r.Seconds)
			results = append(results, r)
		}
	}
	if *asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(map[string]any{"results": results, "totals": totals(results)})
	} else {
		err = table(out, trials, gates, results)
	}
	ok := !slices.ContainsFunc(results, func(r result) bool { return !r.OK && r.Gate != referenceName })
	return ok, err
}

// chosen returns the trials of the cases whose names begin with one of only, or all trials if only is empty.
func chosen(only []string) ([]trial, error) {
	cases, err := allCases()
	if err != nil {
		return nil, err
	}
	var trials []trial
	for _, c := range cases {
		for _, t := range c.trials() {
			if len(only) == 0 || slices.ContainsFunc(only, func(o string) bool { return strings.HasPrefix(t.name(), o) }) {
				trials = append(trials, t)
			}
		}
	}
	if len(trials) == 0 {
		return nil, fmt.Errorf("no case is named %s: --list prints them", strings.Join(only, ", "))
	}
	return trials, nil
}
