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

// A place is a directory of the user's in which the agent keeps files under known names.
// Others there may be another program's, and stay.
type place struct {
	kind  string
	dir   string
	names []string // patterns of filepath.Match
	lost  string   // what goes with it, "" for what is made again
}

// places lists those of this user.
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

// join is the agent's directory below one of the user's, "" for none.
func join(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "agent")
}

// files lists what is there of the place's own.
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

// remove takes the place's own files away, and the directory when nothing else is in it.
func (p place) remove() error {
	var errs []error
	for _, file := range p.files() {
		errs = append(errs, os.RemoveAll(file)) // of a link, the link
	}
	if len(below(p.dir)) == 0 {
		errs = append(errs, os.Remove(p.dir))
	}
	return errors.Join(errs...)
}

// below lists what is in a directory; nothing is in one that is not there.
func below(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir) // what cannot be read cannot be emptied either, and that is told
	for _, e := range entries {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return paths
}

// atWork refuses while a process of this user builds an image or has a turn: the kernel
// tells by the locks, whoever died.
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

// interrupted refuses while a promotion waits for its recovery, for which the state is needed.
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
