package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

// name gives every operation its path, or records why it has none and empties it.
//
// If there is a target, every operation without a name means it, creations included. Without a target only edits can be placed, by
// the lines that they replace.
func (p *planner) name(ops []*parse.Operation) error {
	var unnamed []*parse.Operation
	for _, op := range ops {
		if reason := p.pathFromProse(op); reason != "" {
			p.fault(op.Block, op.Path, problem.KindAmbiguous, reason, "name the file on a line of its own directly above the block")
			op.Path = ""
			continue
		}
		switch {
		case op.Path != "":
			p.settle(op)
		case op.Kind == parse.OpEdit || p.target != "":
			unnamed = append(unnamed, op)
		default: // no line of a file can tell which one is meant
			p.fault(op.Block, "", problem.KindNotFound, "the block names no file", "name the file by its path")
		}
	}
	if len(unnamed) == 0 {
		return nil
	}
	if p.target != "" {
		for _, op := range unnamed {
			op.Path = p.target
			p.settle(op)
		}
		return nil
	}
	return p.guess(unnamed)
}

// settle checks the paths of op. A diff's "a/" and "b/" are part of the path only if the file without the prefix does not exist and
// the file with it does.
//
// Tools write "b/shop/stock.py" for shop/stock.py. The second test covers the exception, a workspace with a folder called "b".
func (p *planner) settle(op *parse.Operation) {
	for _, at := range []*string{&op.Path, &op.From} {
		if *at == "" {
			continue
		}
		*at = strings.TrimPrefix(*at, "./")
		if op.Prefixed != "" && at == &op.Path && !p.has(*at) && p.has(op.Prefixed) {
			*at = op.Prefixed
		}
		if reason := forbidden(*at); reason != "" {
			p.fault(op.Block, *at, problem.KindPath, reason, "name another file, by its path relative to the workspace, with forward slashes")
			op.Path, op.From = "", ""
			return
		}
	}
}

// has reports whether the workspace holds the file. A read error counts as absent here; add meets the error again and reports it.
func (p *planner) has(name string) bool {
	there, known := p.there[name]
	if !known {
		_, err := p.files.Read(name)
		there = err == nil
		p.there[name] = there
	}
	return there
}

// forbidden says why a path may never be written, or "" if it may. Only here does the package judge a path.
//
// An error of another kind forbids the path as well: a path that cannot be judged may not be written.
func forbidden(name string) string {
	err := workspace.CheckPath(name)
	var bad *workspace.PathError
	switch {
	case errors.As(err, &bad):
		return bad.Reason
	case err != nil:
		return err.Error()
	}
	return ""
}

// guess finds the one file in which all unnamed blocks have their place.
//
// All blocks must have their place in it by the same rules as in a named file, and only one file may qualify. If just one file is a
// candidate but does not fit, the blocks are assigned to it. The author then learns what is wrong with them there instead of that
// no file was found.
func (p *planner) guess(ops []*parse.Operation) error {
	var fits, near []string
	longest := longestLines(ops)
	for _, name := range p.files.Paths() {
		if forbidden(name) != "" {
			continue
		}
		text, err := p.files.Read(name)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return fmt.Errorf("read %s: %w", name, err)
		}
		if p.work.Open(len(text)); p.work.Spent() {
			return p.unnamed(ops, problem.KindNotFound, "the blocks name no file, and finding it takes more comparisons than one response may use", "name the file by its path")
		}
		if !p.mayHold(text, longest) {
			continue
		}
		near = append(near, name)
		if p.fit(name, text, ops) {
			fits = append(fits, name)
		}
	}
	if len(fits) == 0 && len(near) == 1 {
		fits = near // the only candidate: its own refusal says more
	}
	if len(fits) == 1 {
		for _, op := range ops {
			op.Path = fits[0]
		}
		return nil
	}
	kind, reason := problem.KindNotFound, "the block names no file, and no file holds all the blocks that name none"
	advice := `name the file, <EDIT file="PATH">, and copy the lines to replace from it`
	if len(fits) > 1 {
		advice = `name the file: <EDIT file="PATH">`
		kind, reason = problem.KindAmbiguous, fmt.Sprintf("the block names no file, and %d files would do: %s", len(fits), strings.Join(fits[:min(3, len(fits))], ", "))
	}
	return p.unnamed(ops, kind, reason, advice)
}

// fit reports whether all the blocks ops have their places in a file.
func (p *planner) fit(name string, text []byte, ops []*parse.Operation) bool {
	p.work.Trial = true
	_, _, problems := editFile(name, text, ops, p.work)
	p.work.Trial = false
	return len(problems) == 0
}

// unnamed records why the blocks ops have no file.
func (p *planner) unnamed(ops []*parse.Operation, kind, reason, advice string) error {
	for _, op := range ops {
		p.fault(op.Block, "", kind, reason, advice)
	}
	return nil
}

// longestLines returns the longest line of each block's SEARCH. It skips a block whose lines are all blank or elisions.
func longestLines(ops []*parse.Operation) (lines [][]byte) {
	for _, op := range ops {
		longest := ""
		for _, s := range op.Search {
			if yes, _ := lex.Elision(s); !yes && len(lex.TrimSpace(s)) > len(longest) {
				longest = lex.TrimSpace(s)
			}
		}
		if longest != "" {
			lines = append(lines, []byte(longest))
		}
	}
	return lines
}

// mayHold reports whether a file holds the longest line of some block; the other blocks may build on that one. It is a quick test
// before the real one.
//
// It misses files in which a block would match only after its lines are wrapped differently or its quotation marks changed. Such a
// block must name its file.
func (p *planner) mayHold(text []byte, longest [][]byte) bool {
	return slices.ContainsFunc(longest, func(s []byte) bool {
		p.work.Add(len(text))
		return !p.work.Spent() && bytes.Contains(text, s)
	})
}
