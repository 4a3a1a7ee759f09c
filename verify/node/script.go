package node

import (
	"encoding/json"
	"fmt"
	"slices"

	"agent/sandbox/guest"
	"agent/verify/check"
)

// compilerConfigs are the base names of the files that configure a compiler, the image's
// as well as that of a workspace.
var compilerConfigs = []string{
	"tsconfig.json", "jsconfig.json", "tsconfig.base.json", "tsconfig.app.json", "tsconfig.lib.json", "tsconfig.node.json",
	"tsconfig.build.json", "tsconfig.test.json", "tsconfig.spec.json", "tsconfig.common.json", "tsconfig.shared.json",
}

// compilerPath is the directory of the package whose compiler judges a view.
func compilerPath(t check.Tools) string { return t.Packages + "/typescript" }

// scriptCommand asks the compiler at a directory about the files at paths in the
// workspace: what is "types", without the projects below the directories apart, or
// "projects", of which the paths are the configurations.
func scriptCommand(tools check.Tools, compiler, what string, paths []string, apart ...string) (guest.Command, error) {
	list, err := json.Marshal(paths)
	if err != nil {
		return guest.Command{}, err
	}
	return guest.Command{
		Args: append([]string{tools.OwnNode, tools.Script, compiler, what}, apart...),
		Dir:  check.Work, Stdin: list, MaxOutput: check.MaxToolOutput,
	}, nil
}

// parseScript reads the script's answer, which must account for every file and
// agree with its exit status.
func parseScript(res guest.Result, paths []string) (scriptAnswer, error) {
	var answer scriptAnswer
	complaint := check.FirstLine(check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxMessage))
	if res.Stdout.Dropped > 0 {
		return answer, fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	if res.Exit != 0 && res.Exit != 1 {
		return answer, fmt.Errorf("exit status %d: %s", res.Exit, complaint)
	}
	if err := json.Unmarshal(res.Stdout.Head, &answer); err != nil {
		return answer, fmt.Errorf("exit status %d: %w: %s", res.Exit, err, complaint)
	}
	if (res.Exit == 1) != (len(answer.Findings) > 0) {
		return answer, fmt.Errorf("exit status %d with %d findings: %s", res.Exit, len(answer.Findings), complaint)
	}
	// A file that it did not look at would count as sound.
	seen := map[string]bool{}
	for _, p := range answer.Checked {
		seen[p] = true
	}
	for _, s := range answer.Skipped {
		seen[s.File] = true
	}
	if i := slices.IndexFunc(paths, func(p string) bool { return !seen[p] }); i >= 0 {
		return answer, fmt.Errorf("it says nothing of %s", check.Shorten(paths[i]))
	}
	for i, f := range answer.Findings {
		// Its own paths are relative already; anything else is not in the workspace.
		f.File = check.Relative(f.File, check.Work)
		f.Line, f.Column, f.Message, f.Help = max(f.Line, 0), max(f.Column, 0), check.Shorten(f.Message), ""
		answer.Findings[i] = f
	}
	for i, note := range answer.Notes {
		answer.Notes[i] = check.Shorten(note)
	}
	return answer, nil
}

// A scriptAnswer is the document that typescript.cjs prints; its head describes it.
type scriptAnswer struct {
	Findings []check.Finding `json:"findings"`
	Checked  []string        `json:"checked"`
	Skipped  []struct {
		File   string `json:"file"`
		Reason string `json:"reason"`
	} `json:"skipped"`
	Notes []string `json:"notes"`
}
