package selfbuild

import (
	"path"
	"strings"
)

// protected is what judges, builds, starts and takes back the agent: directories end in a slash. A change of it needs a
// person at a terminal, and no flag, setting or countdown answers in the person's place.
var protected = []string{
	"verify/", "sandbox/", "images/", "migrations/", "orchestrator/selfbuild/", "cmd/guest/", ".ci/", ".github/",
	"orchestrator/run/", "cmd/agent/approve.go", "cmd/agent/asker.go", "cmd/agent/board_ask.go", "cmd/agent/checkpoint.go", "cmd/agent/main.go", "cmd/agent/session.go", "cmd/agent/settings.go", "cmd/agent/tree_test.go",
	"Makefile", "go.mod", "go.sum", "go.work", "compose.yaml", "agent.toml",
}

// Protected returns those of paths that are protected. Names are compared without regard to case, since some file systems
// do so too.
func Protected(paths ...string) []string {
	var held []string
	for _, p := range paths {
		clean := strings.ToLower(path.Clean(p))
		for _, what := range protected {
			what = strings.ToLower(what)
			own := path.Base(clean) == "agent.toml" || strings.HasPrefix(clean, "cmd/agent/self")
			if own || clean == what || strings.HasSuffix(what, "/") && strings.HasPrefix(clean+"/", what) {
				held = append(held, p)
				break
			}
		}
	}
	return held
}
