package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/forge/revision"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// asks is a Runner that notes what it was asked to prove.
type asks struct{ said *[]string }

func (a asks) ProveRevision(ctx context.Context, req run.Request, intent string, find func(context.Context, *workspace.Manifest) (run.Revision, error)) run.Document {
	disk, err := workspace.Scan(ctx, req.Workspace, nil, workspace.Limits{})
	rev, ferr := find(ctx, disk)
	if err := errors.Join(err, ferr); err != nil {
		*a.said = append(*a.said, err.Error())
		return run.Document{Exit: run.ExitInfra}
	}
	*a.said = append(*a.said, intent+": "+rev.Changes.Diff())
	for _, u := range rev.Apart {
		*a.said = append(*a.said, u.Reason)
	}
	return run.Document{}
}

func TestCommitsAndTheWorkingTreeAreGivenToTheGate(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"one\n", "two\n"} {
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", fmt.Sprint(i)}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("three\n"), 0o644), os.Symlink("a.txt", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	repo, err := Repository(dir)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	ended := 0
	p := &Prover{Repo: repo, Request: run.Request{Workspace: dir}, Start: func() (Runner, func()) { return asks{&said}, func() { ended++ } }}
	p.Trees(t.Context(), "commit", "HEAD^", "HEAD")
	p.WorkingTree(t.Context(), "edited", "HEAD")
	if doc := p.Trees(t.Context(), "commit", "HEAD^", "nowhere"); doc.Exit != run.ExitInfra {
		t.Errorf("%+v", doc)
	}
	got := strings.Join(said, "\n")
	for _, want := range []string{"commit: diff", "-one", "+two", "edited: diff", "-two", "+three", "link was not judged: symbolic link"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if ended != 3 {
		t.Errorf("%d of 3 ended", ended)
	}
}

// Files that no diff can express are compared too.
func TestADirectoryIsComparedByWhatItsFilesHold(t *testing.T) {
	t.Parallel()
	before, after := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(before, "logo.png"): "\x89PNG\x00one", filepath.Join(after, "logo.png"): "\x89PNG\x00two", filepath.Join(before, "gone.bin"): "\x00", filepath.Join(after, "new.py"): "x = 1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	p := &Prover{Request: run.Request{Workspace: before}, Start: func() (Runner, func()) { return asks{&said}, func() {} }}
	p.Directory(t.Context(), "pull request 7", after)
	for _, want := range []string{"pull request 7: diff", "logo.png", "gone.bin", "+x = 1"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if doc := p.Directory(t.Context(), "pull request 7", filepath.Join(after, "nowhere")); doc.Exit != run.ExitInfra {
		t.Errorf("%+v", doc)
	}
}

func TestWhatWasNotJudgedIsBounded(t *testing.T) {
	t.Parallel()
	list := make([]revision.Apart, 100)
	if got := apart(list); len(got) != mostApart+1 || got[mostApart].Reason != "80 more changes were not judged" {
		t.Errorf("%d: %+v", len(got), got[len(got)-1])
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	_, none := Repository(t.TempDir())
	for err, want := range map[error]string{
		none: "run it in a work tree of git", Fault(&revision.NoRevisionError{Name: "x"}): "git log", Fault(&revision.NoRevisionError{Name: "x", Shallow: true}): "--unshallow",
	} {
		var f *fault.Error
		if !errors.As(err, &f) || f.Exit != run.ExitUsage || !strings.Contains(f.Next, want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if other := errors.New("other"); Fault(other) != other {
		t.Error("another error was changed")
	}
	if err := With(t.Context(), cmdlinetest.Unattended(""), cmdlinetest.Settings(t, nil, t.TempDir()), true, nil); err == nil || !strings.Contains(err.Error(), "not in a git repository") {
		t.Errorf("%v", err)
	}
}
