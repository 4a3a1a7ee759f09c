// Package batch implements the protocol of `agent edit --batch`. It answers a line of JSON that holds a file and its changes with a
// line of JSON that holds the resulting file, or the reason why it is unchanged. It is pure, and an error in a line is an answer.
package batch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"
	"unicode/utf8"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

// Answer appends the answer to line, one line of JSON, to dst and returns the result.
func Answer(dst, line []byte) []byte { return read(line).append(dst) }

// Refuse appends the answer to a line that was not read, with the reason, to dst and returns the result.
func Refuse(dst []byte, why string) []byte {
	return answer{err: why, kind: "parse"}.append(dst)
}

// A question is one line of a batch. Exactly one of Blocks and Response is given.
type question struct {
	// ID is the asker's identification of the line.
	ID json.RawMessage `json:"id"`
	// Path determines the language, and is the file that a response is for.
	Path text `json:"path"`
	// Before is the content; nil means that the file does not exist yet.
	Before *text `json:"before"`
	// Blocks are pairs of SEARCH and REPLACE.
	Blocks [][]text `json:"blocks"`
	// Response is a patch in any form that may name the file.
	Response *text `json:"response"`
}

// An answer is one line that a batch returns.
type answer struct {
	id       json.RawMessage // as received, null if the line had none
	after    []byte
	strategy match.Strategy // the loosest of all blocks
	err      string         // "" if the blocks were applied
	kind     string         // as in problem.Problem, from the first problem
	took     time.Duration  // of matching, applying and guarding
}

// read answers one line, whatever it contains.
//
// A fault of the line is an answer of kind "parse", with the id if it could be read: an asker with a thousand more lines loses only
// this one.
func read(line []byte) answer {
	var q question
	wrong := func(format string, args ...any) answer {
		return answer{id: q.ID, err: fmt.Sprintf(format, args...), kind: "parse"}
	}
	// Package json would replace bytes that are not UTF-8 with U+FFFD, and the answer would be for another file.
	if !utf8.Valid(line) {
		return wrong("the line is not UTF-8")
	}
	if err := json.Unmarshal(line, &q); err != nil {
		return wrong("the line is not what a batch reads: %v", err)
	}
	// Each of these is a mistake of the asker that would otherwise look like a patch that does not apply.
	switch {
	case (q.Blocks == nil) == (q.Response == nil):
		return wrong("the line must have blocks or response, and not both")
	case q.Response != nil && len(q.Path) == 0:
		return wrong("the line has a response and no path that it is for")
	}
	blocks := make([]edit.Block, len(q.Blocks))
	for i, pair := range q.Blocks {
		if len(pair) != 2 {
			return wrong("block %d has %d texts: a block is a pair of SEARCH and REPLACE", i+1, len(pair))
		}
		blocks[i] = edit.Block{Search: string(pair[0]), Replace: string(pair[1])}
	}
	return q.apply(blocks)
}

// apply makes the change and measures only the time for that. The time covers the engine alone, so that it can be compared with
// other engines: it excludes JSON and the pipe.
func (q question) apply(blocks []edit.Block) answer {
	a := answer{id: q.ID}
	// Every conversion happens before the clock starts.
	file := onlyFile{path: string(q.Path), before: q.Before}
	content, _ := file.Read(file.path) // an absent file is empty for blocks
	var applied []edit.Applied
	var err error
	started := time.Now()
	if q.Response != nil {
		a.after, applied, err = file.edit(*q.Response)
	} else {
		a.after, applied, err = edit.ApplyBlocks(file.path, content, blocks)
	}
	a.took = time.Since(started)
	// The text holds every problem, for a model; the kind is that of the first, for counting.
	if err != nil {
		a.err, a.kind = err.Error(), "refused"
		var refusal *problem.Refusal
		if errors.As(err, &refusal) && len(refusal.Problems) > 0 {
			a.kind = refusal.Problems[0].Kind
		}
		return a
	}
	a.strategy = edit.Loosest(applied)
	return a
}

// append writes the answer as one line of JSON.
//
// {"id":1,"ok":true,"after":"x = 2\n","strategy":"exact","us":9} is an answer,
// {"id":1,"ok":false,"err":"…","kind":"not_found","us":9} a refusal.
func (a answer) append(b []byte) []byte {
	// The JSON is built by hand: package json would scan every quoted file once more to check that it is well formed.
	b = append(b, `{"id":`...)
	if a.id == nil {
		b = append(b, "null"...)
	}
	b = append(b, a.id...)
	if a.err == "" {
		b = append(b, `,"ok":true,"after":`...)
		b = appendQuoted(b, a.after)
		b = append(b, `,"strategy":`...)
		b = appendQuoted(b, string(a.strategy))
	} else {
		b = append(b, `,"ok":false,"err":`...)
		b = appendQuoted(b, a.err)
		b = append(b, `,"kind":`...)
		b = appendQuoted(b, a.kind)
	}
	b = append(b, `,"us":`...)
	b = strconv.AppendInt(b, a.took.Microseconds(), 10)
	return append(b, "}\n"...)
}

// onlyFile is a workspace of one file. It implements edit.Files.
type onlyFile struct {
	path   string
	before *text
}

// Paths lists the file, if it is there.
func (f onlyFile) Paths() []string {
	if f.before == nil {
		return nil
	}
	return []string{f.path}
}

// Read returns the content of the file.
func (f onlyFile) Read(path string) ([]byte, error) {
	if path != f.path || f.before == nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return *f.before, nil
}

// Executable returns false: a batch has no modes.
func (f onlyFile) Executable(string) bool { return false }

// edit applies a response that may change only this file's content, since an answer has no place for any other change.
//
// A response that renames or removes the file, or touches another, may still be sound. It gets its own error, since an answer
// cannot carry it.
func (f onlyFile) edit(response []byte) ([]byte, []edit.Applied, error) {
	cs, applied, err := edit.Apply(f, response, f.path)
	if err != nil {
		return nil, nil, err
	}
	var after []byte
	for _, c := range cs.Changes {
		if c.Path != f.path || c.Op == workspace.Rename || c.Op == workspace.Delete {
			return nil, nil, fmt.Errorf("the response would %s %s: the answer has room for the content of %s only", c.Op, c.Path, f.path)
		}
		after = c.After
	}
	return after, applied, nil
}
