package blame

import "time"

// The values of Origin.By: where a line comes from.
const (
	ByRun  = "run"
	ByHand = "hand"
	Before = "before" // it was there before the first run on the file
)

// An Origin says who brought a line, and when. An edit by hand was made
// between After and Before, as far as these are known.
type Origin struct {
	By     string     `json:"origin"`
	Run    string     `json:"run,omitempty"`
	Model  string     `json:"model,omitempty"`
	Review string     `json:"review,omitempty"` // what a person said of the run
	Pull   string     `json:"pull,omitempty"`   // the pull requests that hold its change, and what it was made for there
	At     *time.Time `json:"at,omitempty"`
	After  *time.Time `json:"after,omitempty"`
	Before *time.Time `json:"before,omitempty"`
}

// Who names the origin in a few letters.
// Runs have names of letters and digits, so none is taken for one of the words.
func (o Origin) Who() string {
	switch o.By {
	case ByRun:
		return o.Run
	case ByHand:
		return "by hand"
	}
	return o.By
}

// A Change is what the promotion of a run did to a file.
type Change struct {
	Run    string
	UndoOf string // the run whose promotion this one reversed, "" for none
	Model  string
	Review string // what a person said of the run, "" for nothing
	Pull   string // the pull requests that hold its change, "" for none
	At     time.Time
	// Before is what it found and After what it left; both are empty where there was no file.
	Before, After string
}

// A Timeline is every known version of a file, and who made each.
// versions and by have the same length: by[i] made versions[i]. What the last promotion
// left is followed by at most one version of hand edits, so that versions of runs are
// told apart from what happened between them, however many edits that was.
type Timeline struct {
	versions []Version
	by       []Origin
	last     *time.Time      // of the last promotion
	before   map[string]int  // by run: the version that its promotion found
	undone   map[string]bool // the runs that were taken back, and those that did it
}

// NewTimeline returns the history of a file that holds now, from its changes, the oldest
// first.
func NewTimeline(changes []Change, now string) *Timeline {
	t := &Timeline{before: map[string]int{}, undone: map[string]bool{}}
	undoes := map[string]string{}
	for _, ch := range changes {
		// What a promotion found is on record with it: the edits by hand before it show
		// there.
		t.found(ch.Before, &ch.At)
		t.before[ch.Run] = len(t.versions) - 1
		// Not known where the history of this name does not hold the change that was undone.
		back, known := t.before[ch.UndoOf]
		if ch.UndoOf != "" {
			// The undo of an undo lets the first change stand again, and the undo of that one
			// does not: by turns, down to the run that was no undo.
			first, taken := ch.UndoOf, true
			for undoes[first] != "" {
				first, taken = undoes[first], !taken
			}
			t.undone[ch.Run], t.undone[first] = true, taken
			undoes[ch.Run] = ch.UndoOf
		}
		at := ch.At
		t.versions = append(t.versions, Version{Text: ch.After, Undo: known, Back: back})
		t.by = append(t.by, Origin{By: ByRun, Run: ch.Run, Model: ch.Model, Review: ch.Review, Pull: ch.Pull, At: &at})
		t.last = &at
	}
	// Nothing tells when that was, only that it came after the last promotion.
	t.found(now, nil)
	return t
}

// found adds the version that was there at a time, unless it is what the last
// promotion left: then nobody edited the file in between.
// The first version of all is by nobody: it was there before the record begins.
func (t *Timeline) found(text string, at *time.Time) {
	by := Origin{By: ByHand, After: t.last, Before: at}
	if last := len(t.versions) - 1; last < 0 {
		by = Origin{By: Before}
	} else if t.versions[last].Text == text {
		return
	}
	t.versions, t.by = append(t.versions, Version{Text: text}), append(t.by, by)
}

// Origins returns the origin of each line of the last version: as many as Lines makes of it.
func (t *Timeline) Origins() (list []Origin) {
	for _, v := range Origins(t.versions) {
		list = append(list, t.by[v])
	}
	return list
}

// Undone reports whether the change of a run is taken back, or was one that takes another
// back.
func (t *Timeline) Undone(run string) bool { return t.undone[run] }

// Since returns who made the versions after the one that a run left, in order. An edit by
// hand beside a run that is undone is among them.
func (t *Timeline) Since(run string) []Origin {
	// The version after the one that the promotion found is what it made.
	return t.by[min(t.before[run]+2, len(t.by)):]
}
