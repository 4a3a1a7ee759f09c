package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Window is the context of the smallest model that may be asked.
type Window struct {
	// Tokens counts question and answer together; 0 if unknown.
	Tokens int
	// Setting is the setting with which a person changes Tokens: "ollama.context".
	Setting string
}

// Bytes per token of a window: how many a question may quote, in hundredths, and how many it may have in all. Code has
// some three and a half bytes a token; the rest is for the answer.
const (
	quotedByToken = 256
	wholeByToken  = 3
)

// Room returns how many bytes a question may quote in a window of that many tokens.
func Room(tokens int) int { return tokens * quotedByToken / 100 }

// Whole returns how many bytes a question may have in all in a window of that many tokens.
func Whole(tokens int) int { return tokens * wholeByToken }

// budget returns how many bytes a question may quote, and how many it may have in all; 0 means any number. own is the
// budget of its task, 0 for none.
func (e *Engineer) budget(own, window int) (quoted, whole int) {
	quoted = cmp.Or(own, e.Budget, DefaultBudget)
	if window > 0 {
		quoted, whole = min(quoted, Room(window)), Whole(window)
	}
	return quoted, whole
}

// The smallest useful size of a part of a file, of a further file and of a proposed feature, in bytes.
const (
	leastCode    = 400
	leastOthers  = 256
	leastFeature = 600
)

// errNoRoom says that there is no room for a useful part of what a question is about.
var errNoRoom = errors.New("no room is left for the code")

// narrow cuts what Fit never shortens if that alone exceeds the budget: the end of a list of files, the least important
// parts of files, and the diffs of earlier attempts. It keeps up to a third of the budget for what Fit shortens.
func (b *Brief) narrow(budget int) ([]Cut, error) {
	if n := len(b.Attempts); n > 2 {
		b.Attempts = b.Attempts[n-2:]
	}
	cuts := b.dropRelated(budget)
	soft := 0
	for _, s := range b.sections() {
		soft += len(*s.text)
	}
	if b.size()-soft <= budget {
		return cuts, nil
	}
	b.own()
	cut := func(name string, text *string, most int, keep end) {
		if from := len(*text); from > most {
			*text = shorten(*text, most, keep)
			cuts = append(cuts, Cut{name, from, len(*text)})
		}
	}
	cut("thought", &b.Thought, budget/16, head)
	cut("feature", &b.Feature, max(budget/8, leastFeature), head) // without it there is nothing to do
	for i := range b.Attempts {
		cut("attempts", &b.Attempts[i].Diff, budget/16, both)
		cut("attempts", &b.Attempts[i].Why, budget/64, head)
	}
	// The room that is left for files, by name or by content.
	room := budget - min(soft, budget/3)
	room -= b.size() - soft - b.fileBytes()
	if room < leastCode && b.fileBytes() > room {
		return cuts, errNoRoom
	}
	cuts = append(cuts, b.cutList(room)...)
	return append(cuts, b.cutFiles(room)...), nil
}

// dropRelated leaves out files that are only there to be read, the last ones first, until the rest fits the budget.
func (b *Brief) dropRelated(budget int) (cuts []Cut) {
	over := b.size() - budget
	for over > 0 && len(b.Related) > 0 {
		last := b.Related[len(b.Related)-1]
		b.Related = b.Related[:len(b.Related)-1]
		cuts = append(cuts, Cut{"related " + last.Path, len(last.Text), 0})
		over -= len(last.Path) + len(last.Why) + len(last.Text)
	}
	return cuts
}

// own gives the brief its own copies of the lists before they change.
func (b *Brief) own() {
	b.Attempts, b.Others, b.Files = slices.Clone(b.Attempts), slices.Clone(b.Others), slices.Clone(b.Files)
}

// fileBytes returns how many bytes the files of the brief take, listed or shown.
func (b *Brief) fileBytes() int {
	n := len(b.Code)
	for _, f := range b.Others {
		n += len(f.Path) + len(f.Text)
	}
	for _, p := range b.Files {
		n += len(p) + 1
	}
	return n
}

// cutList drops the end of the list of files, which is sorted by relevance.
func (b *Brief) cutList(room int) []Cut {
	size := 0
	for i, p := range b.Files {
		if size += len(p) + 1; size > room {
			cut := Cut{"files", len(b.List()), 0}
			b.Unlisted += len(b.Files) - i
			b.Files = b.Files[:i]
			cut.To = len(b.List())
			return []Cut{cut}
		}
	}
	return nil
}

// cutFiles shows the target and the other files in parts. The target gets at least half of the room. Small files are
// shown whole before large ones are.
func (b *Brief) cutFiles(room int) (cuts []Cut) {
	others := b.fileBytes() - len(b.Code)
	if len(b.Files) > 0 || len(b.Code)+others <= room {
		return nil
	}
	var names []string
	if most := max(room/2, room-others); len(b.Code) > most {
		cuts = append(cuts, Cut{"code", len(b.Code), 0})
		b.Code = cutFile(b.Code, most, b.focus(b.Target))
		cuts[0].To = len(b.Code)
		names = append(names, b.Target)
	}
	room -= len(b.Code)
	bySize := make([]int, len(b.Others))
	for i := range bySize {
		bySize[i] = i
	}
	slices.SortStableFunc(bySize, func(i, j int) int { return len(b.Others[i].Text) - len(b.Others[j].Text) })
	gone := map[int]bool{}
	for n, i := range bySize {
		f := &b.Others[i]
		share := room/(len(bySize)-n) - len(f.Path)
		from := len(f.Text)
		switch {
		case from > share && share < leastOthers:
			gone[i] = true
			cuts = append(cuts, Cut{f.Path, from, 0})
			continue
		case from > share:
			f.Text = cutFile(f.Text, share, b.focus(f.Path))
			cuts, names = append(cuts, Cut{f.Path, from, len(f.Text)}), append(names, f.Path)
		}
		room -= len(f.Path) + len(f.Text)
	}
	var kept []File
	for i, f := range b.Others {
		if !gone[i] {
			kept = append(kept, f)
		}
	}
	b.Others = kept
	if len(gone) > 0 {
		names = append(names, fmt.Sprintf("%d more files", len(gone)))
	}
	b.Partial = strings.Join(names, ", ")
	return cuts
}

// tooSmall returns the error of a question that does not fit however much is cut.
func (e *Engineer) tooSmall(b Brief, window int, err error) error {
	about := cmp.Or(b.Target, "the workspace")
	if window <= 0 {
		return &StopError{
			Budget: true, Message: fmt.Sprintf("the question about %s does not fit into a prompt: %v", about, err), Err: err,
			Next: "say less in --goal, or in the prompts of the workspace",
		}
	}
	setting := cmp.Or(e.Window.Setting, "the context of the model")
	return &StopError{
		Budget: true, Err: err,
		Message: fmt.Sprintf("the smallest question about %s does not fit into the %d tokens of %s: %v", about, window, setting, err),
		Next:    "raise " + setting + " in the user configuration, or say less in --goal",
	}
}
