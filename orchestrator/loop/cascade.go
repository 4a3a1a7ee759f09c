package loop

import (
	"context"
	"strings"
	"time"

	"agent/orchestrator/ledger"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// Cascade returns what [Analyst.Study] is to do with the ripples of a change
// that run made: it puts the files that the change reaches into the cascade
// queue of the workspace. diffs are the diffs of the files that changed, by
// path; nil when nobody knows them.
func Cascade(ctx context.Context, k Knowledge, root, run string, diffs map[string]string) func([]ledger.Ripple) error {
	return func(ripples []ledger.Ripple) error {
		list := waiting(ripples, diffs)
		if len(list) == 0 {
			return nil
		}
		return k.Enqueue(ctx, root, run, list)
	}
}

// waiting turns ripples into what waits, with the bounds of [ledger.Queue]: a
// change never makes its own file wait, and long diffs are cut.
func waiting(ripples []ledger.Ripple, diffs map[string]string) []Waiting {
	var list []Waiting
	for _, it := range (ledger.Queue{}).Add(ripples, diffs).Items {
		w := Waiting{Path: it.Path}
		var because, diff []string
		for _, c := range it.Causes {
			for _, change := range c.Changes {
				because = append(because, change.String())
			}
			if c.Diff != "" {
				diff = append(diff, strings.TrimRight(c.Diff, "\n"))
			}
		}
		w.Because, w.Diff = strings.Join(because, "\n"), strings.Join(diff, "\n")
		list = append(list, w)
	}
	return list
}

// Label names, in place of a run, something that no run did: Label("edit") the
// user's own edits since the last study. Each name is new, since to look at a
// file once more costs little, and to pass one over leaves it broken.
func Label(act string) string { return act + "-" + run.NewID(time.Now()) }

// Diffs returns the diff of each file of a changeset by the path that it had
// before, which is the path that ripples name.
func Diffs(cs workspace.Changeset) map[string]string {
	diffs := map[string]string{}
	for _, c := range cs.Changes {
		path := c.Path
		if c.Op == workspace.Rename {
			path = c.From
		}
		diffs[path] += workspace.Changeset{Changes: []workspace.Change{c}}.Diff()
	}
	return diffs
}
