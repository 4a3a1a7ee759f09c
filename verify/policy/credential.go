package policy

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/secret"
)

// secretHolds lists the lines of a change that hold a credential which the
// file did not hold before, wherever in it. The reason names the rule and the
// line, never the value.
//
// Moving a line is not introducing it, and what stood in the file is no fault
// of the patch.
func secretHolds(c workspace.Change) (holds []Hold) {
	if c.Op == workspace.Delete || bytes.Equal(c.Before, c.After) || workspace.IsBinary(c.After) || lockFile(c.Path) {
		return nil
	}
	known := map[string]bool{}
	for line := range bytes.Lines(c.Before) {
		known[string(bytes.TrimSpace(line))] = true
	}
	for _, f := range secret.Find(c.After, known) {
		holds = append(holds, Hold{
			Path: c.Path, Kind: Secret, Block: true, Reason: fmt.Sprintf("Line %d holds what looks like %s.", f.Line, f.Rule),
		})
	}
	return holds
}

// lockFile reports whether a file is full of digests by its nature.
func lockFile(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, "-lock.json") || strings.HasSuffix(base, "-lock.yaml") || base == "go.sum"
}
