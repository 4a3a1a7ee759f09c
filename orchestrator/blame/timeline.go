package blame

import "time"

// The values of Origin.By: the source of a line.
const (
	ByRun  = "run"
	ByHand = "hand"
	Before = "before" // it was there before the first run on the file
)

// An Origin says who brought a line, and when. An edit by hand was made between After and Before, if these are known.
type Origin struct {
	By     string     `json:"origin"`
	Run    string     `json:"run,omitempty"`
	Model  string     `json:"model,omitempty"`
	Review string     `json:"review,omitempty"` // what a person said about the run
	Pull   string     `json:"pull,omitempty"`   // the pull requests that contain its change, and what it was made for there
	At     *time.Time `json:"at,omitempty"`
	After  *time.Time `json:"after,omitempty"`
	Before *time.Time `json:"before,omitempty"`
}

// Who names the origin in a few letters. Names of runs consist of letters and digits, so none is mistaken for one of
// the words.
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
	UndoOf string // the run whose promotion this one reversed, or ""
	Model  string
	Review string // what a person said about the run, or ""
	Pull   string // the pull requests that contain its change, or ""
	At     time.Time
	// Before is what the promotion found and After what it left; each is empty if the file did not exist.
	Before, After string
}

// A Timeline holds every known version of a file with its author. versions and by have the same length: by[i] made
// versions[i]. At most one version of hand edits follows what a promotion left, so that versions of runs stay distinct
// from what happened between them, however many edits that was.
type Timeline struct {
	versions []Version
	by       []Origin
	last     *time.Time      // of the last promotion
	before   map[string]int  // by run: the version that its promotion found
	undone   map[string]bool // the runs that were taken back, and the runs that took them back
}

// NewTimeline returns the history of a file from its changes, the oldest first. now is its present text.
func NewTimeline(changes []Change, now string) *Timeline {
	t := &Timeline{before: map[string]int{}, undone: map[string]bool{}}
	undoes := map[string]string{}
	for _, ch := range changes {
		// The record of a promotion holds what it found, which reveals the edits by hand before it.
		t.found(ch.Before, &ch.At)
		t.before[ch.Run] = len(t.versions) - 1
		// Unknown if the history of this name does not hold the undone change.
		back, known := t.before[ch.UndoOf]
		if ch.UndoOf != "" {
			// Undoing an undo makes the first change stand again, and undoing that does not: they alternate, down to
			// the run that was not an undo.
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
	// Nothing says when that was, only that it came after the last promotion.
	t.found(now, nil)
	return t
}

// found adds the version that existed at a time, unless it is what the last promotion left: then nobody edited the file
// in between. The first version has no author: it existed before the record begins.
func (t *Timeline) found(text string, at *time.Time) {
	by := Origin{By: ByHand, After: t.last, Before: at}
	if last := len(t.versions) - 1; last < 0 {
		by = Origin{By: Before}
	} else if t.versions[last].Text == text {
		return
	}
	t.versions, t.by = append(t.versions, Version{Text: text}), append(t.by, by)
}

// Origins returns the origin of each line of the last version, one for each line that Lines returns.
func (t *Timeline) Origins() (list []Origin) {
	for _, v := range Origins(t.versions) {
		list = append(list, t.by[v])
	}
	return list
}

// Undone reports whether the change of a run is taken back, or took another one back.
func (t *Timeline) Undone(run string) bool { return t.undone[run] }

// Since returns the origins of the versions after the one that a run left, in order. They include an edit by hand next
// to a run that is being undone.
func (t *Timeline) Since(run string) []Origin {
	// The version after the one that the promotion found is the one that it made.
	return t.by[min(t.before[run]+2, len(t.by)):]
}
