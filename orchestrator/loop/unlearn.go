package loop

import (
	"context"
	"fmt"
	"strings"

	"agent/orchestrator/agent"
)

// Memories keeps every version of the memory of workspaces. *store.DB implements it.
type Memories interface {
	// Memory and SaveMemory are as in Knowledge.
	Memory(ctx context.Context, workspace string) (agent.Memory, error)
	SaveMemory(ctx context.Context, workspace, run string, m agent.Memory) error
	// MemoryBefore returns the memory as it was before run was merged, the zero Memory for the first; false if that run was not merged.
	MemoryBefore(ctx context.Context, workspace, run string) (agent.Memory, bool, error)
}

// Unlearn brings the memory in line with an undo. undone is the run that was taken back, undo the run that did so, and paths are its
// files. If nothing was merged since, the memory becomes what it was before. Otherwise a note in it says that this part no longer
// holds. changed tells whether there was anything to do. No model merges the memory for this.
func Unlearn(ctx context.Context, k Memories, workspace, undone, undo string, paths []string) (changed bool, err error) {
	before, merged, err := k.MemoryBefore(ctx, workspace, undone)
	if err != nil || !merged {
		return false, err
	}
	now, err := k.Memory(ctx, workspace)
	if err != nil {
		return false, err
	}
	text := before.Text
	if now.Run != undone {
		text = now.Note(fmt.Sprintf("- The change to %s was undone: what is said of it here does not hold any more.", strings.Join(paths, ", ")))
	}
	return true, k.SaveMemory(ctx, workspace, undo, agent.Memory{Text: text, Iteration: now.Iteration + 1, Run: undo})
}
