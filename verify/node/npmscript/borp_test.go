package npmscript

import (
	"strings"
	"testing"
)

func TestBorpIsNodesRunner(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"borp": "node --test **/*.test.{js,mjs,cjs}",
		"borp --timeout 60000 --coverage --check-coverage --lines 95 --functions 95": "node --test --test-timeout=60000 **/*.test.{js,mjs,cjs}",
		"c8 borp -c=1 --expose-gc -p 'test/*.js' --reporter tap":                     "node --test --test-concurrency=1 --expose-gc test/*.js",
		"npx borp test/a.test.js": "node --test test/a.test.js",
		"borp --ignore 'x/**'":    "borp --ignore x/**",
		"./borp.js":               "./borp.js",
	} {
		steps := Read(map[string]string{"test": script}, "test")
		if len(steps) != 1 || strings.Join(steps[0].Words, " ") != want || (steps[0].Kind == RunsNode) != strings.HasPrefix(want, "node") || steps[0].StandIn != (steps[0].Kind == RunsNode) {
			t.Errorf("%s: %+v", script, steps)
		}
	}
}
