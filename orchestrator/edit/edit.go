package edit

import (
	"strings"

	"agent/sandbox/workspace"
)

// Limits on what Apply reads. They bound the work, so that no response can
// hold up a run; a person's patch is far below all of them.
const (
	MaxResponse = 16 << 20 // bytes of a response
	MaxBlocks   = 2000     // operations of a response
)

// Files gives the engine the content of the workspace before the edit.
// *workspace.Manifest satisfies it through an adapter in the caller; a map does in tests.
type Files interface {
	// Paths lists every text file, slash-separated and sorted.
	Paths() []string
	// Read returns the content of path; the error wraps fs.ErrNotExist when it is absent.
	Read(path string) ([]byte, error)
	// Executable reports whether path has an execute bit, false when it is absent.
	Executable(path string) bool
}

// Apply turns a response into a changeset. target is the file that a block
// without a name means, "" for none; then the one file in which every
// unnamed block matches serves. The error is a *Refusal when
// the response is at fault, and then nothing at all was applied; any other
// error comes from files.
//
// Change.Mode is 0755 or 0644, by Executable, by the diff's mode lines, or for
// a new file by a leading "#!". A caller that knows the exact old bits of a
// modified or renamed file may put them in place of it.
func Apply(files Files, response []byte, target string) (workspace.Changeset, []Applied, error) {
	ops, err := parse(response)
	if err != nil {
		return workspace.Changeset{}, nil, err
	}
	p := newPlanner(files, target)
	return p.run(ops)
}

// A Block is one SEARCH/REPLACE pair, its bodies as they stood between the
// tags, with or without a final newline.
type Block struct {
	Search  string
	Replace string
}

// ApplyBlocks applies blocks to the content of one file, for a caller that
// has both at hand. It matches as Apply does and guards the blocks and the
// size of the result; path only tells the comments of the language. What the
// result says in that language is judged by Apply alone. The error is a *Refusal.
func ApplyBlocks(path string, before []byte, blocks []Block) ([]byte, []Applied, error) {
	if len(blocks) > MaxBlocks {
		return nil, nil, refuse(tooMany(len(blocks)))
	}
	lines, size := 0, 0
	for _, b := range blocks {
		lines += strings.Count(b.Search, "\n") + strings.Count(b.Replace, "\n")
		size += len(b.Search) + len(b.Replace)
	}
	if err := crowdedResponse(lines, size); err != nil {
		return nil, nil, err
	}
	ops := make([]*operation, len(blocks))
	for i, b := range blocks {
		ops[i] = &operation{block: i + 1, kind: opEdit, path: path, search: splitBody(b.Search), replace: splitBody(b.Replace)}
	}
	return applyToFile(path, before, ops)
}

// A Strategy is how a block's SEARCH found its place, in order of trust.
type Strategy string

// The strategies. Create, Delete, Rename and Diff hunks have their own names in Applied.
const (
	Exact       Strategy = "exact"       // whole lines, byte for byte
	Stripped    Strategy = "stripped"    // outer blank lines, trailing space and line ends aside
	Normalised  Strategy = "normalised"  // Unicode punctuation and spaces, blank lines and comments of the language aside
	Indentation Strategy = "indentation" // one uniform shift of the indentation
	Robust      Strategy = "robust"      // elided or reflowed lines with equal tokens
	Chained     Strategy = "chained"     // exact, in the result of the blocks before it
)

// The names of what has no SEARCH to match.
const (
	Creation Strategy = "create"  // a new file
	Deletion Strategy = "delete"  // a file removed
	Renaming Strategy = "rename"  // a file moved
	Content  Strategy = "content" // a whole file given anew
	Hunk     Strategy = "diff"    // a hunk of a diff or a chunk of a patch, located by its content
	ModeBits Strategy = "mode"    // only the execute bit
)

// Applied tells how one block was matched.
type Applied struct {
	Block    int      `json:"block"` // counted from 1, in the order of the response
	Path     string   `json:"path"`
	Strategy Strategy `json:"strategy"`
	Line     int      `json:"line"`           // first line replaced, from 1, in the file before
	Kept     []string `json:"kept,omitempty"` // imports that the block dropped and that were put back, since the file still uses them
}

// A Problem is one block that was not applied.
type Problem struct {
	Block   int    `json:"block"`             // from 1; 0 when the response as a whole is at fault
	Path    string `json:"path,omitempty"`    // "" when no file could be told
	Kind    string `json:"kind"`              // parse, truncated, not_found, ambiguous, stale, already_applied, noop, overlap, path, exists or refused
	Reason  string `json:"reason"`            // one sentence, no final full stop
	Lines   []int  `json:"lines,omitempty"`   // for ambiguous: where it matched; for not_found: the nearest places
	Nearest string `json:"nearest,omitempty"` // the nearest lines of the file, with line numbers
	Differs string `json:"differs,omitempty"` // how the block's lines differ from those, token by token
	Advice  string `json:"advice,omitempty"`  // what to send instead
	Other   int    `json:"other,omitempty"`   // for overlap: the block to merge this one with
}

// The kinds of problem.
const (
	kindParse     = "parse"           // the response is not in any known form
	kindTruncated = "truncated"       // the response was cut off
	kindNotFound  = "not_found"       // SEARCH, or the file, is nowhere
	kindAmbiguous = "ambiguous"       // SEARCH is in several places
	kindStale     = "stale"           // most of SEARCH stands there, but the file has changed
	kindAlready   = "already_applied" // REPLACE stands there and SEARCH does not
	kindNoop      = "noop"            // no change is asked for
	kindOverlap   = "overlap"         // two operations change the same lines or file
	kindPath      = "path"            // the path may not be written
	kindExists    = "exists"          // a file to create is there already
	kindRefused   = "refused"         // a rule forbids it
)
