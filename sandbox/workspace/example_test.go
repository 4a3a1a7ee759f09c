package workspace_test

import (
	"fmt"

	"agent/sandbox/workspace"
)

// A person approves the diff of a changeset.
func ExampleChangeset_Diff() {
	cs := workspace.Changeset{Changes: []workspace.Change{{
		Op: workspace.Modify, Path: "greet.py", Mode: 0o644,
		Before: []byte("print('helo')\n"),
		After:  []byte("print('hello')\n"),
	}}}
	fmt.Print(cs.Diff())
	// Output:
	// diff --git a/greet.py b/greet.py
	// --- a/greet.py
	// +++ b/greet.py
	// @@ -1 +1 @@
	// -print('helo')
	// +print('hello')
}
