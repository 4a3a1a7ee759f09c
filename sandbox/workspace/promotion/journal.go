package promotion

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/internal/dirfd"
	"agent/sandbox/workspace/lazyregexp"

	"golang.org/x/sys/unix"
)

// stages is where the staged files are, relative to the workspace. They cannot be next to their journal, since a rename
// does not cross file systems. Their presence alone means nothing.
const stages = ".agent/staging"

// oldJournals is where earlier versions kept the journals, in the workspace. They are trusted only if the record knows
// them: see Lock.RecoverOld.
const oldJournals = ".agent/journal"

// trash ends the name of a journal that only waits for removal: its outcome is recorded elsewhere, so it need not be
// reported any more.
const trash = "~"

// validID matches what may name a journal: a plain file name.
var validID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// A state says how far a promotion has come; see the package documentation.
type state string

const (
	// The new bytes are being written to the slots. The workspace is untouched.
	staging state = "staging"
	// All bytes and the plan are on disk. The workspace is still untouched.
	ready state = "ready"
	// Paths are being placed: any of them may be before or after.
	committing state = "committing"
	// Every path is after. Only the report remains.
	committed state = "committed"
	// Paths are being put back. If a process dies here, the next one must not go forward: the run may already be known
	// as undone.
	rollingBack state = "rolling-back"
	// Every path is before, or the user's.
	rolledBack state = "rolled-back"
)

// A journal is the plan of one promotion as it is stored, with its state.
type journal struct {
	ID string `json:"id"`
	// The path of the workspace that the plan is for.
	Root string `json:"root"`
	// The inode number of the directory of staged files, 0 before it is made. It proves that a directory is the one
	// that the plan is for.
	Stage uint64 `json:"stage"`
	Items []item `json:"items"`
	// Directories to make, parents first.
	Make []string `json:"make"`
	// Directories that give way to a file, children first.
	Clear []dirMeta `json:"clear"`
	// Directories that are likely empty afterwards, children first.
	Remove []dirMeta `json:"remove"`

	// The workspace.
	tree *dirfd.Tree
	// The directory of the user's journals, and this one's place in it.
	home  *dirfd.Tree
	key   []byte
	place string
	// The directory of staged files, relative to the workspace.
	stage string
	state state
	// Made by an earlier version, in the workspace and without a signature.
	old bool
	// Something may have been written, so discard must follow an error.
	begun bool
	// Tests end the process here; nil otherwise.
	step func(name string)
}

// An item is one path of a promotion.
type item struct {
	Path string `json:"path"`
	// Where first the staged file is, then the displaced one.
	Slot string `json:"slot"`
	// What is there before; nil means no file.
	Before *fileMeta `json:"before"`
	// What must be there after; nil means no file.
	After *fileMeta `json:"after"`
	// The inode number of the staged file. As long as the file exists it distinguishes the file from all others,
	// wherever a rename has put it. A digest cannot do that if only permission bits change.
	Inode uint64 `json:"inode"`
}

// A fileMeta describes a file well enough to recognise the one that the plan means.
type fileMeta struct {
	Digest string `json:"digest"`
	// Permission bits.
	Mode uint32 `json:"mode"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// A dirMeta is what is needed to make a directory again.
type dirMeta struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// at marks a step, at which tests may end the process.
func (j *journal) at(name string) {
	if j.step != nil {
		j.step(name)
	}
}

// marker returns the empty file whose name is the state s.
func (j *journal) marker(s state) string { return path.Join(j.place, "state."+string(s)) }

// create makes the directory of the journal, in the state staging.
func (j *journal) create() error {
	// The journal's own directory must be new: two promotions never share an ID.
	if err := j.mkdirs(j.home, path.Dir(j.place), j.place); err != nil {
		return err
	}
	if err := j.home.Write(j.marker(staging), nil, 0o600); err != nil {
		return err
	}
	j.state = staging
	return syncAll(j.home, ".", path.Dir(j.place), j.place)
}

// createStage makes the directory of staged files. The journal is on disk by now, so a process that dies here leaves
// nothing unknown.
func (j *journal) createStage() error {
	if err := j.mkdirs(j.tree, ".agent", stages, j.stage); err != nil {
		return err
	}
	st, err := j.tree.Stat(j.stage)
	if err != nil {
		return err
	}
	j.Stage = st.Ino
	return syncAll(j.tree, ".agent", stages, j.stage)
}

// mkdirs makes directories, parents first. Only the last must be new: .agent may exist already, for example because of
// exports of the agent.
func (j *journal) mkdirs(t *dirfd.Tree, dirs ...string) error {
	for i, dir := range dirs {
		mode := uint32(0o700)
		if dir == ".agent" {
			mode = 0o755
		}
		err := t.Mkdir(dir, mode)
		if err != nil && (!errors.Is(err, fs.ErrExist) || i == len(dirs)-1) {
			return err
		}
		j.at("mkdir " + path.Base(dir))
	}
	return nil
}

// advance changes the state by one rename and makes that durable.
func (j *journal) advance(to state) error {
	j.at("before " + string(to))
	if err := j.home.Rename(j.marker(j.state), j.marker(to), 0); err != nil {
		return fmt.Errorf("journal %s: %w", j.ID, err)
	}
	j.state = to
	j.at("after " + string(to))
	return syncAll(j.home, j.place)
}

// syncAll makes the names in several directories durable. On a file system that journals its metadata this orders what
// came before against what comes after a power failure; a kill alone needs none of it.
func syncAll(t *dirfd.Tree, dirs ...string) error {
	for _, dir := range dirs {
		if err := t.Sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// save writes the plan atomically, after a line with its signature.
func (j *journal) save() error {
	text, err := json.MarshalIndent(j, "", "\t")
	if err != nil {
		return err
	}
	text = slices.Concat([]byte(sign(j.key, text)), []byte("\n"), text)
	name := path.Join(j.place, "journal.json")
	// The old plan stays readable until the new one is complete. A second save finds no leftover: the name belongs to
	// this process.
	if err := j.home.Write(name+".new", text, 0o600); err != nil {
		return err
	}
	j.at("plan written")
	if err := j.home.Rename(name+".new", name, 0); err != nil {
		return err
	}
	return syncAll(j.home, j.place)
}

// load reads the plan and the state of a journal of which only the place is known. A plan can name no path that a
// changeset could not.
func (j *journal) load() error {
	names, err := j.home.Names(j.place)
	if err != nil {
		return err
	}
	// Exactly one marker exists at any time, since it is renamed and never copied. None at all means that the process
	// died before it made the first one.
	for _, s := range []state{ready, committing, committed, rollingBack, rolledBack} {
		if slices.Contains(names, "state."+string(s)) {
			j.state = s
		}
	}
	text, err := j.home.Read(path.Join(j.place, "journal.json"))
	if errors.Is(err, fs.ErrNotExist) && (j.state == staging || j.state == committed || j.state == rolledBack) {
		return nil // not yet written, or removed already: nothing is to be done either way
	}
	if err == nil {
		err = j.decode(text)
	}
	if err != nil {
		return fmt.Errorf("journal %s/%s is damaged: correct the files of %s by hand, then remove it: %w", j.home.Root, j.place, j.tree.Root, err)
	}
	return nil
}

// decode reads a plan that save wrote.
func (j *journal) decode(text []byte) error {
	if !j.old {
		code, plan, _ := bytes.Cut(text, []byte("\n"))
		// An absent key proves nothing.
		if len(j.key) == 0 || !hmac.Equal(code, []byte(sign(j.key, plan))) {
			return errors.New("it is not signed with this user's key")
		}
		text = plan
	}
	id := j.ID
	if err := json.Unmarshal(text, j); err != nil {
		return err
	}
	if !j.old && !strings.HasSuffix(path.Dir(j.place), "-"+pathHash(j.Root)) {
		return fmt.Errorf("it belongs to the workspace %q", j.Root)
	}
	return j.check(id)
}

// movedHere reports whether a plan for a directory with the same inode number and another path is for this directory.
// If so, it has been moved, with the staged files in it.
func (j *journal) movedHere() bool { return j.Stage != 0 && j.staged() }

// staged reports whether the staged files are there. A directory that was removed and made anew often gets the same
// inode number; its contents then do not belong to this journal.
func (j *journal) staged() bool {
	st, err := j.tree.Stat(j.stage)
	return err == nil && (j.Stage == 0 || st.Ino == j.Stage)
}

// check refuses a plan that Prepare would not have made.
func (j *journal) check(id string) error {
	if j.ID != id {
		return fmt.Errorf("it belongs to %q", j.ID)
	}
	names := slices.Clone(j.Make)
	for _, d := range slices.Concat(j.Clear, j.Remove) {
		names = append(names, d.Path)
	}
	// A slot is in the journal's stage or in a directory of the workspace, under a name that shows whose it is.
	for i, it := range j.Items {
		names = append(names, it.Path)
		beside := path.Base(it.Slot) == fmt.Sprintf("%s%s-%d", workspace.SlotPrefix, j.ID, i)
		if it.Slot != j.slot(i) && !(beside && workspace.CheckPath(path.Join(path.Dir(it.Slot), "x")) == nil) {
			return &workspace.PathError{Path: it.Slot, Reason: "it is not a place for staged files"}
		}
		if it.Before == nil && it.After == nil {
			return &workspace.PathError{Path: it.Path, Reason: "there is nothing to do with it"}
		}
	}
	for _, name := range names {
		if err := workspace.CheckPath(name); err != nil {
			return err
		}
	}
	return nil
}

// slot returns the usual place of the staged file of item i.
func (j *journal) slot(i int) string { return fmt.Sprintf("%s/%d", j.stage, i) }

// discard removes the journal. The staged files go first, while the plan still says where they are; then one rename
// ends the journal's life.
func (j *journal) discard() error {
	for i, it := range j.Items {
		if it.Slot == j.slot(i) {
			continue
		}
		for _, name := range []string{it.Slot, it.Slot + swapSuffix} {
			if err := j.tree.Unlink(name); err != nil && !dirfd.Gone(err) {
				return err
			}
		}
		j.at("unlink slot")
	}
	if j.staged() {
		if err := j.tree.Empty(j.stage); err != nil {
			return err
		}
		j.at("stage removed")
	}
	if err := j.home.Rename(j.place, j.place+trash, 0); err != nil && !dirfd.Gone(err) {
		return err
	}
	j.at("journal renamed")
	if err := j.home.Empty(j.place + trash); err != nil {
		return err
	}
	// The directory stays if another journal is in it.
	if err := j.home.Rmdir(path.Dir(j.place)); err != nil && !dirfd.Gone(err) && !notEmpty(err) {
		return err
	}
	return tidy(j.tree)
}

// tidy removes the agent's directories from a workspace if they are empty.
func tidy(t *dirfd.Tree) error {
	for _, dir := range []string{stages, oldJournals, ".agent"} {
		if err := t.Rmdir(dir); err != nil && !dirfd.Gone(err) && !notEmpty(err) {
			return err
		}
	}
	return nil
}

// notEmpty reports whether err says that a directory was not removed because it has contents.
func notEmpty(err error) bool {
	return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)
}

// pending lists the journals in the directory dir, and removes those that only wait for removal.
func pending(t *dirfd.Tree, dir string) ([]string, error) {
	names, err := t.Names(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	// Names that belong neither to a journal nor to the debris of one are not ours to judge.
	var ids []string
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, trash) && validID.MatchString(strings.TrimSuffix(name, trash)):
			if err := t.Empty(path.Join(dir, name)); err != nil {
				return nil, err
			}
		case validID.MatchString(name):
			ids = append(ids, name)
		}
	}
	return ids, nil
}

// pathHash returns the string that represents the path of a workspace in the name of a directory.
func pathHash(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}

// sign returns the code, in hexadecimal, that proves that a plan was written with this user's key.
func sign(key, plan []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("agent promotion 1\n"))
	mac.Write(plan)
	return hex.EncodeToString(mac.Sum(nil))
}

// swapSuffix ends the third name that a swap needs if the file system cannot exchange two.
const swapSuffix = ".swap"
