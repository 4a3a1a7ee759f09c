// Package related finds what is worth reading besides the files to change.
package related

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/retrieve"
	"agent/orchestrator/ledger"
	"agent/orchestrator/survey"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
)

// How much is shown besides the files to change: a share of the budget, up to a bound, since text that is only there to be read
// distracts from the task.
const (
	relatedShare, maxRelated = 6, 128 << 10
	// relatedEach is the fraction of it that one file may take; mostRelated bounds the number of files.
	relatedEach, mostRelated = 4, 24
	// goalShare is how well a file must fit the goal, relative to the best one.
	goalShare = 0.3
)

// Excerpts returns what is worth reading besides the files of a brief: the tests of its target, the files that use it and those that it
// uses, then files that fit the goal. Long files are shown in parts.
func Excerpts(base *workspace.Manifest, known survey.Survey, b agent.Brief, room int) []agent.Excerpt {
	left := min(room/relatedShare, maxRelated)
	each := left / relatedEach
	var shown []agent.Excerpt
	for _, c := range relatives(base, known, b) {
		if len(shown) == mostRelated || left < 1<<10 {
			break
		}
		e, ok := base.Lookup(c.path)
		if !ok || e.Kind != workspace.File || e.Size > workspace.MaxContent {
			continue
		}
		text, err := Text(base, c.path)
		if err != nil {
			continue // what is not text shows nothing
		}
		text = agent.Show(text, min(each, left), c.names, c.lines)
		left -= len(text)
		shown = append(shown, agent.Excerpt{Path: c.path, Why: c.why, Text: text})
	}
	return shown
}

// A relative is a file that is connected with a target, and the connected places in it.
type relative struct {
	path, why string
	names     []string
	lines     []int
}

// A family collects relatives, each once.
type family struct {
	list []relative
	at   map[string]int // by path; -1 for files that are shown anyway
}

// add adds a relative, or adds its places to the relative with the same path.
func (f *family) add(r relative) {
	i, there := f.at[r.path]
	switch {
	case !there:
		f.at[r.path] = len(f.list)
		f.list = append(f.list, r)
	case i >= 0:
		f.list[i].names, f.list[i].lines = append(f.list[i].names, r.names...), append(f.list[i].lines, r.lines...)
	}
}

// relatives lists the files that are worth reading, the most useful first.
func relatives(base *workspace.Manifest, known survey.Survey, b agent.Brief) []relative {
	f := &family{at: map[string]int{b.Target: -1}}
	for _, o := range b.Others {
		f.at[o.Path] = -1
	}
	if b.Target != "" {
		for _, e := range base.Entries {
			if e.Kind == workspace.File && lang.IsTest(e.Path) && tests(e.Path, b.Target) {
				f.add(relative{path: e.Path, why: "tests " + b.Target})
			}
		}
	}
	takes, gives := known.Ledger.Neighbours(b.Target, 1<<20)
	users := slices.Clone(gives)
	slices.SortStableFunc(users, func(x, y ledger.Neighbour) int { return len(y.Lines) - len(x.Lines) })
	for _, n := range users {
		f.add(relative{path: n.Path, why: "uses " + b.Target, names: []string{n.Definition.Name}, lines: n.Lines})
	}
	for _, n := range takes {
		f.add(relative{path: n.Path, why: "is used by " + b.Target, names: []string{n.Definition.Name}, lines: []int{n.Definition.Line}})
	}
	if b.Goal == "" {
		return f.list
	}
	hits := retrieve.Rank(known.Ledger, known.Summaries.Files, known.Ledger.Paths(), b.Goal)
	for i, h := range hits {
		if i == mostRelated || h.Score == 0 || h.Score < goalShare*hits[0].Score {
			break
		}
		f.add(relative{path: h.Path, why: "fits the goal: " + h.Why, names: strings.Fields(b.Goal)})
	}
	return f.list
}

// tests reports whether a test is named after a file: test_tax.py, tax_test.go, tax.test.ts and TaxTest.java belong to tax.
func tests(test, file string) bool {
	bare := func(p string) string {
		name, _, _ := strings.Cut(strings.ToLower(path.Base(p)), ".")
		return name
	}
	name, of := bare(test), bare(file)
	for _, affix := range []string{"test_", "tests_", "spec_", "test"} {
		name = strings.TrimPrefix(name, affix)
	}
	for _, affix := range []string{"_test", "_tests", "_spec", "-test", "-spec", "test", "spec"} {
		name = strings.TrimSuffix(name, affix)
	}
	return of != "" && name == of && test != file
}

// Text returns a text of the workspace. One that is not UTF-8 is refused rather than repaired: an edit must find exactly the bytes that
// the model was shown.
func Text(base *workspace.Manifest, name string) (string, error) {
	text, err := base.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
		return "", &agent.StopError{Message: name + " is not UTF-8 text", Next: "name another file with --file"}
	}
	return string(text), nil
}
