package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/guard"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/match"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

// A planner turns operations into a changeset: it determines which file each one means, groups them by file, and builds one change
// per file.
//
// It collects problems instead of returning the first one, so that one refusal names everything to correct. An error from files
// stops the work at once, since it says nothing about the response.
type planner struct {
	files    Files
	target   string
	states   map[string]*fileState
	order    []*fileState
	problems []problem.Problem
	applied  []Applied
	there    map[string]bool     // by requested name: whether the file exists
	work     *document.Work      // the comparisons that are left for the response
	moved    map[string]string   // the new names of renamed files, with their old names
	bases    map[string][]string // the files by lower-case base name; nil until first needed
}

// A fileState holds everything that a response asks of one file, by the file's path before the edit.
//
// That path is the key: every operation refers to the file by it, except edits after a rename, which may use the new one.
type fileState struct {
	path   string
	before []byte
	exists bool
	edits  []*parse.Operation
	mode   *parse.Operation
	move   *parse.Operation
	whole  *parse.Operation   // parse.OpCreate, parse.OpWhole or parse.OpDelete: at most one, and alone
	doc    *document.Document // the file before the edit; nil until its lines are needed
	lo, hi int                // the line range of doc without the blank lines at its ends
}

// newPlanner returns a planner for one response.
func newPlanner(files Files, target string) *planner {
	return &planner{files: files, target: target, states: map[string]*fileState{}, there: map[string]bool{}, work: document.NewWork()}
}

// run plans all operations. Either the changeset is complete or the error is set.
//
// It first assigns a file to every operation, then collects all operations of each file, and only then changes files: a block may
// precede the rename or deletion that it belongs to or contradicts. Checks across several files come last, when all changes are
// known.
func (p *planner) run(ops []*parse.Operation) (workspace.Changeset, []Applied, error) {
	if err := p.name(ops); err != nil {
		return workspace.Changeset{}, nil, err
	}
	for _, op := range ops {
		if op.Path == "" {
			continue // its problem is recorded
		}
		if err := p.add(op); err != nil {
			return workspace.Changeset{}, nil, err
		}
	}
	var cs workspace.Changeset
	for _, s := range p.order {
		if c, ok := p.change(s); ok {
			cs.Changes = append(cs.Changes, c)
		}
	}
	p.checkTree(cs.Changes)
	if len(p.problems) == 0 && len(cs.Changes) == 0 {
		p.fault(0, "", problem.KindNoop, "the response changes nothing", "send nothing, or the change that is missing")
	}
	if len(p.problems) > 0 {
		return workspace.Changeset{}, nil, problem.NewRefusal(parse.BlockNumbers(ops), p.problems)
	}
	slices.SortFunc(cs.Changes, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(p.applied, func(a, b Applied) int { return a.Block - b.Block })
	return cs, p.applied, nil
}

// fault records a problem of one block, or of the whole response if block is 0.
func (p *planner) fault(block int, path, kind, reason, advice string) {
	p.problems = append(p.problems, problem.Problem{Block: block, Path: path, Kind: kind, Reason: reason, Advice: advice})
}

// add files one operation under the file that it refers to.
func (p *planner) add(op *parse.Operation) error {
	key := op.Path
	if op.Kind == parse.OpRename {
		key = op.From
	} else if from := p.moved[op.Path]; from != "" && edits(op.Kind) && !p.has(op.Path) {
		key = from
	}
	s, known := p.states[key]
	if !known {
		s = &fileState{path: key}
		before, err := p.files.Read(key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read %s: %w", key, err)
		}
		s.before, s.exists = before, err == nil
		p.work.Open(len(before))
		p.states[key] = s
		p.order = append(p.order, s)
	}
	if p.resolve(s, op); op.Path == "" {
		return nil
	}
	if p.clash(s, op) || p.absent(s, op) {
		return nil
	}
	switch op.Kind {
	case parse.OpEdit:
		s.edits = append(s.edits, op)
	case parse.OpMode:
		s.mode = op
	case parse.OpRename:
		s.move = op
		if p.moved == nil {
			p.moved = map[string]string{}
		}
		p.moved[op.Path] = op.From
	default:
		s.whole = op
	}
	return nil
}

// edits reports whether an operation changes a file that keeps its name. After a rename such an operation may use the file's new
// name.
func edits(k parse.OpKind) bool {
	return k == parse.OpEdit || k == parse.OpMode || k == parse.OpAppend || k == parse.OpPrepend
}

// resolve gives an operation the meaning that depends on the state of the file: absent, empty, or with lines at its ends. It
// empties the path of an operation that it refuses.
func (p *planner) resolve(s *fileState, op *parse.Operation) {
	switch op.Kind {
	case parse.OpEdit:
		if lex.AllBlank(op.Search) && textless(s.before) {
			fillWhole(op, s.exists)
		}
	case parse.OpAppend, parse.OpPrepend:
		if s.exists {
			p.edge(s, op)
		}
	case parse.OpWrite:
		p.write(s, op)
	}
}

// write decides whether whole content creates a file or replaces one.
//
// A name without a folder that matches files in folders is usually the path of one of those cut short. A new file next to them
// would not help.
func (p *planner) write(s *fileState, op *parse.Operation) {
	op.Kind = parse.OpCreate
	if s.exists {
		op.Kind = parse.OpWhole
	} else if names := p.similarNames(s.path); len(names) > 0 && !strings.Contains(s.path, "/") {
		p.fault(op.Block, s.path, problem.KindNotFound, "there is no such file", "did you mean "+strings.Join(names, " or ")+"? To create this one, send CREATE_FILE with its whole content")
		op.Path = ""
	}
}

// maxEdge bounds the blank lines at an end of a file past which lines can be added there: each such block repeats them.
const maxEdge = 1000

// edge turns lines for an end of the file into an edit of the line there. The number of that line says which of several equal lines
// is meant. A file without any text has no such line, and the new lines become its content.
func (p *planner) edge(s *fileState, op *parse.Operation) {
	d, lo, hi := s.content()
	from, to, before := hi-1, d.Len(), op.Kind == parse.OpPrepend
	switch {
	case lo == hi:
		from = 0
	case before:
		from, to = 0, lo+1
	}
	if to-from > maxEdge {
		p.fault(op.Block, s.path, problem.KindRefused, fmt.Sprintf("%d lines of the file there are blank, more than are repeated to put lines behind them", to-from-1), "send SEARCH, or the hunk's context, with lines from that place")
		op.Path = ""
		return
	}
	var lines []string
	for i := from; i < to; i++ {
		lines = append(lines, d.Line(i))
	}
	op.Insert(lines, op.Replace, before)
	if lo == hi {
		op.Kind, op.Text = parse.OpWhole, parse.JoinLines(op.Replace)
		return
	}
	op.Kind, op.Line = parse.OpEdit, from+1
}

// content returns the file before the edit and its lines [lo, hi) without the blank ones at its ends. It cuts the file into lines
// once, however many blocks ask for its ends.
func (s *fileState) content() (d *document.Document, lo, hi int) {
	if s.doc == nil {
		s.doc = document.New(s.path, s.before)
		s.hi = s.doc.Len()
		for s.lo < s.hi && lex.Blank(s.doc.Raw(s.lo)) {
			s.lo++
		}
		for s.hi > s.lo && lex.Blank(s.doc.Raw(s.hi-1)) {
			s.hi--
		}
	}
	return s.doc, s.lo, s.hi
}

// fillWhole turns an edit without SEARCH into its meaning for a file that is absent or empty: the whole content.
//
// A file that holds only a byte order mark or blank lines counts as empty. In a file with text an empty SEARCH has no such meaning:
// it fits between any two lines, and is refused when the block is matched.
func fillWhole(op *parse.Operation, exists bool) {
	op.Kind = parse.OpCreate
	if exists {
		op.Kind = parse.OpWhole
	}
	op.Text = parse.JoinLines(op.Replace)
	if op.Hunk != nil && op.Hunk.NewNoEOL {
		op.Text = strings.TrimSuffix(op.Text, "\n")
	}
}

// clash records operations on one file that exclude each other.
//
// A file may have several edits together with a rename and a change of mode. Creating, replacing or removing a file settles
// everything about it, so any second operation contradicts that or comes too late.
func (p *planner) clash(s *fileState, op *parse.Operation) bool {
	var other *parse.Operation
	switch {
	case s.whole != nil:
		other = s.whole
	case op.Kind == parse.OpRename && s.move != nil:
		other = s.move
	case op.Kind == parse.OpMode && s.mode != nil:
		other = s.mode
	case op.Kind == parse.OpCreate || op.Kind == parse.OpWhole || op.Kind == parse.OpDelete:
		for _, o := range append(slices.Clone(s.edits), s.mode, s.move) {
			if o != nil {
				other = o
				break
			}
		}
	}
	if other == nil {
		return false
	}
	reason := fmt.Sprintf("block %d already creates, replaces or removes this file", other.Block)
	p.fault(op.Block, s.path, problem.KindOverlap, reason, "send one operation for the file")
	return true
}

// absent records an operation whose file must exist and does not, or must not exist and does.
//
// The advice names files of the same name elsewhere, but they are never used instead: the author decides which one is meant.
func (p *planner) absent(s *fileState, op *parse.Operation) bool {
	if op.Kind == parse.OpCreate {
		if s.exists {
			p.fault(op.Block, s.path, problem.KindExists, "the file already exists", "send an edit of it, or choose another path")
		}
		return s.exists
	}
	if !s.exists {
		advice := "name a file of the workspace; to create this one, send CREATE_FILE with its whole content"
		if names := p.similarNames(s.path); len(names) > 0 {
			advice = "did you mean " + strings.Join(names, " or ") + "?"
		}
		p.fault(op.Block, s.path, problem.KindNotFound, "there is no such file", advice)
	}
	return !s.exists
}

// similarNames returns up to three files with the same base name, ignoring case: the most likely targets of a wrong path.
func (p *planner) similarNames(name string) []string {
	all := p.sameBaseName(name)
	return all[:min(len(all), 3)]
}

// sameBaseName returns the files with the base name of name, ignoring case. Only the first call groups the files by base name.
func (p *planner) sameBaseName(name string) []string {
	base := func(f string) string { return strings.ToLower(path.Base(f)) }
	if p.bases == nil {
		p.bases = map[string][]string{}
		for _, f := range p.files.Paths() {
			p.bases[base(f)] = append(p.bases[base(f)], f)
		}
	}
	return p.bases[base(name)]
}

// change builds the change of one file. It returns false if the change has a problem or leaves the file as it is.
//
// Edits that cancel out are fine, and so is a renamed file that keeps its text. A modification that changes neither text nor mode
// is not a change.
func (p *planner) change(s *fileState) (workspace.Change, bool) {
	c := workspace.Change{Op: workspace.Modify, Path: s.path, Before: s.before, After: s.before, Mode: bits(p.files.Executable(s.path))}
	n := len(p.problems)
	switch {
	case s.whole != nil:
		p.whole(s, &c)
	case len(s.edits) > 0:
		after, applied, problems := editFile(s.path, s.before, s.edits, p.work)
		if p.problems = append(p.problems, problems...); len(problems) == 0 {
			after = p.judge(s, s.edits, after, applied)
		}
		p.applied = append(p.applied, applied...)
		c.After = after
	}
	for _, op := range []*parse.Operation{s.mode, s.move} {
		if op != nil && op.Exec != nil {
			c.Mode = bits(*op.Exec)
		}
	}
	if s.move != nil {
		c.Op, c.Path, c.From = workspace.Rename, s.move.Path, s.path
		p.note(s.move, match.Renaming)
	}
	if s.mode != nil {
		p.note(s.mode, match.ModeBits)
	}
	same := c.Op == workspace.Modify && string(c.After) == string(c.Before) && c.Mode == bits(p.files.Executable(s.path))
	return c, len(p.problems) == n && !same
}

// note records an operation that did not need matching. Its line is 1, since it concerns the file from its start.
func (p *planner) note(op *parse.Operation, by match.Strategy) {
	p.applied = append(p.applied, Applied{Block: op.Block, Path: op.Path, Strategy: by, Line: 1})
}

// whole fills in the change of a file that is created, replaced or removed.
//
// A diff that removes a file must list the lines that are there: they are the only evidence that its author saw this version.
func (p *planner) whole(s *fileState, c *workspace.Change) {
	op := s.whole
	if line, ok := promised(s, op); ok {
		p.fault(op.Block, s.path, problem.KindRefused, placeholderReason(line), "send the whole content")
		return
	}
	switch op.Kind {
	case parse.OpCreate:
		c.Op, c.Before, c.After, c.Mode = workspace.Create, nil, []byte(op.Text), bits(strings.HasPrefix(op.Text, "#!"))
		p.note(op, match.Creation)
	case parse.OpDelete:
		if op.Hunk != nil && !lex.SameLines(op.Search, parse.SplitBody(string(s.before))) {
			p.fault(op.Block, s.path, problem.KindStale, "the file is not what the diff removes", "read the file again, or delete it whole")
			return
		}
		c.Op, c.After = workspace.Delete, nil
		p.note(op, match.Deletion)
	default:
		if op.Doubt && parse.Partial(op.Text, s.before) {
			p.fault(op.Block, s.path, problem.KindRefused, "the text under the name of the file is only a part of it, or another text", "send the whole content with FILE, or the lines to change with EDIT")
			return
		}
		c.After = []byte(likeBefore(op.Text, s.before))
		if g := guard.CheckSize(document.New(s.path, s.before), op.Block, len(c.After)); g != nil {
			p.problems = append(p.problems, *g)
		}
		p.note(op, match.Content)
		c.After = p.judge(s, []*parse.Operation{op}, c.After, p.applied[len(p.applied)-1:])
	}
	if op.Exec != nil {
		c.Mode = bits(*op.Exec)
	}
}

// likeBefore gives new whole content the byte order mark and the line ends of the old file, if the response has only plain ones.
//
// Content in JSON or tags has plain line ends, whoever wrote it. Without this a file with other line ends would change on every
// line.
func likeBefore(text string, before []byte) string {
	d := document.New("", before)
	if d.EOL == "\r\n" && !strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if d.Mark != "" && !strings.HasPrefix(text, lex.BOM) {
		text = d.Mark + text
	}
	return text
}

// bits returns the permissions of a file with or without the execute bit, as git knows them: a umask is never part of a change.
func bits(exec bool) fs.FileMode {
	if exec {
		return 0o755
	}
	return 0o644
}

// checkTree records new files whose path is a folder, is below a file, or is also the path of another new file.
//
// Such a changeset cannot be written to a disk, and an attempt might write part of it before it fails.
func (p *planner) checkTree(changes []workspace.Change) {
	taken, made := p.files.Paths(), map[string]bool{}
	for _, c := range changes {
		if c.Op == workspace.Create || c.Op == workspace.Rename {
			if made[c.Path] {
				p.fault(p.blockOf(c), c.Path, problem.KindOverlap, "two operations make this file", "send one of them")
			}
			made[c.Path] = true
		}
	}
	for _, c := range changes {
		if !made[c.Path] || c.Op != workspace.Create && c.Op != workspace.Rename {
			continue
		}
		if i := sort.SearchStrings(taken, c.Path+"/"); i < len(taken) && strings.HasPrefix(taken[i], c.Path+"/") {
			p.fault(p.blockOf(c), c.Path, problem.KindPath, "this path is a folder", "choose another path")
		}
		if c.Op == workspace.Rename {
			if _, err := p.files.Read(c.Path); err == nil {
				p.fault(p.blockOf(c), c.Path, problem.KindExists, "the file already exists", "choose another path, or delete it first")
			}
		}
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			if i := sort.SearchStrings(taken, dir); made[dir] || i < len(taken) && taken[i] == dir {
				p.fault(p.blockOf(c), c.Path, problem.KindPath, dir+" is a file, not a folder", "choose another path")
				break
			}
		}
	}
}

// blockOf returns the block that put the file of a change at its new path. It returns 0 if there is none, as for every problem of
// the response as a whole.
//
// Another block may have the same path: a rename onto a file that the response removes is the fault of the rename, not of the
// removal.
func (p *planner) blockOf(c workspace.Change) int {
	by := match.Creation
	if c.Op == workspace.Rename {
		by = match.Renaming
	}
	for _, a := range p.applied {
		if a.Path == c.Path && a.Strategy == by {
			return a.Block
		}
	}
	return 0
}
