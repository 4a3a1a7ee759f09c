package wire

import (
	"context"

	"agent/orchestrator/loop"
	"agent/orchestrator/run"
)

// Unlearn brings the memory of a workspace, and its exports, in line with an undo. undone is the run that was undone,
// and doc is the document of the undo.
func (s *Session) Unlearn(ctx context.Context, undone string, doc run.Document) error {
	if doc.Promotion == nil {
		return nil
	}
	var paths []string
	for _, f := range doc.Promotion.Files {
		paths = append(paths, f.Path)
	}
	if _, err := loop.Unlearn(ctx, s.DB, doc.Workspace, undone, doc.Run, paths); err != nil {
		return err
	}
	return s.Export(ctx, doc.Workspace)
}
