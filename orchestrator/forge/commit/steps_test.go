package commit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/forge/commit"
	"agent/sandbox/workspace"
)

// modified, created and deleted are changes of one file.
func modified(name, from, to string) workspace.Change {
	return workspace.Change{Op: workspace.Modify, Path: name, Before: []byte(from), After: []byte(to), Mode: 0o644}
}

func created(name, text string, mode os.FileMode) workspace.Change {
	return workspace.Change{Op: workspace.Create, Path: name, After: []byte(text), Mode: mode}
}

// step returns an intermediate commit.
func step(message string, list ...workspace.Change) commit.Step {
	return commit.Step{Changes: workspace.Changeset{Changes: list}, Message: message + "\n"}
}

// log lists the commits after old, oldest first, each with its changes.
func (b *bench) log(old, to string) string {
	b.Helper()
	if old != "" {
		to = old + ".." + to
	}
	text := b.git("log", "--reverse", "--format=%s", "--name-status", "--no-renames", to)
	return strings.NewReplacer("\n\n", " ", "\t", ":", "\n", " | ").Replace(text)
}

// Several commits lead up to one. Each contains the steps before it, a later step may undo an earlier one, and the last one contains what
// was judged.
func TestStepsLeadUpToTheWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []commit.Step
		want   string
	}{
		"one": {[]commit.Step{step("make c", created("new/c.py", "c\n", 0o755))}, "make c A:new/c.py | Round up M:a.py"},
		"a file that is taken back": {[]commit.Step{
			step("scaffold", created("tmp/t.py", "t\n", 0o644)),
			step("make c", created("tmp/t.py", "t\n", 0o644), created("new/c.py", "c\n", 0o755)),
		}, "scaffold A:tmp/t.py | make c A:new/c.py | Round up M:a.py | D:tmp/t.py"},
		"a deletion that is taken back": {[]commit.Step{
			step("drop b", workspace.Change{Op: workspace.Delete, Path: "b.py", Before: []byte("1\n"), Mode: 0o644}),
		}, "drop b D:b.py | Round up M:a.py | A:b.py | A:new/c.py"},
		"a mode on the way": {[]commit.Step{step("plain", created("new/c.py", "c\n", 0o644))}, "plain A:new/c.py | Round up M:a.py | M:new/c.py"},
		"a step that is the whole, and one of nothing": {[]commit.Step{
			step("nothing"), step("all", modified("a.py", "1\n", "2\n"), created("new/c.py", "c\n", 0o755)),
		}, "nothing | all M:a.py | A:new/c.py | Round up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, true)
			old := b.git("rev-parse", "HEAD")
			o := b.order()
			o.Before = c.before
			made, err := commit.Prepare(t.Context(), b.repo, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(made.Besides) > 0 || b.git("rev-parse", "HEAD") != old {
				t.Errorf("besides %v, or the branch moved before the files did", made.Besides)
			}
			b.promote()
			if err := errors.Join(made.Place(t.Context()), made.Finish(t.Context())); err != nil {
				t.Fatal(err)
			}
			if got := b.log(old, "HEAD"); got != c.want {
				t.Errorf("committed %s\nwant      %s", got, c.want)
			}
			if got := b.git("status", "--porcelain"); got != "" {
				t.Errorf("the work tree differs: %s", got)
			}
			if got := b.git("ls-tree", "HEAD", "new/c.py"); !strings.HasPrefix(got, "100755") {
				t.Errorf("new/c.py is %s", got)
			}
			b.clean()
			// All of them are withdrawn together.
			if err := made.Withdraw(t.Context()); err != nil || b.git("rev-parse", "HEAD") != old {
				t.Errorf("taken back to %s, not %s: %v", b.git("rev-parse", "HEAD"), old, err)
			}
		})
	}
}

// Files that only a step changes are checked like those of the whole, because edits in them would be lost on the way.
func TestAStepTakesNothingAlong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*bench)
		says    string
	}{
		"edits":     {func(b *bench) { b.write("b.py", "mine\n") }, "b.py has uncommitted edits"},
		"untracked": {func(b *bench) { b.write("tmp/t.py", "mine\n") }, "tmp/t.py has uncommitted edits"},
		"staged": {func(b *bench) {
			b.write("b.py", "mine\n")
			b.git("add", "b.py")
			b.write("b.py", "1\n")
		}, "b.py has staged changes"},
		"converted": {func(b *bench) { b.write(".gitattributes", "b.py filter=x\n") }, "git stores b.py in another form"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, true)
			c.prepare(b)
			o := b.order()
			o.Before = []commit.Step{step("b and t", modified("b.py", "1\n", "2\n"), created("tmp/t.py", "t\n", 0o644))}
			var refused *commit.RefusedError
			if _, err := commit.Prepare(t.Context(), b.repo, o); !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.says) || refused.Next == "" {
				t.Errorf("%v", err)
			}
			if got := b.git("for-each-ref", "refs/agent"); got != "" {
				t.Errorf("left behind: %s", got)
			}
		})
	}
	// A file that neither a step nor the whole changes is reported once, however many steps there are.
	b := newBench(t, true)
	b.write("other.py", "mine\n")
	o := b.order()
	o.Before = []commit.Step{step("one", created("new/c.py", "c\n", 0o755)), step("two", created("new/c.py", "d\n", 0o755))}
	made, err := commit.Prepare(t.Context(), b.repo, o)
	if err != nil || strings.Join(made.Besides, " ") != "other.py" {
		t.Errorf("besides are %v, %v", made, err)
	}
}

// A process may die between several commits and their files: Settle finishes or withdraws all of them together.
func TestWhatAKillLeavesOfSeveralCommitsIsSettled(t *testing.T) {
	t.Parallel()
	for how, n := range map[string]int{"main": 1, "topic/heads/x": 3, "detached": 2, "unborn": 2, "branch": 2} {
		for _, placed := range []bool{false, true} {
			for _, promoted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s placed %t promoted %t", how, placed, promoted), func(t *testing.T) {
					t.Parallel()
					killed(t, how, n, placed, promoted)
				})
			}
		}
	}
}

// killed settles what a process left that died after creating n steps and the last commit.
func killed(t *testing.T, how string, n int, placed, promoted bool) {
	b := newBench(t, how != "unborn")
	o := b.order()
	old, left := "", ""
	switch how {
	case "unborn": // every file counts as an uncommitted edit
		o.Changes.Changes, left = o.Changes.Changes[1:], "?? a.py\n?? b.py"
	case "detached":
		b.git("checkout", "-q", "--detach")
	case "branch":
		o.Branch = "side"
	case "topic/heads/x":
		b.git("checkout", "-q", "-b", how)
	}
	head := func() string { return b.git("for-each-ref", "--format=%(objectname)", "refs/heads/main") }
	if how != "unborn" {
		head = func() string { return b.git("rev-parse", "HEAD") }
		old = head()
	}
	for i := range n {
		o.Before = append(o.Before, step(fmt.Sprint("step ", i), created("tmp/t.py", fmt.Sprint(i), 0o644)))
	}
	made, err := commit.Prepare(t.Context(), b.repo, o)
	if err != nil {
		t.Fatal(err)
	}
	if promoted && how != "branch" {
		b.promote()
	}
	if placed {
		if err := made.Place(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // and once more
		if err := commit.Settle(t.Context(), b.dir, "r1", promoted); err != nil {
			t.Fatal(err)
		}
	}
	if want := map[bool]string{true: made.ID, false: old}[promoted && how != "branch"]; head() != want {
		t.Errorf("HEAD is %q, want %q", head(), want)
	}
	if got := b.git("status", "--porcelain"); got != left {
		t.Errorf("the work tree has %q, want %q", got, left)
	}
	b.clean()
}

// A pending reference of an earlier version has no number in its name, and counts as one commit. One with a wrong number is reported.
func TestAPendingReferenceIsReadAsItIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	made, err := commit.Prepare(t.Context(), b.repo, b.order())
	if err != nil {
		t.Fatal(err)
	}
	b.promote()
	b.git("update-ref", "refs/agent/pending/r1/heads/main", made.ID)
	b.git("update-ref", "-d", "refs/agent/pending/r1/1/heads/main")
	if err := commit.Settle(t.Context(), b.dir, "r1", true); err != nil || b.git("rev-parse", "HEAD") != made.ID {
		t.Errorf("HEAD is %s, not %s: %v", b.git("rev-parse", "HEAD"), made.ID, err)
	}
	b.clean()
	b.git("update-ref", "refs/agent/pending/r2/9/heads/main", made.ID)
	if err := commit.Settle(t.Context(), b.dir, "r2", false); err == nil || !strings.Contains(err.Error(), "names 9 commits but has 2") || b.git("rev-parse", "HEAD") != made.ID {
		t.Errorf("HEAD is %s, not %s: %v", b.git("rev-parse", "HEAD"), made.ID, err)
	}
}

// If the user has gone back to a step, Settle changes nothing.
func TestSomebodyWhoIsAtAStepStaysThere(t *testing.T) {
	t.Parallel()
	for _, promoted := range []bool{false, true} {
		b := newBench(t, true)
		o := b.order()
		o.Before = []commit.Step{step("make c", created("new/c.py", "c\n", 0o755))}
		made, err := commit.Prepare(t.Context(), b.repo, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Place(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.promote()
		b.git("reset", "-q", "--hard", "HEAD~1")
		at := b.git("rev-parse", "HEAD")
		if err := commit.Settle(t.Context(), b.dir, "r1", promoted); err != nil || b.git("rev-parse", "HEAD") != at {
			t.Errorf("promoted %t: HEAD is %s, not %s: %v", promoted, b.git("rev-parse", "HEAD"), at, err)
		}
		if _, err := os.Stat(filepath.Join(b.dir, "new/c.py")); err != nil || b.git("show", "HEAD:a.py") != "1" {
			t.Errorf("promoted %t: %v", promoted, err)
		}
		b.clean()
	}
}
