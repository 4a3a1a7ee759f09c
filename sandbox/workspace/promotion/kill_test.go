package promotion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/dirfd"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// scenarioTree returns a workspace with one of everything that scenario changes.
func scenarioTree() treetest.Files {
	return treetest.Files{
		"mod.txt":         "one\n",
		"run.sh":          "0755 #!/bin/sh\n",
		"private.txt":     "0600 mine\n",
		"flip.sh":         "0640 echo\n",
		"del.txt":         "bye\n",
		"room/only.txt":   "alone\n",
		"room/":           "0750 ",
		"ren.txt":         "name\n",
		"a.txt":           "A\n",
		"b.txt":           "0755 B\n",
		"tofile/x":        "x\n",
		"tofile/y/z":      "z\n",
		"tofile/y/":       "0700 ",
		"todir":           "d\n",
		"empty.txt":       "",
		"keep/other.txt":  "untouched\n",
		"keep/link":       "->../mod.txt",
		"keep/empty/":     "",
		"crlf.txt":        "a\r\nb",
		".agent/HISTORY":  "export\n",
		".git/HEAD":       "ref: refs/heads/main\n",
		".git/objects/":   "",
		"vacated/one.txt": "1\n",
	}
}

// scenario changes scenarioTree in every way that a changeset can.
func scenario() workspace.Changeset {
	b := func(s string) []byte { return []byte(s) }
	return workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Rename, Path: "a.txt", From: "b.txt", Before: b("B\n"), After: b("B\n"), Mode: 0o755},
		{Op: workspace.Rename, Path: "b.txt", From: "a.txt", Before: b("A\n"), After: b("A changed\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "crlf.txt", Before: b("a\r\nb"), After: b("a\r\nb\x00\xff"), Mode: 0o644},
		{Op: workspace.Delete, Path: "del.txt", Before: b("bye\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "empty.txt", Before: nil, After: b("full\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "flip.sh", Before: b("echo\n"), After: b("echo\n"), Mode: 0o755, OldMode: 0o644},
		{Op: workspace.Modify, Path: "mod.txt", Before: b("one\n"), After: b("two\n"), Mode: 0o644},
		{Op: workspace.Create, Path: "new/deep/file.txt", After: b("new\n"), Mode: 0o777},
		{Op: workspace.Create, Path: "new/nothing", After: nil, Mode: 0o644},
		{Op: workspace.Modify, Path: "private.txt", Before: b("mine\n"), After: b("still mine\n"), Mode: 0o644},
		{Op: workspace.Rename, Path: "moved/ren2.txt", From: "ren.txt", Before: b("name\n"), After: b("name 2\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "room/only.txt", Before: b("alone\n"), Mode: 0o644},
		{Op: workspace.Modify, Path: "run.sh", Before: b("#!/bin/sh\n"), After: b("#!/bin/sh\nexit\n"), Mode: 0o755},
		{Op: workspace.Delete, Path: "todir", Before: b("d\n"), Mode: 0o644},
		{Op: workspace.Create, Path: "todir/inner/f", After: b("inner\n"), Mode: 0o644},
		{Op: workspace.Create, Path: "tofile", After: b("file now\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "tofile/x", Before: b("x\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "tofile/y/z", Before: b("z\n"), Mode: 0o644},
		{Op: workspace.Create, Path: "vacated/new.txt", After: b("2\n"), Mode: 0o644},
		{Op: workspace.Delete, Path: "vacated/one.txt", Before: b("1\n"), Mode: 0o644},
	}}
}

// scenarioEnds returns the state on disk before and after scenario.
func scenarioEnds(t *testing.T) (before, after map[string]string) {
	t.Helper()
	dir := treetest.Memory(t, scenarioTree())
	before = treetest.OnDisk(t, dir)
	promote(t, dir, scenario())
	return before, treetest.OnDisk(t, dir)
}

// C17, C18.
func TestPromotionBringsEveryKindOfChange(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, scenarioTree())
	m := scan(t, dir)
	promote(t, dir, scenario())
	if want, got := paths(m.With(scenario())), paths(scan(t, dir)); !slices.Equal(want, got) {
		t.Errorf("paths after promotion: %s", cmp.Diff(want, got))
	}
	if m.With(scenario()).Digest() != scan(t, dir).Digest() {
		t.Errorf("With foresees other content:\n%s", cmp.Diff(m.With(scenario()).Entries, scan(t, dir).Entries))
	}
	got := treetest.OnDisk(t, dir)
	for name, want := range map[string]string{
		"mod.txt":           `-rw-r--r-- 0:0 1 "two\n"`,
		"private.txt":       `-rw------- 0:0 1 "still mine\n"`,
		"flip.sh":           `-rwxr-x--- 0:0 1 "echo\n"`,
		"new/deep/file.txt": `-rwxr-xr-x 0:0 1 "new\n"`,
		"new/nothing":       `-rw-r--r-- 0:0 1 ""`,
		"a.txt":             `-rwxr-xr-x 0:0 1 "B\n"`,
		"b.txt":             `-rw-r--r-- 0:0 1 "A changed\n"`,
		"tofile":            `-rw-r--r-- 0:0 1 "file now\n"`,
		"todir/inner/f":     `-rw-r--r-- 0:0 1 "inner\n"`,
		"todir/inner":       `drwxr-xr-x 0:0`,
		"crlf.txt":          `-rw-r--r-- 0:0 1 "a\r\nb\x00\xff"`,
		"keep/empty":        `drwxr-xr-x 0:0`,
		".agent/HISTORY":    `-rw-r--r-- 0:0 1 "export\n"`,
		"room":              "",
		"del.txt":           "",
		".agent/journal":    "",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

func TestReversePromotionRestoresTheTree(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, scenarioTree())
	before := treetest.OnDisk(t, dir)
	promote(t, dir, scenario())
	promote(t, dir, scenario().Reverse())
	after := treetest.OnDisk(t, dir)
	// A changeset carries neither the modes of directories nor the private modes of deleted files.
	for _, name := range []string{"room", "tofile/y"} {
		if after[name] != "drwxr-xr-x 0:0" {
			t.Errorf("%s: %q", name, after[name])
		}
		after[name] = before[name]
	}
	treetest.Same(t, "after the undo", before, after)
}

// C29.
func TestKillAtEveryStepLeavesBeforeOrAfter(t *testing.T) {
	t.Parallel()
	before, after := scenarioEnds(t)
	outcomes := map[Outcome]int{}
	step := 1
	for ; ; step++ {
		dir := treetest.Memory(t, scenarioTree())
		if !killed(t, second(t, "promote", dir, step)) {
			treetest.Same(t, "after the promotion that nobody killed", after, treetest.OnDisk(t, dir))
			break
		}
		// The first recovery is killed too, at a step that differs each time.
		killed(t, second(t, "recover", dir, 1+step%9))
		settle(t, fmt.Sprintf("killed at step %d", step), dir, before, after, outcomes)
	}
	if step < 50 || outcomes[Completed] < 20 || outcomes[RolledBack] < 20 {
		t.Errorf("%d steps, outcomes %v: the steps do not cover the promotion", step, outcomes)
	}
}

// settle recovers dir and checks that its state is the one that the outcome names.
func settle(t *testing.T, what, dir string, before, after map[string]string, outcomes map[Outcome]int) {
	t.Helper()
	list, err := recoverIn(t.Context(), dir, nil)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	again, err := recoverIn(t.Context(), dir, nil)
	if err != nil || cmp.Diff(list, again, cmpopts.IgnoreUnexported(Recovery{})) != "" {
		t.Fatalf("%s: a second recovery says %v, %v, the first %v", what, again, err, list)
	}
	if len(list) == 0 {
		// It was killed before there was a journal or after its end was announced.
		got := treetest.OnDisk(t, dir)
		if cmp.Diff(before, got) != "" && cmp.Diff(after, got) != "" {
			t.Fatalf("%s: neither before nor after:\n%s", what, cmp.Diff(before, got))
		}
		return
	}
	outcomes[list[0].Outcome]++
	if list[0].ID != "run-1" || len(list) != 1 || len(list[0].Kept) > 0 {
		t.Fatalf("%s: recoveries %+v", what, list)
	}
	if err := list[0].Discard(); err != nil {
		t.Fatalf("%s: discard: %v", what, err)
	}
	want := before
	if list[0].Outcome == Completed {
		want = after
	}
	treetest.Same(t, fmt.Sprintf("%s: %s", what, list[0].Outcome), want, treetest.OnDisk(t, dir))
}

// errStop ends a promotion without killing the process, so that thousands of ends cost nothing.
var errStop = errors.New("stopped by the test")

// stopped runs do until the given step and reports whether it got there. After that nothing touches the disk, as if the
// process had died.
func stopped(step int, plain bool, do func(hook func(*journal)) error) (end bool, err error) {
	defer func() {
		if r := recover(); r == errStop {
			end = true
		} else if r != nil {
			panic(r)
		}
	}()
	var trees []*dirfd.Tree
	defer func() {
		if end || recover() != nil {
			for _, tr := range trees {
				tr.Close()
			}
			end = true
		}
	}()
	return false, do(func(j *journal) {
		trees = append(trees, j.tree)
		j.tree.Plain = plain
		j.step = func(string) {
			if step--; step == 0 {
				panic(errStop)
			}
		}
	})
}

func TestKillOfPromotionAndThenOfRecoveryAtEveryPairOfSteps(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			t.Parallel()
			killPairs(t, plain)
		})
	}
}

// killPairs stops a promotion and then its recovery, at pairs of steps that it samples with a stride.
func killPairs(t *testing.T, plain bool) {
	before, after := scenarioEnds(t)
	outcomes := map[Outcome]int{}
	promoteIn := func(dir string) func(func(*journal)) error {
		return func(hook func(*journal)) error {
			p, err := prepareIn(context.WithoutCancel(t.Context()), dir, scenario(), "run-1", nil, hook)
			if err != nil {
				return err
			}
			if err := p.Commit(context.WithoutCancel(t.Context())); err != nil {
				return err
			}
			return p.Close()
		}
	}
	for step := 1; ; step++ {
		reached := false
		for second := 1 + step%5; ; second += 5 {
			dir := treetest.Memory(t, scenarioTree())
			end, err := stopped(step, plain, promoteIn(dir))
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			if !end {
				break
			}
			reached = true
			again, err := stopped(second, plain, func(hook func(*journal)) error {
				_, err := recoverIn(t.Context(), dir, hook)
				return err
			})
			if err != nil {
				t.Fatalf("step %d, recovery step %d: %v", step, second, err)
			}
			settle(t, fmt.Sprintf("step %d, recovery step %d", step, second), dir, before, after, outcomes)
			if !again {
				break
			}
		}
		if !reached {
			break
		}
	}
	if outcomes[Completed] < 60 || outcomes[RolledBack] < 20 {
		t.Errorf("outcomes %v: the steps do not cover the promotion", outcomes)
	}
}
