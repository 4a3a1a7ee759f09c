package policy

import (
	"context"
	"fmt"

	"agent/sandbox/workspace"
)

// gitHolds lists the files of cs that git reads as settings or runs as hooks because the repository's configuration says so,
// unless a blocking rule for their names already holds them. All of them block. If git gives no answer, the first change is held.
func gitHolds(ctx context.Context, base *workspace.Manifest, cs workspace.Changeset) (holds []Hold) {
	if cs.Empty() {
		return nil
	}
	names, err := base.Configured(ctx, cs)
	if err != nil {
		return []Hold{{Path: cs.Sorted()[0].Path, Kind: Git, Block: true, Reason: "Git does not say what its configuration names: " + quote(err.Error())}}
	}
	for _, name := range names {
		if rule, ok := ruleFor(name); !ok || !rule.block {
			holds = append(holds, Hold{Path: name, Kind: Git, Block: true, Reason: "The repository's configuration makes git read it as settings or run it as a hook."})
		}
	}
	return holds
}

// hiddenHolds lists the files that cs puts where git ignores them under the rules of base, and the .gitignore files of cs that make
// git ignore other files: base.Unseen as holds, sorted by path. All of them block. A file about which git gives no answer is held too.
func hiddenHolds(ctx context.Context, base *workspace.Manifest, cs workspace.Changeset) (holds []Hold) {
	for _, u := range base.Unseen(ctx, cs) {
		h := Hold{Path: u.Path, Kind: Unseen, Block: true}
		switch {
		case u.Err != nil && u.Rules:
			h.Reason = "Git does not say what it ignores with this change: " + quote(u.Err.Error())
		case u.Err != nil:
			h.Reason = "Git does not say whether it ignores it: " + quote(u.Err.Error())
		case u.Rules:
			h.Reason = fmt.Sprintf("With this change git ignores files of the workspace (%d of them, such as %s), which no later run and no commit has.", len(u.Hidden), quote(u.Hidden[0]))
		default:
			h.Reason = "Git ignores it, so no later run and no commit has it."
		}
		holds = append(holds, h)
	}
	return holds
}
