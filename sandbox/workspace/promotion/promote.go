package promotion

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/git"
	"agent/sandbox/workspace/internal/dirfd"
)

// A KeptError says that a process wrote to a file at the very moment when it was replaced. The promotion is settled;
// the bytes are in new files next to it.
type KeptError struct{ Paths []string } // the new files

// Error names the new files and says what to do with them.
func (e *KeptError) Error() string {
	return "a file was written to while it was being replaced, and this content is kept in " + strings.Join(e.Paths, ", ") +
		": copy what you need, then remove it"
}

// A Promotion is a changeset on its way to the host. The order is Prepare, Commit, Close; a process that dies in
// between leaves a journal that Recover settles. Only one goroutine may use it.
type Promotion struct {
	j      *journal
	home   *home
	closed bool
}

// Prepare checks cs against the host, three-way. Every path must still be as Before says, creations must be absent, and
// no parent may be a link. If base is not nil, the host must also be at the commit and branch at which base was
// scanned, and the files that cs touches must have the permission bits that base knows. Prepare writes the journal to
// the user's state directory, stages the new bytes in .agent/staging/ID of the workspace, both with fsync, and changes
// nothing else. id names the run. The caller must have called Recover.
//
// The error is a *ConflictError if the host has changed, the workspace was moved or replaced, or git is halfway through
// a merge or rebase; it is a *PathError for a path that cannot be written.
func (l *Lock) Prepare(ctx context.Context, cs workspace.Changeset, id string, base *workspace.Manifest) (*Promotion, error) {
	return prepare(ctx, l.tree, cs, id, base, nil)
}

// prepare is Lock.Prepare with a hook for tests, which it calls before anything is written.
func prepare(ctx context.Context, dir *dirfd.Tree, cs workspace.Changeset, id string, base *workspace.Manifest, hook func(*journal)) (*Promotion, error) {
	if !validID.MatchString(id) {
		return nil, fmt.Errorf("prepare promotion: %q cannot name a journal", id)
	}
	if err := cs.Check(); err != nil {
		return nil, err
	}
	t, err := dir.Reopen()
	if err != nil {
		return nil, err
	}
	p, err := start(t, id)
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("prepare promotion %s: %w", id, err)
	}
	if hook != nil {
		hook(p.j)
	}
	if err := p.j.prepare(ctx, cs, base, p.home); err != nil {
		if p.j.begun {
			err = errors.Join(err, p.j.discard())
		}
		p.release()
		return nil, fmt.Errorf("prepare promotion %s: %w", id, err)
	}
	return p, nil
}

// start returns a promotion of which nothing is written yet.
func start(t *dirfd.Tree, id string) (*Promotion, error) {
	h, err := openHome(t, true)
	if err != nil {
		return nil, err
	}
	j, err := h.newJournal(t, id)
	if err != nil {
		h.close()
		return nil, err
	}
	return &Promotion{j: j, home: h}, nil
}

// release closes the directories.
func (p *Promotion) release() {
	p.j.tree.Close()
	p.home.close()
}

// prepare does the work of Prepare. After an error, its caller clears away what it has begun.
func (j *journal) prepare(ctx context.Context, cs workspace.Changeset, base *workspace.Manifest, h *home) error {
	if err := inPlace(j.tree); err != nil {
		return err
	}
	// Half of another promotion is no basis for a new one. The lock excludes live promotions, so any journal found here
	// is dead.
	dead, err := h.journals(j.tree)
	if err != nil {
		return err
	}
	if len(dead) > 0 {
		return fmt.Errorf("the interrupted promotion %s must be settled first", dead[0].ID)
	}
	if err := unknownStage(j.tree, j.home.Root); err != nil {
		return err
	}
	if err := checkGit(j.tree.Root, base); err != nil {
		return err
	}
	if err := workspace.CheckRepositoriesIn(j.tree, cs); err != nil {
		return err
	}
	files, err := j.plan(ctx, cs, base)
	if err != nil {
		return err
	}
	if err := j.check(j.ID); err != nil {
		return err
	}
	j.begun = true
	if err := j.create(); err != nil {
		return err
	}
	if err := j.save(); err != nil {
		return err
	}
	if err := j.createStage(); err != nil {
		return err
	}
	if err := j.stageFiles(ctx, files); err != nil {
		return err
	}
	// The plan is written again: now it contains the inode numbers of the staged files.
	if err := j.save(); err != nil {
		return err
	}
	return j.advance(ready)
}

// unknownStage refuses to write next to staged files of a promotion that the journals in the directory home do not
// know: another user may have begun it, and the workspace may be half after.
func unknownStage(t *dirfd.Tree, home string) error {
	names, err := t.Names(stages)
	if dirfd.Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	return &ConflictError{
		Paths:  []string{path.Join(stages, slices.Min(names))},
		Reason: "staged files of a promotion that has no journal in " + home,
		Next:   "if another user, or another XDG_STATE_HOME, began it, run agent once as that user; if they came with the workspace, remove them",
	}
}

// checkGit refuses to write while an operation of the user's git is in progress.
func checkGit(root string, base *workspace.Manifest) error {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	if file, what := git.Halfway(root); file != "" {
		return &ConflictError{Paths: []string{file}, Reason: what + ": finish it, then run again"}
	}
	if base == nil {
		return nil
	}
	head := git.Head(root)
	if base.Head == head {
		return nil
	}
	was, _, _ := strings.Cut(base.Head, "\n")
	is, _, _ := strings.Cut(head, "\n")
	reason := fmt.Sprintf("git's HEAD was switched from %q to %q since the snapshot", was, is)
	if was == is {
		reason = fmt.Sprintf("the branch of %q has moved to another commit since the snapshot", is)
	}
	return &ConflictError{Paths: []string{".git/HEAD"}, Reason: reason + ": run again to start from the current state"}
}

// Commit moves the staged files into place. If one cannot be placed, or ctx ends, it puts all of them back and returns
// the reason: a *ConflictError if the host file changed in the meantime. If even that is not possible, the journal
// stays for Recover, and the error says so.
func (p *Promotion) Commit(ctx context.Context) error {
	j := p.j
	if p.closed || j.state != ready {
		return fmt.Errorf("commit promotion %s: it is not ready", j.ID)
	}
	if err := inPlace(j.tree); err != nil {
		return fmt.Errorf("commit promotion %s: %w", j.ID, err)
	}
	err := j.advance(committing)
	if err == nil {
		err = j.forward(ctx)
	}
	if err == nil {
		err = j.advance(committed)
	}
	if err == nil {
		return nil
	}
	if berr := j.back(); berr != nil {
		err = errors.Join(err, fmt.Errorf("roll back: %w: fix the cause, then run agent again", berr))
	}
	return fmt.Errorf("commit promotion %s: %w", j.ID, err)
}

// Close removes the journal and staged files, and .agent if that leaves it empty. Call it once the outcome is recorded
// elsewhere; without Commit it abandons the promotion. It may be called twice. A *KeptError says that bytes written by
// another process were saved at the last moment.
func (p *Promotion) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	defer p.release()
	// Without its journal such a workspace could never be repaired.
	if s := p.j.state; s == committing || s == rollingBack {
		return fmt.Errorf("close promotion %s: it is neither done nor undone; the next run settles it", p.j.ID)
	}
	return p.j.finish()
}

// forward brings every path to its state after. After an error some paths are there and some are not.
func (j *journal) forward(ctx context.Context) error {
	var conflicts []string
	each := func(pick func(item) bool) error {
		for _, it := range j.Items {
			if !pick(it) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			err := j.apply(it)
			if errors.Is(err, errConflict) {
				conflicts = append(conflicts, it.Path)
				return &ConflictError{Paths: conflicts}
			}
			if err != nil {
				return fmt.Errorf("place %s: %w", it.Path, err)
			}
		}
		return nil
	}
	// Deletions come first, since a new file or directory may need the name. Then directories give way, then
	// directories are made, then files take their places. Directories left empty go last, when it is known that they
	// are.
	if err := each(func(it item) bool { return it.After == nil }); err != nil {
		return err
	}
	for _, d := range j.Clear {
		if err := j.tree.Rmdir(d.Path); err != nil && !dirfd.Gone(err) {
			return &ConflictError{Paths: []string{d.Path}}
		}
		j.at("directory cleared")
	}
	for _, dir := range j.Make {
		if err := j.makeDir(dir); err != nil {
			return err
		}
	}
	if err := each(func(it item) bool { return it.After != nil }); err != nil {
		return err
	}
	for _, d := range j.Remove {
		// A directory with other contents stays; that is not a conflict.
		if err := j.tree.Rmdir(d.Path); err == nil {
			j.at("directory removed")
		}
	}
	if err := j.syncTouched(); err != nil {
		return err
	}
	// An empty slot says that its file was placed, so without the slots nothing of the above is certain.
	return j.lost()
}

// back brings every path to its state before, unless it is the user's by now. It first records this in the journal: if
// the process dies here, the next one continues backwards.
func (j *journal) back() error {
	if j.state != rollingBack {
		if err := j.advance(rollingBack); err != nil {
			return err
		}
	}
	if err := j.lost(); err != nil {
		return err
	}
	// The reverse of forward, step by step.
	for _, it := range slices.Backward(j.Items) {
		if it.After == nil {
			continue
		}
		if err := j.revert(it); err != nil {
			return fmt.Errorf("restore %s: %w", it.Path, err)
		}
	}
	for _, dir := range slices.Backward(j.Make) {
		if err := j.tree.Rmdir(dir); err == nil {
			j.at("directory unmade")
		}
	}
	for _, d := range slices.Concat(reversed(j.Remove), reversed(j.Clear)) {
		if err := j.restoreDir(d); err != nil {
			return err
		}
	}
	for _, it := range j.Items {
		if it.After != nil {
			continue
		}
		if err := j.revert(it); err != nil {
			return fmt.Errorf("restore %s: %w", it.Path, err)
		}
	}
	if err := j.syncTouched(); err != nil {
		return err
	}
	// An empty slot says that its file has left it, so without the slots all of the above would have been wrong.
	if err := j.lost(); err != nil {
		return err
	}
	return j.advance(rolledBack)
}

// lost returns an error if someone has removed the staged files.
func (j *journal) lost() error {
	if j.staged() {
		return nil
	}
	return fmt.Errorf("%s was removed: its content cannot be restored", path.Join(j.tree.Root, j.stage))
}

// reversed returns a list of directories in reverse: what is removed children first is made again parents first.
func reversed(dirs []dirMeta) []dirMeta {
	dirs = slices.Clone(dirs)
	slices.Reverse(dirs)
	return dirs
}

// syncTouched makes all renames durable, in the directories that still exist.
func (j *journal) syncTouched() error {
	dirs := map[string]bool{j.stage: true}
	for _, it := range j.Items {
		dirs[path.Dir(it.Path)] = true
		dirs[path.Dir(it.Slot)] = true
	}
	for _, dir := range j.Make {
		dirs[path.Dir(dir)] = true
	}
	for _, d := range slices.Concat(j.Clear, j.Remove) {
		dirs[path.Dir(d.Path)] = true
	}
	for dir := range dirs {
		if err := j.tree.Sync(dir); err != nil && !dirfd.Gone(err) {
			return err
		}
	}
	j.at("synced")
	return nil
}

// kept lists the paths that are not as before: after a rollback they are the user's.
func (j *journal) kept() ([]string, error) {
	var list []string
	for _, it := range j.Items {
		now, err := look(j.tree, it.Path)
		if err != nil {
			return nil, err
		}
		if !now.is(it.Before) {
			list = append(list, it.Path)
		}
	}
	return list, nil
}

// finish removes the journal. Bytes in a slot that are neither the staged nor the displaced ones were written through a
// descriptor that another process held all the while. finish first gives them a name next to the file.
func (j *journal) finish() error {
	var saved []string
	items := j.Items
	if !j.staged() {
		items = nil // nothing of this promotion is left
	}
	for _, it := range items {
		for _, slot := range []string{it.Slot, it.Slot + swapSuffix} {
			f, err := look(j.tree, slot)
			if err != nil {
				return err
			}
			known := f.absent || f.is(it.Before) || f.plain && f.inode == it.Inode && f.is(it.After)
			if known || j.state == staging || j.state == ready {
				continue
			}
			name, err := j.rescue(slot, it.Path)
			if err != nil {
				return err
			}
			saved = append(saved, name)
		}
	}
	if err := j.discard(); err != nil {
		return fmt.Errorf("remove journal %s: %w", j.ID, err)
	}
	if len(saved) > 0 {
		return &KeptError{Paths: saved}
	}
	return nil
}

// rescue gives the file in slot a free name next to the path of the file that it was.
func (j *journal) rescue(slot, name string) (string, error) {
	base := path.Join(j.existing(path.Dir(name)), path.Base(name)+".kept-"+j.ID)
	for i := 1; ; i++ {
		free := base
		if i > 1 {
			free = fmt.Sprintf("%s-%d", base, i)
		}
		if err := j.put(slot, free); !errors.Is(err, fs.ErrExist) {
			return free, err
		}
	}
}
