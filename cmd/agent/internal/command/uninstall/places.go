package uninstall

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
)

// A place is a directory of the user's in which the agent keeps files under known names. Other files there may belong
// to another program, and stay.
type place struct {
	kind  string
	dir   string
	names []string // patterns of filepath.Match
	lost  string   // what is lost with it, "" if everything can be made again
}

// places returns the places of this user.
func places(getenv func(string) string) []place {
	home := getenv("HOME")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = ""
	}
	list := []place{{kind: "cache", names: []string{"turns", "manifests", "*.lock", "deps-slow-*"}, dir: join(cache)}}
	if cache == "" {
		list[0].dir = filepath.Join(os.TempDir(), fmt.Sprintf("agent-%d", os.Getuid()))
	}
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) && home != "" {
		state = filepath.Join(home, ".local", "state")
	}
	list = append(list, place{kind: "state", dir: join(state), names: []string{"promotions", "self", "hooks"}, lost: "the earlier versions of agent self rebuild"})
	if file := config.UserPath(getenv); file != "" {
		list = append(list, place{
			kind: "configuration", dir: filepath.Dir(file), names: []string{filepath.Base(file), "attest.key"},
			lost: "keys to models, and the key that signs archives",
		})
	}
	return list
}

// join returns the agent's directory below one of the user's, or "".
func join(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "agent")
}

// files lists the existing files of the place.
func (p place) files() (list []string) {
	if p.dir == "" {
		return nil
	}
	for _, file := range below(p.dir) {
		for _, name := range p.names {
			if ok, _ := filepath.Match(name, filepath.Base(file)); ok {
				list = append(list, file)
			}
		}
	}
	return list
}

// remove removes the place's own files, and the directory if it is empty then.
func (p place) remove() error {
	var errs []error
	for _, file := range p.files() {
		errs = append(errs, os.RemoveAll(file)) // for a link, the link itself
	}
	if len(below(p.dir)) == 0 {
		errs = append(errs, os.Remove(p.dir))
	}
	return errors.Join(errs...)
}

// below lists the content of a directory; a missing one has none.
func below(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir) // an unreadable one cannot be emptied either, which is reported
	for _, e := range entries {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return paths
}

// atWork returns an error while a process of this user builds an image or has a turn. The kernel's locks show that,
// even if a process died.
func (p place) atWork() error {
	if p.kind != "cache" {
		return nil
	}
	locks := below(filepath.Join(p.dir, "turns"))
	for _, file := range p.files() {
		if strings.HasSuffix(file, ".lock") {
			locks = append(locks, file)
		}
	}
	for _, file := range locks {
		lock := flock.New(file, flock.SetFlag(os.O_RDWR))
		free, err := lock.TryLock()
		if err = cmp.Or(err, lock.Close()); err == nil && !free {
			return fault.Infra("wait until it has ended, or cancel it, then run again", "the agent is at work: another process holds %s", file)
		}
	}
	return nil
}

// interrupted returns an error while a promotion waits for its recovery, which needs the state.
func (p place) interrupted() error {
	if p.kind != "state" {
		return nil
	}
	for _, workspace := range below(filepath.Join(p.dir, "promotions")) {
		if journals := below(workspace); len(journals) > 0 {
			return fault.Infra("run `agent sandbox run` in the workspace that it belongs to, then run again",
				"a write to a workspace was interrupted and is not settled yet: %s", journals[0])
		}
	}
	return nil
}
