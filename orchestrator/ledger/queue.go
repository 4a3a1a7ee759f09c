package ledger

import (
	"fmt"
	"slices"
	"strings"
)

// The bounds of a Queue. What goes beyond is left out and counted.
const (
	// MaxQueue is the most files, maxCauses the most causes of one file.
	MaxQueue  = 500
	maxCauses = 20
	// maxDiff is the most bytes of one diff; the rest would not help a reader.
	maxDiff = 16 << 10
)

// A Cause is one change of a file that put another into the queue.
type Cause struct {
	// Source is the file that changed.
	Source  string   `json:"source"`
	Changes []Change `json:"changes"`
	// Diff is the change itself, as a unified diff.
	Diff string `json:"diff,omitempty"`
}

// An Item is a file that must be looked at, with the reasons in the order in which they came up.
type Item struct {
	Path   string  `json:"path"`
	Lines  []int   `json:"lines,omitempty"`
	Causes []Cause `json:"causes"`
}

// A Queue holds the files that changes reach: first come, first served, each at most once, and ahead of anything that
// a model would choose to work on. Its methods return a new queue and leave the old one as it is.
type Queue struct {
	Items []Item `json:"items"`
	// Dropped counts files and causes that found no room.
	Dropped int `json:"dropped,omitempty"`
}

// Add puts ripples behind what is queued, with the diff of each file that changed, by path. A file that is queued
// already keeps its place and gets the new causes. A change never puts its own file into the queue.
// The order is that of arrival, as a change is best followed while the reason for it is fresh, and since any cleverer
// order could let one file wait for ever. Two files that change each other in turn would do so without end if a change
// could queue its own file.
func (q Queue) Add(ripples []Ripple, diffs map[string]string) Queue {
	// Copied, as in all methods: who holds the old queue, such as a record of the run, must not see it change.
	q.Items = slices.Clone(q.Items)
	for _, r := range ripples {
		causes := causesOf(r, diffs)
		if len(causes) == 0 {
			continue
		}
		i := slices.IndexFunc(q.Items, func(it Item) bool { return it.Path == r.Path })
		if i < 0 && len(q.Items) >= MaxQueue {
			q.Dropped++
			continue
		}
		if i < 0 {
			i = len(q.Items)
			q.Items = append(q.Items, Item{Path: r.Path})
		}
		it := q.Items[i]
		it.Lines = r.Lines // the newest state of the file counts
		it.Causes = append(slices.Clone(it.Causes), causes...)
		if more := len(it.Causes) - maxCauses; more > 0 {
			it.Causes = it.Causes[:maxCauses]
			q.Dropped += more
		}
		q.Items[i] = it
	}
	return q
}

// causesOf groups the changes of a ripple by the file that changed.
func causesOf(r Ripple, diffs map[string]string) []Cause {
	var causes []Cause
	for _, c := range r.Because {
		if c.Path == r.Path {
			continue
		}
		i := slices.IndexFunc(causes, func(o Cause) bool { return o.Source == c.Path })
		if i < 0 {
			i = len(causes)
			causes = append(causes, Cause{Source: c.Path, Diff: shortened(diffs[c.Path])})
		}
		causes[i].Changes = append(causes[i].Changes, c)
	}
	return causes
}

// shortened cuts a diff to its bound at the end of a line, and says so.
// The cut is at a line's end, so that no half line reads like a change.
func shortened(diff string) string {
	if len(diff) <= maxDiff {
		return diff
	}
	end := strings.LastIndexByte(diff[:maxDiff], '\n') + 1
	return diff[:end] + fmt.Sprintf("(%d more bytes)\n", len(diff)-end)
}

// Next returns the first item and the queue without it; ok is false for an empty queue.
func (q Queue) Next() (first Item, rest Queue, ok bool) {
	if len(q.Items) == 0 {
		return Item{}, q, false
	}
	first, q.Items = q.Items[0], slices.Clone(q.Items[1:])
	return first, q, true
}

// Remove returns the queue without the file at path.
// One that is not queued is no error: it may have been served meanwhile.
func (q Queue) Remove(path string) Queue {
	q.Items = slices.DeleteFunc(slices.Clone(q.Items), func(it Item) bool { return it.Path == path })
	return q
}

// Move returns the queue with the file at path in place to, counted from 0; beyond the end is the end. A file that is
// not queued moves nothing.
func (q Queue) Move(path string, to int) Queue {
	i := slices.IndexFunc(q.Items, func(it Item) bool { return it.Path == path })
	if i < 0 {
		return q
	}
	it, rest := q.Items[i], q.Remove(path)
	rest.Items = slices.Insert(rest.Items, min(max(to, 0), len(rest.Items)), it)
	return rest
}

// String tells a model or a person why the file is queued, as the head of the task to bring it up to date.
// The causes follow as "- function rate of tax.py is now called rates", each with its diff. The lines are those of the
// file as it stood when it was queued.
func (it Item) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CRITICAL SYMBOLIC RIPPLE: %s uses what other files have changed", it.Path)
	if len(it.Lines) > 0 {
		fmt.Fprintf(&b, ", on line %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(it.Lines), " ", ", "), "[]"))
	}
	b.WriteString(".\n")
	for _, c := range it.Causes {
		for _, change := range c.Changes {
			fmt.Fprintf(&b, "- %s\n", change)
		}
		if c.Diff != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(c.Diff, "\n"))
		}
	}
	return b.String()
}
