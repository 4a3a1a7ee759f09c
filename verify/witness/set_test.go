package witness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/verifytest"
)

// refusing is a box that accepts only the first few changesets.
type refusing struct {
	verifytest.Replay
	takes int
}

func (r *refusing) Apply(ctx context.Context, cs workspace.Changeset) error {
	if len(r.Applied) == r.takes {
		return errors.New("the disk is full")
	}
	return r.Replay.Apply(ctx, cs)
}

// two returns a set with one witness in an existing file and one in a new file.
func two() *Set {
	var s Set
	s.Append(checktest.View(map[string]string{"b.py": "x = 1\n"}), "b.py", "more\n", []Test{{"b.py", "test_sums_rows", true}})
	s.Create("a.py", "text\n", []Test{{"a.py", "test_keeps_rows", false}})
	return &s
}

func TestABoxIsAsBeforeWhenTheWitnessesAreGone(t *testing.T) {
	t.Parallel()
	box, ran := &verifytest.Replay{}, 0
	if err := two().During(t.Context(), box, func() { ran = len(box.Applied) }); err != nil || ran != 1 || len(box.Applied) != 2 {
		t.Fatalf("%v: it ran behind %d of %d changesets", err, ran, len(box.Applied))
	}
	written, taken := box.Applied[0].Changes, box.Applied[1].Changes
	for i, p := range []string{"a.py", "b.py"} {
		if written[i].Path != p || taken[i].Path != p || string(taken[i].After) != string(written[i].Before) {
			t.Errorf("%+v is taken away by %+v", written[i], taken[i])
		}
	}
	for _, s := range []*Set{nil, {}} {
		box, ran := &verifytest.Replay{}, false
		if err := s.During(t.Context(), box, func() { ran = true }); err != nil || !ran || len(box.Applied) != 0 || len(s.Changes().Changes) != 0 || !s.Empty() || s.Lost() != nil {
			t.Errorf("none: %v %v %+v", err, ran, box.Applied)
		}
	}
}

func TestABoxThatDoesNotTakeTheWitnessesIsTold(t *testing.T) {
	t.Parallel()
	for takes, want := range map[int]string{0: "write the witnesses: the disk is full", 1: "remove the witnesses: the disk is full", 2: "<nil>"} {
		ran := false
		err := two().During(t.Context(), &refusing{takes: takes}, func() { ran = true })
		if fmt.Sprint(err) != want || ran != (takes > 0) {
			t.Errorf("%d changesets: %v, and it ran: %v", takes, err, ran)
		}
	}
	// A cancelled caller no longer has a box.
	ctx, cancel := context.WithCancel(t.Context())
	if err := two().During(ctx, &refusing{takes: 1}, cancel); err != nil {
		t.Error(err)
	}
}

func TestWitnessesThatNothingTellsOfAreLost(t *testing.T) {
	t.Parallel()
	want := []check.Witness{{Place: "b.py", Failing: 1, Missing: 1}, {Place: "a.py", Passing: 1, Missing: 1}}
	if got := two().Lost(); !slices.Equal(got, want) || !got[0].Absent() || got[0].AsDrawn() || got[0].Unlike() {
		t.Errorf("%+v", got)
	}
	results := []check.TestResult{{ID: "a.py::test_own", Outcome: "passed"}}
	if others, seen := (*Set)(nil).Take(results); !slices.Equal(others, results) || seen != nil {
		t.Errorf("%+v %+v", others, seen)
	}
}

// If a fixture runs a witness several times, it counts once, by a result that contradicts it if there is one.
func TestAWitnessToldSeveralTimesCountsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fails    bool
		outcomes string
		want     check.Witness
	}{
		{true, "failed failed", check.Witness{Failing: 1}},
		{true, "failed passed", check.Witness{Failing: 1, Passed: 1}},
		{true, "skipped failed", check.Witness{Failing: 1}},
		{true, "skipped xfailed", check.Witness{Failing: 1, Missing: 1}},
		{false, "passed error", check.Witness{Passing: 1, Failed: 1}},
		{false, "passed skipped", check.Witness{Passing: 1}},
		{false, "unknown", check.Witness{Passing: 1, Missing: 1}},
	} {
		s := &Set{tests: []Test{{Name: "test_sums_rows", Fails: c.fails}}}
		var results []check.TestResult
		for i, outcome := range strings.Fields(c.outcomes) {
			results = append(results, check.TestResult{ID: fmt.Sprintf("a.py::test_sums_rows[%d]", i), Outcome: outcome})
		}
		if others, seen := s.Take(results); len(others) != 0 || len(seen) != 1 || seen[0] != c.want {
			t.Errorf("%v %s: %+v", c.fails, c.outcomes, seen)
		}
	}
}

func TestAFileKeepsItsMode(t *testing.T) {
	t.Parallel()
	base := (&workspace.Manifest{}).With(workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Create, Path: "run.py", After: []byte("x = 1\n"), Mode: 0o755}, {Op: workspace.Create, Path: "a.py", After: []byte("x = 1"), Mode: 0o600},
	}})
	patched := check.NewView(base, workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a.py", Before: []byte("x = 1"), After: []byte("x = 2"), Mode: 0o700}}})
	var s Set
	for _, p := range []string{"run.py", "a.py", "missing.py"} {
		s.Append(patched, p, "more\n", []Test{{p, "test_a", true}})
	}
	for i, want := range []string{"a.py 700 x = 2\nmore\n", "missing.py 644 \nmore\n", "run.py 755 x = 1\nmore\n"} {
		c := s.Changes().Changes[i]
		if got := fmt.Sprintf("%s %o %s", c.Path, c.Mode, c.After); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNoMoreFilesAreDrawnThanAskedFor(t *testing.T) {
	t.Parallel()
	files := []string{"d.py", "b.py", "a.py", "c.py", "a.py"}
	for n := range 6 {
		for name, first := range map[string]func(string) bool{"all": func(string) bool { return true }, "none": func(string) bool { return false }, "c": func(p string) bool { return p == "c.py" }} {
			got := NewDraw().Some(files, first, n)
			if len(got) > n || !slices.IsSorted(got) || name == "c" && n > 0 && !slices.Contains(got, "c.py") || name == "none" && n >= 4 && len(slices.Compact(slices.Clone(got))) != 4 {
				t.Errorf("%d, first %s: %q", n, name, got)
			}
		}
	}
	if got := NewDraw().Some(nil, func(string) bool { return true }, 3); len(got) != 0 || files[0] != "d.py" || files[4] != "a.py" {
		t.Errorf("%q of none; %q", got, files)
	}
}

func TestTheFirstFormsOfATableAreNotLeftOut(t *testing.T) {
	t.Parallel()
	forms := make([]Form, 9)
	for i := range forms {
		forms[i].Body = fmt.Sprint(i)
	}
	for range 20 {
		used := NewDraw().Used(forms, "", 6)
		bodies := map[string]bool{}
		for i, f := range used {
			if bodies[f.Body] || i < 3 && f.Body != fmt.Sprint(i) {
				t.Errorf("%+v", used)
			}
			bodies[f.Body] = true
		}
		if len(used) != 6 {
			t.Errorf("%d forms", len(used))
		}
	}
	if got := NewDraw().Used(nil, "x", 6); got != nil {
		t.Errorf("%+v", got)
	}
}
