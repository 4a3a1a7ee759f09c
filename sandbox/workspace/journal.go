package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// journals is where the journals lie, relative to the workspace.
const journals = ".agent/journal"

// trash ends the name of a journal that only waits to be removed: its outcome
// is recorded elsewhere, so nothing is to be told about it any more.
const trash = "~"

// validID is what may name a journal: a plain file name.
var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// A state is how far a promotion has come; see the package's documentation.
type state string

const (
	// The new bytes are being written to the slots. The workspace is untouched.
	staging state = "staging"
	// All bytes and the plan are on disk. The workspace is still untouched.
	ready state = "ready"
	// Paths are being placed: any of them may be before or after.
	committing state = "committing"
	// Every path is after. Nothing more is to be done but to tell somebody.
	committed state = "committed"
	// Paths are being put back. A process that dies here must not be followed
	// by one that goes forward: the run may be known as undone already.
	rollingBack state = "rolling-back"
	// Every path is before, or the user's.
	rolledBack state = "rolled-back"
)

// A journal is the plan of one promotion as it is stored, with its state.
type journal struct {
	ID    string `json:"id"`
	Items []item `json:"items"`
	// Directories to make, parents first.
	Make []string `json:"make"`
	// Directories that give way to a file, children first.
	Clear []dirMeta `json:"clear"`
	// Directories that are likely empty afterwards, children first.
	Remove []dirMeta `json:"remove"`

	tree  *tree
	state state
	// Something may have been written, so an error must be followed by discard.
	begun bool
	// Tests end the process here; nil otherwise.
	step func(name string)
}

// An item is one path of a promotion.
type item struct {
	Path string `json:"path"`
	// Where the staged file lies, then the displaced one.
	Slot string `json:"slot"`
	// What is there before. Nil means that no file is there.
	Before *fileMeta `json:"before"`
	// What is to be there. Nil means that no file is to be there.
	After *fileMeta `json:"after"`
	// The inode number of the staged file. It tells that file from all others
	// for as long as it exists, wherever a rename has put it, which a digest
	// cannot do when only permission bits change.
	Inode uint64 `json:"inode"`
}

// A fileMeta is what a file must be to count as the one that the plan means.
type fileMeta struct {
	Digest string `json:"digest"`
	// Permission bits.
	Mode uint32 `json:"mode"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// A dirMeta is what it takes to make a directory again.
type dirMeta struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// at marks a step, for tests that end the process there.
func (j *journal) at(name string) {
	if j.step != nil {
		j.step(name)
	}
}

// dir is the directory of this journal, relative to the workspace.
func (j *journal) dir() string { return path.Join(journals, j.ID) }

// marker is the empty file whose name tells the state s.
func (j *journal) marker(s state) string { return path.Join(j.dir(), "state."+string(s)) }

// create makes the directory of the journal, in the state staging.
func (j *journal) create() error {
	for _, dir := range []struct {
		name string
		mode uint32
	}{{".agent", 0o755}, {journals, 0o700}, {j.dir(), 0o700}, {path.Join(j.dir(), "files"), 0o700}} {
		err := j.tree.mkdir(dir.name, dir.mode)
		// Exports of the agent may have made .agent already. The journal's own
		// directory must be new: two promotions never share an ID.
		if errors.Is(err, fs.ErrExist) && dir.name != j.dir() {
			err = nil
		}
		if err != nil {
			return err
		}
		j.at("mkdir " + path.Base(dir.name))
	}
	if err := j.tree.write(j.marker(staging), nil, 0o600); err != nil {
		return err
	}
	j.state = staging
	return j.syncAll(".agent", journals, j.dir())
}

// advance changes the state by one rename and makes that durable.
func (j *journal) advance(to state) error {
	j.at("before " + string(to))
	if err := j.tree.rename(j.marker(j.state), j.marker(to), 0); err != nil {
		return fmt.Errorf("journal %s: %w", j.ID, err)
	}
	j.state = to
	j.at("after " + string(to))
	return j.syncAll(j.dir())
}

// syncAll makes the names in several directories durable. On a file system
// that journals its metadata this orders what came before against what comes
// after a power failure; a kill alone needs none of it.
func (j *journal) syncAll(dirs ...string) error {
	for _, dir := range dirs {
		if err := j.tree.sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// save writes the plan, whole or not at all.
func (j *journal) save() error {
	text, err := json.MarshalIndent(j, "", "\t")
	if err != nil {
		return err
	}
	name := path.Join(j.dir(), "journal.json")
	// The old plan stays readable until the new one is complete.
	// A second save finds no left-over: the name is this process's own.
	if err := j.tree.write(name+".new", text, 0o600); err != nil {
		return err
	}
	j.at("plan written")
	if err := j.tree.rename(name+".new", name, 0); err != nil {
		return err
	}
	return j.syncAll(j.dir())
}

// load reads the journal id. What is in it was in the workspace, where anybody
// may have written, so it can name no path that a changeset could not.
func load(t *tree, id string) (*journal, error) {
	j := &journal{tree: t, ID: id, state: staging}
	names, err := t.names(j.dir())
	if err != nil {
		return nil, err
	}
	// Exactly one marker exists at any time, since it is renamed and never
	// copied. None at all means that the process died before it made the first
	// one.
	for _, s := range []state{ready, committing, committed, rollingBack, rolledBack} {
		if slices.Contains(names, "state."+string(s)) {
			j.state = s
		}
	}
	text, err := t.read(path.Join(j.dir(), "journal.json"))
	if errors.Is(err, fs.ErrNotExist) && (j.state == staging || j.state == committed || j.state == rolledBack) {
		return j, nil // not yet written, or removed already: nothing is to be done either way
	}
	if err == nil {
		err = json.Unmarshal(text, j)
	}
	if err == nil {
		err = j.check(id)
	}
	if err != nil {
		return nil, fmt.Errorf("journal %s/%s is damaged: put the workspace right by hand, then remove it: %w", t.root, j.dir(), err)
	}
	return j, nil
}

// check refuses a plan that Prepare would not have made.
func (j *journal) check(id string) error {
	if j.ID != id {
		return fmt.Errorf("it is of %q", j.ID)
	}
	names := slices.Clone(j.Make)
	for _, d := range slices.Concat(j.Clear, j.Remove) {
		names = append(names, d.Path)
	}
	// A slot lies in the journal or, under a name that tells whose it is, in a
	// directory of the workspace.
	for i, it := range j.Items {
		names = append(names, it.Path)
		beside := path.Base(it.Slot) == fmt.Sprintf("%s%s-%d", slotPrefix, j.ID, i)
		if it.Slot != j.slot(i) && !(beside && CheckPath(path.Join(path.Dir(it.Slot), "x")) == nil) {
			return &PathError{Path: it.Slot, Reason: "it is not a place for staged files"}
		}
		if it.Before == nil && it.After == nil {
			return &PathError{Path: it.Path, Reason: "nothing is to be done with it"}
		}
	}
	for _, name := range names {
		if err := CheckPath(name); err != nil {
			return err
		}
	}
	return nil
}

// slot is the usual place of the staged file of item i.
func (j *journal) slot(i int) string { return fmt.Sprintf("%s/files/%d", j.dir(), i) }

// discard takes the journal away. Staged files beside their targets go first,
// while the plan still tells where they are; then one rename ends the
// journal's life.
func (j *journal) discard() error {
	for i, it := range j.Items {
		if it.Slot == j.slot(i) {
			continue
		}
		for _, name := range []string{it.Slot, it.Slot + swapSuffix} {
			if err := j.tree.unlink(name); err != nil && !gone(err) {
				return err
			}
		}
		j.at("unlink slot")
	}
	if err := j.tree.rename(j.dir(), j.dir()+trash, 0); err != nil && !gone(err) {
		return err
	}
	j.at("journal renamed")
	if err := j.tree.empty(j.dir() + trash); err != nil {
		return err
	}
	return tidy(j.tree)
}

// tidy removes the directories of the journals when they are empty.
func tidy(t *tree) error {
	for _, dir := range []string{journals, ".agent"} {
		err := t.rmdir(dir)
		switch {
		case errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST):
			return nil
		case err != nil && !gone(err):
			return err
		}
	}
	return nil
}

// pending lists the journals in the workspace, and removes those that only
// wait for it.
func pending(t *tree) ([]string, error) {
	names, err := t.names(journals)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	// Names that are neither a journal's nor debris of one are not ours to
	// judge.
	var ids []string
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, trash) && validID.MatchString(strings.TrimSuffix(name, trash)):
			if err := t.empty(path.Join(journals, name)); err != nil {
				return nil, err
			}
		case validID.MatchString(name):
			ids = append(ids, name)
		}
	}
	return ids, nil
}

// write makes a new file with content, in place of a left-over, and makes its
// bytes durable.
func (t *tree) write(name string, content []byte, mode uint32) error {
	if err := t.unlink(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := t.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode)
	if err != nil {
		return err
	}
	// Without the sync a power failure after the rename could leave a file of
	// the right name and no content.
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// read returns the content of a small file, such as a plan.
func (t *tree) read(name string) ([]byte, error) {
	f, err := t.open(name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is not a regular file")}
	}
	// A plan of 100,000 items has some 30 MB; what is larger was not written
	// by us.
	return io.ReadAll(io.LimitReader(f, 256<<20))
}

// empty removes the directory name with all that is in it; nothing there is
// fine.
func (t *tree) empty(name string) error {
	names, err := t.names(name)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range names {
		child = path.Join(name, child)
		err := t.unlink(child)
		if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
			err = t.empty(child)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := t.rmdir(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
