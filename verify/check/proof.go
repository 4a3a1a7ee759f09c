package check

import (
	"context"
	"errors"
	"fmt"

	"agent/sandbox/workspace"
)

// PlantedSound is a module in which no tool finds a fault.
const PlantedSound = "\"\"\"A sound file.\"\"\"\n\n\ndef double(n: int) -> int:\n    return 2 * n\n\n\nprint(double(21))\n"

// Plant returns a changeset that creates files.
func Plant(files map[string]string) workspace.Changeset {
	var cs workspace.Changeset
	for p, text := range files {
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: p, After: []byte(text), Mode: 0o644})
	}
	sortChanges(cs.Changes)
	return cs
}

// Proves returns a proof for a check that reports findings: it must report those in want, by file and rule, and no
// others.
func Proves(run func(context.Context, Bench) Outcome, want map[string]string) func(context.Context, Bench) error {
	return func(ctx context.Context, b Bench) error {
		out := run(ctx, b)
		if err := Judged(out); err != nil {
			return err
		}
		if err := Exactly(out.Findings, want); err != nil {
			return err
		}
		if b.Learn != nil {
			b.Learn(out.Learned)
		}
		return nil
	}
}

// Judged returns an error for an outcome that is not a judgement.
//
// A proof must not pass if the tool did not run: a sound file gives no findings either.
func Judged(out Outcome) error {
	if out.Verdict != "" {
		return errors.New(out.Detail)
	}
	// A box with nothing but planted files has no other possible cause.
	if out.Blocked != "" {
		return errors.New(out.Blocked)
	}
	return nil
}

// Exactly checks that the findings are in the wanted files and have the wanted rules, and that none is missing. A gate
// that reports everything fails its proof, just as one that reports nothing does.
func Exactly(found []Finding, want map[string]string) error {
	var got []string
	seen := map[string]bool{}
	for _, f := range found {
		if rule, ok := want[f.File]; !ok || rule != f.Rule {
			return fmt.Errorf("it reports %s in %s, where there is no such fault", f.Rule, f.File)
		}
		seen[f.File] = true
		got = append(got, f.File)
	}
	if len(seen) != len(want) {
		return fmt.Errorf("it reports faults only in %q, of %d planted", got, len(want))
	}
	return nil
}
