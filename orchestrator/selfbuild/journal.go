package selfbuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// A Version is one image of the agent that was built from its own source.
// Two builds of one source are one version, though the images may differ where the toolchain does.
type Version struct {
	// Source is the digest of the tree that it was built from, in hex.
	Source string `json:"source"`
	// Image is its ID on the engine.
	Image string `json:"image"`
	// Program is the SHA-256 of the program in it, in hex.
	Program string    `json:"program"`
	Built   time.Time `json:"built"`
	// Verdicts are those of the battery, by case.
	// They are written down with it, since the image itself may not be asked again: what it needs of
	// the machine may be gone.
	Verdicts map[string]string `json:"verdicts,omitempty"`
}

// Name is the beginning of the source's digest, by which people and tags call a version.
func (v Version) Name() string { return fmt.Sprintf("%.12s", v.Source) }

// An Attempt is one rebuild.
// Phase is where it is, or where it ended: Settled with no Cause is the one good end.
type Attempt struct {
	// Intent says what it is for: a patch, a goal, the workspace as it is.
	Intent string    `json:"intent"`
	Phase  Phase     `json:"phase"`
	Begun  time.Time `json:"begun"`
	// To is what was built, nil until then.
	To *Version `json:"to,omitempty"`
	// Was is the version of the same source that was kept before, which stays where the attempt ends badly.
	Was *Version `json:"was,omitempty"`
	// Cause says why it ended before it was settled.
	// A rollback has one too: why it was wanted.
	Cause string `json:"cause,omitempty"`
}

// A State is what the journal holds.
// A value of it is never changed in place: save replaces it as a whole, so that what is in memory is what is on the
// disk.
type State struct {
	Current  *Version `json:"current"`
	Previous *Version `json:"previous"`
	// Attempt goes on, or was left behind by a killed process; nil for none.
	Attempt *Attempt `json:"attempt"`
	// Past are the attempts that ended, the newest first.
	Past []Attempt `json:"past,omitempty"`
}

// maxPast bounds the attempts that the journal remembers.
// The journal is rewritten at each step, and read by people.
const maxPast = 50

// Tags are what this package needs of an engine. *sandbox.Engine has them.
// Both may be done again with the same arguments: whoever settles does not know how far a killed process came.
type Tags interface {
	// TagImage gives the image a tag, in place of whatever had it.
	TagImage(ctx context.Context, image, ref string) error
	// RemoveImage removes a tag; one that is absent is no error.
	RemoveImage(ctx context.Context, ref string) error
	// ImageLabels returns the ID of the image that a reference names, "" for none.
	ImageLabels(ctx context.Context, ref string) (id string, labels map[string]string, err error)
}

// ErrBusy means that another process rebuilds the agent.
var ErrBusy = errors.New("another process rebuilds the agent: wait for it to end")

// A Journal is the right to change which image is current. It is no more than that of one process at a time: a lock that
// the kernel drops when the process dies.
//
// It is for one goroutine. The lock is advisory: it keeps agents from each other, and nobody else from the tags.
type Journal struct {
	dir   string
	name  string // the repository of the tags
	tags  Tags
	lock  *flock.Flock
	state State
	// reached is told of every point at which a kill leaves something else behind; for tests.
	reached func(point string)
}

// Open takes the journal in dir, which is made where there is none, and settles what a killed process left. name is the
// repository of the tags. The error wraps ErrBusy when another process has it.
func Open(ctx context.Context, dir, name string, tags Tags) (*Journal, error) {
	j := &Journal{dir: dir, name: name, tags: tags, reached: func(string) {}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the agent's versions: %w", err)
	}
	j.lock = flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW))
	switch locked, err := j.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("open the lock of the agent's versions: %w", err)
	case !locked:
		return nil, ErrBusy
	}
	var err error
	if j.state, err = Read(dir); err == nil {
		err = j.settle(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Close gives the journal back.
// The lock goes with the descriptor. The file stays: were it removed, one process could lock a new one while another has
// just opened and locked the old.
func (j *Journal) Close() error { return j.lock.Close() }

// State returns what the journal holds.
func (j *Journal) State() State { return j.state }

// Read returns what the journal in dir holds, for people: whoever changes something needs Open. Without a journal it is
// the zero State.
// It takes no lock, and needs none, because the file is replaced as a whole.
func Read(dir string) (State, error) {
	var s State
	text, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return State{}, fmt.Errorf("read the journal of the agent's versions: %w", err)
	}
	return s, nil
}

// save makes s the truth.
// When that is an error the journal is where it was, in memory as well; but for a directory that could not be synced,
// where the next one who opens it sees which of the two is on the disk.
func (j *Journal) save(s State) error {
	if err := writeFile(filepath.Join(j.dir, "state.json"), s); err != nil {
		return fmt.Errorf("write the journal of the agent's versions: %w", err)
	}
	j.state = s
	return nil
}

// writeFile replaces a file by v in JSON, so that a reader, or a kill at any instant, finds the old one or the new one.
func writeFile(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone by its new name when all went well
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	// Without this a power failure may bring the old file back, after the tags have followed the new one.
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// settle ends what a killed process left, and makes the tags follow the journal.
// Also without an attempt the tags are set: the kill may have come between the end in the journal and the tags.
func (j *Journal) settle(ctx context.Context) error {
	if j.state.Attempt != nil {
		cause := "its process was killed"
		// Whether the change was written by then, the journal does not know.
		if to := j.state.Attempt.To; to != nil && to.Verdicts != nil {
			cause += "; `agent undo` takes its change back where that was written"
		}
		if err := j.fail(ctx, errors.New(cause)); err != nil {
			return err
		}
	} else if err := j.follow(ctx); err != nil {
		return err
	}
	return j.sweep(ctx)
}

// follow gives the tags to the versions of the journal. The current one comes first: it is what containers start from.
// A version that the journal does not have has no tag either, and so one whose image somebody removed: see Lost. Doing it
// twice is doing it once.
func (j *Journal) follow(ctx context.Context) error {
	for _, tag := range []struct {
		name string
		v    *Version
	}{{"current", j.state.Current}, {"previous", j.state.Previous}} {
		if err := j.tag(ctx, tag.v, tag.name); err != nil {
			return err
		}
		j.reached("followed " + tag.name)
	}
	return nil
}

// tag gives a tag to the image of a version, and to none where v is nil or the image is gone.
func (j *Journal) tag(ctx context.Context, v *Version, name string) error {
	ref := j.name + ":" + name
	lost, err := j.lost(ctx, v)
	switch {
	case err != nil:
	case v == nil || lost:
		err = j.tags.RemoveImage(ctx, ref)
	default:
		err = j.tags.TagImage(ctx, v.Image, ref)
	}
	if err != nil {
		return fmt.Errorf("set the tag %s: %w", ref, err)
	}
	return nil
}

// lost reports whether somebody removed the image of a version.
func (j *Journal) lost(ctx context.Context, v *Version) (bool, error) {
	if v == nil {
		return false, nil
	}
	id, _, err := j.tags.ImageLabels(ctx, v.Image)
	return id == "", err
}

// Succeeded reports whether the last attempt made its image the current one.
func (j *Journal) Succeeded() bool {
	s := j.state
	return s.Attempt == nil && len(s.Past) > 0 && s.Past[0].Cause == ""
}

// Lost returns the current version where its image is gone, else nil: nothing can be started from it until the next
// rebuild.
func (j *Journal) Lost(ctx context.Context) (*Version, error) {
	if lost, err := j.lost(ctx, j.state.Current); !lost || err != nil {
		return nil, err
	}
	return j.state.Current, nil
}

// begin records an attempt.
// Open has settled any other one, and the lock keeps the next away. What comes before Build is the gate's, and the
// attempt ends with fail where it does not get to Prove.
func (j *Journal) begin(intent string) error {
	s := j.state
	s.Attempt = &Attempt{Intent: intent, Phase: Gate, Begun: time.Now().UTC().Truncate(time.Second)}
	err := j.save(s)
	j.reached("gate")
	return err
}

// enter records that the attempt has come to a phase, and with what.
// The phase is on the disk before its work begins, so that whoever finds it knows what may have been done, not what was.
func (j *Journal) enter(p Phase, to *Version) error {
	if j.state.Attempt == nil {
		return errors.New("no rebuild has begun, or it has ended")
	}
	s, a := j.state, *j.state.Attempt
	a.Phase, a.To = p, to
	s.Attempt = &a
	err := j.save(s)
	j.reached(string(p))
	return err
}

// end records that the attempt has ended, with the versions that hold from now on.
// There must be one. From the rename in save on the new versions hold, whatever the tags say at that instant.
func (j *Journal) end(current, previous *Version, cause string) error {
	a := *j.state.Attempt
	a.Cause, a.Was = cause, nil
	past := slices.Insert(slices.Clone(j.state.Past), 0, a)
	err := j.save(State{Current: current, Previous: previous, Past: past[:min(len(past), maxPast)]})
	j.reached("ended")
	return err
}

// fail ends the attempt without success: the versions are those from before it, and so are the tags.
// The error is that of the engine or the disk, and not cause. What was built is removed last, which a kill may prevent:
// without its version.json, which goes before, it is found by sweep. A version of the same source that was kept stays.
func (j *Journal) fail(ctx context.Context, cause error) error {
	to, was := j.state.Attempt.To, j.state.Attempt.Was
	// The tags first: an attempt that is still in the journal is settled again when this is killed.
	if err := j.follow(ctx); err != nil {
		return err
	}
	refused := to != nil && was == nil && !j.state.holds(*to)
	switch {
	case refused:
		if err := os.Remove(filepath.Join(j.pod(to.Name()), "version.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove version %s: %w", to.Name(), err)
		}
	case was != nil:
		if err := errors.Join(j.tag(ctx, was, was.Name()), j.keepVersion(*was)); err != nil {
			return err
		}
	}
	if err := j.end(j.state.Current, j.state.Previous, cause.Error()); err != nil {
		return err
	}
	if refused {
		return j.drop(ctx, to.Name())
	}
	return nil
}

// Rollback makes the previous version the current one, and the current one the previous.
// It needs no proof: that image was current, and proved itself then. Both stay, so that a second one takes the first
// back.
func (j *Journal) Rollback(ctx context.Context, cause string) error {
	if j.state.Previous == nil {
		return errors.New("there is no previous version of the agent to go back to")
	}
	// Before the end is recorded, as that could not be gone back on.
	if lost, err := j.lost(ctx, j.state.Previous); err != nil {
		return err
	} else if lost {
		return fmt.Errorf("the image %.19s of the previous version %s was removed", j.state.Previous.Image, j.state.Previous.Name())
	}
	s := j.state
	s.Attempt = &Attempt{Intent: "rollback", Phase: Settled, Begun: time.Now().UTC().Truncate(time.Second), To: s.Previous}
	j.state = s // not on the disk yet: it is there whole, or not at all
	if err := j.end(s.Previous, s.Current, cause); err != nil {
		return err
	}
	return j.follow(ctx)
}

// holds reports whether a version is the current or the previous one.
// By the name, not the image: directories and tags are of names.
func (s State) holds(v Version) bool {
	return s.Current != nil && s.Current.Name() == v.Name() || s.Previous != nil && s.Previous.Name() == v.Name()
}
