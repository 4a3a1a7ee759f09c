package storetest

import (
	"testing"

	"agent/sandbox/enginetest"
)

// Finding the server would cost each test more than its schema.
func TestTheServerIsLookedForOnce(t *testing.T) {
	Schema(t)
	// A second search would find no server.
	t.Setenv("AGENT_TEST_DATABASE_URL", "")
	t.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
	Schema(t)
}

func TestAServerThatHasGoneIsLookedForAgain(t *testing.T) {
	enginetest.Need(t)
	Schema(t)
	found.mu.Lock()
	found.url = "postgres://nobody@127.0.0.1:1/agent_test"
	found.mu.Unlock()
	Schema(t)
}
