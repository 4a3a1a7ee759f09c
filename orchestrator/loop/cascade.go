package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/orchestrator/ledger"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// Cascade returns the function that [Analyst.Study] calls with the ripples of a change that run made. It puts the files that the change
// reaches into the cascade queue of the workspace. diffs holds the diffs of the files that changed, by path; nil if they are not known.
func Cascade(ctx context.Context, k Knowledge, root, run string, diffs map[string]string) func([]ledger.Ripple) error {
	return func(ripples []ledger.Ripple) error {
		list := waiting(ripples, diffs)
		if len(list) == 0 {
			return nil
		}
		return k.Enqueue(ctx, root, run, list)
	}
}

// Bounds on what one change puts into the queue. Anything beyond is left out.
const (
	// mostWaiting bounds the files that wait for one change, mostCauses the causes of one file's waiting.
	mostWaiting, mostCauses = 500, 20
	// maxDiff bounds the diff of one cause, in bytes; the rest would not help a reader.
	maxDiff = 16 << 10
)

// waiting turns ripples into queue entries. A change never makes its own file wait: two files that change each other in turn would do
// so without end.
func waiting(ripples []ledger.Ripple, diffs map[string]string) (list []Waiting) {
	for _, r := range ripples {
		var because, diff, sources []string
		for _, c := range r.Because {
			if c.Path == r.Path {
				continue
			}
			if !slices.Contains(sources, c.Path) {
				if len(sources) == mostCauses {
					continue
				}
				sources = append(sources, c.Path)
				if d := shortened(diffs[c.Path]); d != "" {
					diff = append(diff, strings.TrimRight(d, "\n"))
				}
			}
			because = append(because, c.String())
		}
		if len(because) > 0 && len(list) < mostWaiting {
			list = append(list, Waiting{Path: r.Path, Because: strings.Join(because, "\n"), Diff: strings.Join(diff, "\n")})
		}
	}
	return list
}

// shortened cuts a diff to its bound and says so. It cuts at the end of a line, so that no half line reads like a change.
func shortened(diff string) string {
	if len(diff) <= maxDiff {
		return diff
	}
	end := strings.LastIndexByte(diff[:maxDiff], '\n') + 1
	return diff[:end] + fmt.Sprintf("(%d more bytes)\n", len(diff)-end)
}

// Label names, in place of a run, something that no run did: Label("edit") names the user's own edits since the last study. Each label
// is new: looking at a file once more costs little, and skipping one leaves it broken.
func Label(act string) string { return act + "-" + run.NewID(time.Now()) }

// Diffs returns the diff of each file of a changeset by the path that it had before, which is the path that ripples name.
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
