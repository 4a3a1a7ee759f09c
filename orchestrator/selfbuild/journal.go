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

// A Version is one image of the agent that was built from its own source. Two builds of one source are one version, though the images
// may differ if the toolchain does.
type Version struct {
	// Source is the digest of the tree from which it was built, in hex.
	Source string `json:"source"`
	// Image is the image's ID on the engine.
	Image string `json:"image"`
	// Program is the SHA-256 of the program in the image, in hex.
	Program string    `json:"program"`
	Built   time.Time `json:"built"`
	// Verdicts are those of the battery, by case. They are recorded with the version, since the image itself may not be asked again:
	// what it needs of the machine may be gone.
	Verdicts map[string]string `json:"verdicts,omitempty"`
}

// Name returns the beginning of the source's digest, by which people and tags call a version.
func (v Version) Name() string { return fmt.Sprintf("%.12s", v.Source) }

// An Attempt is one rebuild. Phase is where it is, or where it ended: Settled without a Cause is the only good end.
type Attempt struct {
	// Intent says what the attempt is for: a patch, a goal, the workspace as it is.
	Intent string    `json:"intent"`
	Phase  Phase     `json:"phase"`
	Begun  time.Time `json:"begun"`
	// To is what was built, nil until then.
	To *Version `json:"to,omitempty"`
	// Was is the version of the same source that was kept before; it stays if the attempt fails.
	Was *Version `json:"was,omitempty"`
	// Cause says why the attempt ended before it was settled. A rollback has one too: why it was wanted.
	Cause string `json:"cause,omitempty"`
}

// A State is what the journal holds. A State is never changed in place: save replaces it as a whole, so that memory and disk agree.
type State struct {
	Current  *Version `json:"current"`
	Previous *Version `json:"previous"`
	// Attempt is in progress, or was left behind by a killed process; nil for none.
	Attempt *Attempt `json:"attempt"`
	// Past lists the attempts that ended, newest first.
	Past []Attempt `json:"past,omitempty"`
}

// maxPast bounds the attempts that the journal remembers. The journal is rewritten at each step, and people read it.
const maxPast = 50

// Tags is what this package needs of an engine. *sandbox.Engine implements it. Both changes may be repeated with the same arguments:
// settling does not know how far a killed process got.
type Tags interface {
	// TagImage gives the image a tag, taking it from whatever image had it.
	TagImage(ctx context.Context, image, ref string) error
	// RemoveImage removes a tag; it is not an error if the tag is absent.
	RemoveImage(ctx context.Context, ref string) error
	// ImageLabels returns the ID of the image that a reference names, "" for none.
	ImageLabels(ctx context.Context, ref string) (id string, labels map[string]string, err error)
}

// ErrBusy means that another process is rebuilding the agent.
var ErrBusy = errors.New("another process is rebuilding the agent: wait for it to end")

// A Journal is the right to change which image is current. Only one process at a time has it: it is a lock that the kernel drops when
// the process dies.
//
// It is for one goroutine. The lock is advisory: it keeps agents from each other, and nobody else from the tags.
type Journal struct {
	dir   string
	name  string // the repository of the tags
	tags  Tags
	lock  *flock.Flock
	state State
	// reached is called at every point at which a kill would leave a different state behind; for tests.
	reached func(point string)
}

// Open takes the journal in dir, which it creates if needed, and settles what a killed process left. name is the repository of the
// tags. The error wraps ErrBusy if another process has the journal.
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

// Close releases the journal. The lock goes with the descriptor. The file stays: if it were removed, one process could lock a new one
// while another has just opened and locked the old one.
func (j *Journal) Close() error { return j.lock.Close() }

// State returns what the journal holds.
func (j *Journal) State() State { return j.state }

// Read returns what the journal in dir holds, for display: changing something requires Open. Without a journal it returns the zero
// State. It takes no lock and needs none, because the file is replaced as a whole.
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

// save makes s the truth. After an error the journal is where it was, in memory as well. The exception is a directory that could not be
// synced: then the next process that opens the journal sees which of the two states is on the disk.
func (j *Journal) save(s State) error {
	if err := writeFile(filepath.Join(j.dir, "state.json"), s); err != nil {
		return fmt.Errorf("write the journal of the agent's versions: %w", err)
	}
	j.state = s
	return nil
}

// writeFile replaces a file by v in JSON, so that a reader, or a kill at any instant, finds either the old file or the new one.
func writeFile(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // renamed by then if all went well
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	// Without this, a power failure may bring back the old file after the tags have followed the new one.
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// settle ends what a killed process left, and makes the tags follow the journal. It sets the tags even without an attempt: the kill may
// have come after the end in the journal and before the tags.
func (j *Journal) settle(ctx context.Context) error {
	if j.state.Attempt != nil {
		cause := "its process was killed"
		// The journal does not know whether the change was written by then.
		if to := j.state.Attempt.To; to != nil && to.Verdicts != nil {
			cause += "; take its change back with `agent undo` if it was written"
		}
		if err := j.fail(ctx, errors.New(cause)); err != nil {
			return err
		}
	} else if err := j.follow(ctx); err != nil {
		return err
	}
	return j.sweep(ctx)
}

// follow gives the tags to the versions of the journal, the current one first: containers start from it. A version that the journal
// does not have gets no tag, and neither does one whose image somebody removed: see Lost. Following twice is the same as following
// once.
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

// tag gives a tag to the image of a version, or removes the tag if v is nil or the image is gone.
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

// Lost returns the current version if its image is gone, otherwise nil: nothing can be started from it until the next rebuild.
func (j *Journal) Lost(ctx context.Context) (*Version, error) {
	if lost, err := j.lost(ctx, j.state.Current); !lost || err != nil {
		return nil, err
	}
	return j.state.Current, nil
}

// begin records an attempt. Open has settled any other, and the lock keeps the next one away. What comes before Build belongs to the
// gate; the attempt ends with fail if it does not reach Prove.
func (j *Journal) begin(intent string) error {
	s := j.state
	s.Attempt = &Attempt{Intent: intent, Phase: Gate, Begun: time.Now().UTC().Truncate(time.Second)}
	err := j.save(s)
	j.reached("gate")
	return err
}

// enter records that the attempt has reached a phase, and with what version. The phase is on the disk before its work begins, so that a
// later reader knows what may have been done, not what was done.
func (j *Journal) enter(p Phase, to *Version) error {
	if j.state.Attempt == nil {
		return errors.New("no rebuild is in progress")
	}
	s, a := j.state, *j.state.Attempt
	a.Phase, a.To = p, to
	s.Attempt = &a
	err := j.save(s)
	j.reached(string(p))
	return err
}

// end records that the attempt has ended, with the versions that hold from now on. There must be an attempt. From the rename in save
// on, the new versions hold, whatever the tags say at that instant.
func (j *Journal) end(current, previous *Version, cause string) error {
	a := *j.state.Attempt
	a.Cause, a.Was = cause, nil
	past := slices.Insert(slices.Clone(j.state.Past), 0, a)
	err := j.save(State{Current: current, Previous: previous, Past: past[:min(len(past), maxPast)]})
	j.reached("ended")
	return err
}

// fail ends the attempt without success: the versions and the tags become those from before it. The error comes from the engine or the
// disk and is not cause. What was built is removed last, which a kill may prevent; its version.json is removed earlier, so that sweep
// finds it. A kept version of the same source stays.
func (j *Journal) fail(ctx context.Context, cause error) error {
	to, was := j.state.Attempt.To, j.state.Attempt.Was
	// Tags first: an attempt that is still in the journal is settled again if this is killed.
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

// Rollback makes the previous version the current one, and the current one the previous. It needs no proof: that image was current, and
// proved itself then. Both stay, so that a second rollback undoes the first.
func (j *Journal) Rollback(ctx context.Context, cause string) error {
	if j.state.Previous == nil {
		return errors.New("there is no previous version of the agent to go back to")
	}
	// Checked before the end is recorded, which could not be taken back.
	if lost, err := j.lost(ctx, j.state.Previous); err != nil {
		return err
	} else if lost {
		return fmt.Errorf("the image %.19s of the previous version %s was removed", j.state.Previous.Image, j.state.Previous.Name())
	}
	s := j.state
	s.Attempt = &Attempt{Intent: "rollback", Phase: Settled, Begun: time.Now().UTC().Truncate(time.Second), To: s.Previous}
	j.state = s // not on the disk yet: end writes it as a whole, or not at all
	if err := j.end(s.Previous, s.Current, cause); err != nil {
		return err
	}
	return j.follow(ctx)
}

// holds reports whether a version is the current or the previous one. It compares names, not images: directories and tags go with
// names.
func (s State) holds(v Version) bool {
	return s.Current != nil && s.Current.Name() == v.Name() || s.Previous != nil && s.Previous.Name() == v.Name()
}
