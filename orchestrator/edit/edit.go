package edit

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

// Files gives the engine the content of the workspace before the edit. *workspace.Manifest satisfies it through an adapter in the
// caller; tests use a map.
type Files interface {
	// Paths lists every text file, slash-separated and sorted.
	Paths() []string
	// Read returns the content of path; the error wraps fs.ErrNotExist when it is absent.
	Read(path string) ([]byte, error)
	// Executable reports whether path has an execute bit, false when it is absent.
	Executable(path string) bool
}

// Apply turns a response into a changeset. Blocks that name no file mean target. If target is "" they mean the one file in which
// every unnamed block matches. The error is a *Refusal if the response is at fault, and then nothing is applied; any other error
// comes from files.
//
// Change.Mode is 0755 or 0644: from Executable, from the diff's mode lines, or for a new file from a leading "#!". A caller that
// knows the exact old bits of a modified or renamed file may set those instead.
func Apply(files Files, response []byte, target string) (workspace.Changeset, []Applied, error) {
	ops, err := parse.Parse(response)
	if err != nil {
		return workspace.Changeset{}, nil, err
	}
	p := newPlanner(files, target)
	return p.run(ops)
}

// A Block is one SEARCH/REPLACE pair. Its bodies are as they stood between the tags, with or without a final newline.
type Block struct {
	Search  string
	Replace string
}

// ApplyBlocks applies blocks to the content of one file, for a caller that already has both. It matches as Apply does and guards
// the blocks and the size of the result. It uses path only to choose the comment syntax of the language; only Apply judges the
// result by that language. The error is a *Refusal.
func ApplyBlocks(path string, before []byte, blocks []Block) ([]byte, []Applied, error) {
	if len(blocks) > parse.MaxBlocks {
		return nil, nil, problem.Refuse(parse.TooMany(len(blocks)))
	}
	lines, size := 0, 0
	for _, b := range blocks {
		lines += strings.Count(b.Search, "\n") + strings.Count(b.Replace, "\n")
		size += len(b.Search) + len(b.Replace)
	}
	if err := parse.CrowdedResponse(lines, size); err != nil {
		return nil, nil, err
	}
	ops := make([]*parse.Operation, len(blocks))
	for i, b := range blocks {
		ops[i] = &parse.Operation{Block: i + 1, Kind: parse.OpEdit, Path: path, Search: parse.SplitBody(b.Search), Replace: parse.SplitBody(b.Replace)}
	}
	return applyToFile(path, before, ops)
}

// Applied reports how one block was matched.
type Applied struct {
	Block    int            `json:"block"` // counted from 1, in the order of the response
	Path     string         `json:"path"`
	Strategy match.Strategy `json:"strategy"`
	Line     int            `json:"line"`           // first line replaced, from 1, in the file before
	Kept     []string       `json:"kept,omitempty"` // imports that the block dropped and that were restored because the file still uses them
}

// Loosest returns the strategy in applied that demands the most trust, or "" if there is none. An unknown strategy demands more
// trust than all others.
func Loosest(applied []Applied) match.Strategy {
	if len(applied) == 0 {
		return ""
	}
	return slices.MinFunc(applied, func(a, b Applied) int { return a.Strategy.Trust() - b.Strategy.Trust() }).Strategy
}
