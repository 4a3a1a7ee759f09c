package selfbuild

import (
	"path"
	"strings"
)

// protected lists what judges, builds, starts and takes back the agent; directories end in a slash. A change of it needs a person at a
// terminal, and no flag, setting or countdown answers in the person's place.
//
// The tests of the tree and the settings are included: the tests would otherwise let a change of this list pass, and the settings
// decide what the gates run and what they may reach.
var protected = []string{
	"verify/", "sandbox/", "images/", "migrations/", "orchestrator/selfbuild/", "cmd/guest/", ".ci/", ".github/",
	"orchestrator/gate/", "orchestrator/run/", "orchestrator/exec/", "orchestrator/gateway/", "orchestrator/tournament/", "orchestrator/loop/", "orchestrator/survey/", "orchestrator/replay/", "orchestrator/export/",
	"cmd/agent/main.go", "cmd/agent/tree_test.go",
	"cmd/agent/internal/checkpoint/", "cmd/agent/internal/cmdline/", "cmd/agent/internal/command/sandbox/", "cmd/agent/internal/command/self/",
	"cmd/agent/internal/command/edit/", "cmd/agent/internal/command/chat/", "cmd/agent/internal/command/review/", "cmd/agent/internal/command/undo/", "orchestrator/undo/", "cmd/agent/internal/command/pr/", "cmd/agent/internal/command/serve/", "orchestrator/serve/bot/", "cmd/agent/internal/command/build/", "cmd/agent/internal/command/loop/", "orchestrator/crew/", "orchestrator/forge/", "orchestrator/workbench/",
	"cmd/agent/internal/proof/", "cmd/agent/internal/command/prove/", "cmd/agent/internal/command/hook/", "cmd/agent/internal/command/ci/",
	// The rows of the vendors say what is masked, and where models are asked.
	"orchestrator/llm/vendor.go", "orchestrator/llm/vendors/", "orchestrator/llm/gemini/row.go", "orchestrator/llm/ollama/row.go",
	"orchestrator/llm/anthropic/row.go", "orchestrator/llm/openai/row.go", "orchestrator/llm/compatible/row.go",
	"cmd/agent/internal/config/", "cmd/agent/internal/fault/", "cmd/agent/internal/term/", "cmd/agent/internal/wire/",
	"Makefile", "go.mod", "go.sum", "go.work", "agent.toml",
	// It replaces every dependency, and its sums are not checked.
	"vendor/",
}

// Protected returns those of paths that are protected. Names are compared without regard to case, since some file systems do so too.
// Paths are slash-separated and relative, as in a changeset; for a rename, pass both names. The result has the paths as they were
// given, in that order.
func Protected(paths ...string) []string {
	var held []string
	for _, p := range paths {
		clean := strings.ToLower(path.Clean(p))
		for _, what := range protected {
			what = strings.ToLower(what)
			// Settings count in any directory. The files next to main that serve the rebuild are recognized by their prefix.
			own := path.Base(clean) == "agent.toml" || strings.HasPrefix(clean, "cmd/agent/self") ||
				// Every name that Compose looks for, and the override files.
				strings.HasPrefix(clean, "compose.") || strings.HasPrefix(clean, "docker-compose")
			// With the slash behind clean, a file in place of a protected directory is held as well.
			if own || clean == what || strings.HasSuffix(what, "/") && strings.HasPrefix(clean+"/", what) {
				held = append(held, p)
				break
			}
		}
	}
	return held
}
