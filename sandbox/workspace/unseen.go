package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kindUnseen is the kind of hold for files that the next scan would pass over.
const kindUnseen = "unseen"

// unseenRule holds what lies where no scan looks: among installed
// dependencies, byte code and caches. A tool may believe it, and nobody who
// reads the project later will see it.
var unseenRule = holdRule{
	kindUnseen, "It lies among caches, byte code or installed dependencies, which no later run looks at.", true,
	slices.Concat(unseenNames(leftDirs, "/"), unseenNames(leftFiles, ""), []string{
		".venv/", "site-packages/", "pyvenv.cfg", "activate", "*.egg-link", "*.pth",
	}),
}

// unseenNames makes patterns of a holdRule of names, but for the directories of
// editors, which have a rule that says more.
func unseenNames(names []string, end string) (list []string) {
	for _, name := range names {
		if name != ".vscode" && name != ".idea" {
			list = append(list, strings.ToLower(name)+end)
		}
	}
	return list
}

// Unseen lists the files that cs puts where git ignores them, as the rules are
// in m: they would be part of no later snapshot and of no commit. Git is asked
// as Scan asks it. What git gives no answer about is held too.
func (m *Manifest) Unseen(ctx context.Context, cs Changeset) (holds []Hold) {
	// Each repository knows its own; a nested one is asked about itself.
	inside := map[repo][]string{}
	for _, c := range cs.sorted() {
		if _, known := m.Lookup(c.Path); known || c.Op == Delete {
			continue
		}
		r, ok := findRepo(filepath.Dir(m.host(c.Path)))
		if !ok {
			r = repo{top: m.Root}
		}
		inside[r] = append(inside[r], c.Path)
	}
	hold := func(name, reason string) {
		holds = append(holds, Hold{Path: name, Kind: kindUnseen, Reason: reason, Block: true})
	}
	for r, names := range inside {
		list, err := m.askIgnored(ctx, r, names)
		for _, name := range names {
			switch {
			case err != nil:
				hold(name, "Git does not say whether it ignores it: "+quote(err.Error()))
			case slices.Contains(list, m.host(name)):
				hold(name, "Git ignores it, so no later run and no commit has it.")
			}
		}
	}
	slices.SortFunc(holds, func(a, b Hold) int { return strings.Compare(a.Path, b.Path) })
	return holds
}

// askIgnored returns which of the names, below one repository, git ignores.
// Without git, rules that it would read were refused by the scan.
func (m *Manifest) askIgnored(ctx context.Context, r repo, names []string) ([]string, error) {
	bin, err := exec.LookPath("git")
	if err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	var in bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&in, "%s\x00", m.host(name))
	}
	args := []string{"check-ignore", "-z", "--stdin"}
	if exclude, ok := r.exclude(); ok {
		args = append([]string{"-c", "core.excludesFile=" + exclude}, args...)
	}
	dir := m.Root
	if strings.HasPrefix(r.top, m.Root+string(filepath.Separator)) {
		dir = r.top
	}
	list, err := listGit(ctx, bin, r, dir, args, in.Bytes())
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, nil // none of them: git-check-ignore(1)
	}
	return list, err
}

// host is the place of a path of the workspace on the host.
//
// Names of a manifest have slashes, and git is asked about places of this
// machine.
func (m *Manifest) host(name string) string { return filepath.Join(m.Root, filepath.FromSlash(name)) }
