// Package enginetest leaves tests that work on a container engine out where there is to be none.
package enginetest

import (
	"os"
	"testing"
)

// Absent reports whether AGENT_TEST_ENGINE=none asks for the tests that need no engine: `make check` does, for a look
// between two edits. testing.Short is not that: it makes other tests smaller too.
func Absent() bool { return os.Getenv("AGENT_TEST_ENGINE") == "none" }

// Need leaves a test that works on an engine out when there is to be none. It is the one place where a test may be left
// out; else every test runs or fails.
func Need(t testing.TB) {
	t.Helper()
	if Absent() {
		t.Skip("works on an engine")
	}
}
