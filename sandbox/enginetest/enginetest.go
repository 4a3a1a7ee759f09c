// Package enginetest leaves tests that work on a container engine out where there is to be none.
package enginetest

import (
	"os"
	"testing"
	"time"

	docker "github.com/docker/docker/client"
)

// Absent reports whether AGENT_TEST_ENGINE=none asks for the tests that need no engine: `make check` does, for a look
// between two edits. testing.Short is not that: it makes other tests smaller too.
func Absent() bool { return os.Getenv("AGENT_TEST_ENGINE") == "none" }

// Need leaves a test that works on an engine out when there is to be none. It is the one place where a test may be left
// out; else every test runs or fails. An engine that crashed is back within seconds (images/engine.sh): that is waited
// for, so that one crash costs what ran and not all that comes after.
func Need(t testing.TB) {
	t.Helper()
	if Absent() {
		t.Skip("works on an engine")
	}
	api, err := docker.NewClientWithOpts(docker.FromEnv, docker.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(250 * time.Millisecond) {
		if _, err = api.Ping(t.Context()); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("these tests need a Docker engine (make setup): %v", err)
		}
	}
}
