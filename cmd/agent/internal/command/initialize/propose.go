package initialize

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
)

// propose returns an agent.toml that fits the content of the directory root, whose files it reads and never runs. The
// settings are those that apply without it: it is a starting point.
func propose(ctx context.Context, root string) (string, error) {
	m, err := workspace.Scan(ctx, root, nil, workspace.Limits{})
	if err != nil {
		return "", err
	}
	files, tests := map[string]int{}, map[string]int{}
	var manifests []string
	for _, e := range m.Entries {
		if e.Kind != workspace.File {
			continue
		}
		if l := lang.Of(e.Path); l != nil && l.Tests != nil {
			files[l.ID]++
			if l.MayTest(e.Path) {
				tests[l.ID]++
			}
		}
		matches := func(pattern string) bool { ok, _ := path.Match(pattern, strings.ToLower(e.Path)); return ok }
		if slices.ContainsFunc(lang.Manifests(), matches) {
			manifests = append(manifests, e.Path)
		}
	}
	var b strings.Builder
	b.WriteString("# Settings of the agent's runs in this workspace; `agent config` shows all\n# others.\n#\n")
	for _, l := range lang.All() {
		switch n := files[l.ID]; {
		case n > 0 && tests[l.ID] > 0:
			fmt.Fprintf(&b, "# %s: %s, %d of tests\n", l.ID, run.Count(n, "file"), tests[l.ID])
		case n > 0:
			fmt.Fprintf(&b, "# %s: %s, no tests found; format, syntax, lint and smoke judge\n", l.ID, run.Count(n, "file"))
		}
	}
	if len(files) == 0 {
		b.WriteString("# no programs found: only formats and secrets judge a change\n")
	}
	for _, name := range manifests {
		fmt.Fprintf(&b, "# dependencies: %s\n", name)
	}
	b.WriteString("\n# All tests run, those that a change can affect first; \"affected\" runs\n# only those.\n[tests]\nrun = \"all\"\n" +
		"\n# The smoke test starts the program that it finds; uncomment to name another.\n" +
		"# [smoke]\n# command = [\"python3\", \"main.py\"]\n# ready = \"/\"\n")
	return b.String(), nil
}
