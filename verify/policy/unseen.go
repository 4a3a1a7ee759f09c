package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace"
)

// unseenRule holds what lies where no scan looks: among installed
// dependencies, byte code and caches. A tool may believe it, and nobody who
// reads the project later will see it.
var unseenRule = holdRule{
	Unseen, "It lies among caches, byte code or installed dependencies, which no later run looks at.", true,
	slices.Concat(unseenNames(workspace.LeftDirs(), "/"), unseenNames(workspace.LeftFiles(), ""), []string{
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

// hiddenHolds lists the files that cs puts where git ignores them, as the rules are in base,
// and the .gitignore files of cs that do the same to others: base.Unseen as holds, sorted
// by path. All of them block, and what git gives no answer about is held too.
func hiddenHolds(ctx context.Context, base *workspace.Manifest, cs workspace.Changeset) (holds []Hold) {
	for _, u := range base.Unseen(ctx, cs) {
		h := Hold{Path: u.Path, Kind: Unseen, Block: true}
		switch {
		case u.Err != nil && u.Rules:
			h.Reason = "Git does not say what it ignores then: " + quote(u.Err.Error())
		case u.Err != nil:
			h.Reason = "Git does not say whether it ignores it: " + quote(u.Err.Error())
		case u.Rules:
			h.Reason = fmt.Sprintf("Git ignores files of the workspace then (%d of them, as %s), which no later run and no commit has.", len(u.Hidden), quote(u.Hidden[0]))
		default:
			h.Reason = "Git ignores it, so no later run and no commit has it."
		}
		holds = append(holds, h)
	}
	return holds
}
