// Package enginetest skips tests that need a container engine when the caller wants none.
package enginetest

import (
	"os"
	"testing"
	"time"

	docker "github.com/docker/docker/client"
)

// Absent reports whether AGENT_TEST_ENGINE=none asks for only the tests that need no engine, as `make check` does for a
// quick look between two edits. testing.Short is different: it also makes other tests smaller.
func Absent() bool { return os.Getenv("AGENT_TEST_ENGINE") == "none" }

// Need skips a test that works on an engine if AGENT_TEST_ENGINE is none. No other place may skip a test; every other
// test runs or fails. An engine that crashed is back within seconds (images/engine.sh). Need waits for it, so that one
// crash costs only what was running and not everything that comes after.
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
