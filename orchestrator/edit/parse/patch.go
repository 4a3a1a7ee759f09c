package parse

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// parsePatch reads patches in the form of the apply_patch tool:
//
//	*** Begin Patch
//	*** Update File: shop/stock.py
//	@@ class Stock
//	 context
//	-old line
//	+new line
//	*** End Patch
//
// It is a diff without numbers. A section line, "@@" with a line of the file, heads the part of the file that holds the chunk, and
// several narrow it further; they only break a tie between equal places. Shell commands and fences around the patch are skipped;
// text within it is refused.
func parsePatch(text string) ([]*Operation, error) {
	p := &patchParser{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n"), endless: thoughts{}}
	for ; p.i < len(p.lines); p.i++ {
		p.i = p.endless.pass(p.lines, p.i)
		switch kind, _ := patchLine(p.lines[p.i]); {
		case kind == patchBegin:
			p.i++
			fallthrough
		case kind != "" && kind != patchEnd && kind != patchEOF:
			if err := p.patch(); err != nil {
				return nil, err
			}
		case otherThan(patchForm, p.lines, p.i):
			return nil, mixedForms()
		default:
			p.prose = append(p.prose, p.lines[p.i])
		}
	}
	if prose := strings.Join(p.prose, "\n"); holdsPatch(prose, 0, len(prose), nil) {
		return nil, mixedForms()
	}
	return p.ops, nil
}

// A patchParser walks the lines of a response with patches. Each of its methods begins at line i and leaves i after the lines it
// has read.
type patchParser struct {
	lines   []string
	i       int
	ops     []*Operation
	prose   []string // the lines outside the patches
	endless thoughts
}

// fault refuses the patch.
func (p *patchParser) fault(kind, reason, advice string) error {
	return problem.Refuse(problem.Problem{Block: len(p.ops) + 1, Kind: kind, Reason: reason, Advice: advice})
}

// patch reads the files of one patch up to the line that ends it.
//
// Without that line the response was cut off, however complete the last file looks.
func (p *patchParser) patch() error {
	first := len(p.ops)
	for p.i < len(p.lines) {
		kind, path := patchLine(p.lines[p.i])
		var err error
		switch kind {
		case patchEnd:
			if len(p.ops) == first {
				return p.fault(problem.KindParse, "the patch changes no file", "name a file, and the lines to change")
			}
			return nil
		case patchAdd:
			err = p.add(path)
		case patchUpdate:
			err = p.update(path)
		case patchDelete:
			p.ops = append(p.ops, &Operation{Kind: OpDelete, Path: path})
			p.i++
		default:
			if !lex.Blank(p.lines[p.i]) {
				return p.unmarked()
			}
			p.i++
		}
		if err == nil && kind != "" && path == "" {
			err = p.fault(problem.KindParse, "a line of the patch should name a file and does not", "write "+kind+" PATH")
		}
		if err != nil {
			return err
		}
	}
	return p.fault(problem.KindTruncated, "the patch is not ended: the response was cut off", "send the whole response again, up to "+patchEnd)
}

// unmarked refuses a line that does not belong to a patch: skipping it would lose a line of context or of a new file.
func (p *patchParser) unmarked() error {
	return p.fault(problem.KindParse, fmt.Sprintf("line %s is not valid at this place of the patch", problem.Quote(p.lines[p.i])),
		"begin every line of a chunk with space, + or -, and every line of a new file with +")
}

// add reads a new file: every line has its "+", including blank ones. A line without it ends the file, and the caller refuses it
// unless it is blank. If a blank line lacks its "+", the lines after it are refused, so that no file is written halfway.
func (p *patchParser) add(path string) error {
	op := &Operation{Kind: OpCreate, Path: path}
	var lines []string
	for p.i++; p.i < len(p.lines); p.i++ {
		l, ok := strings.CutPrefix(strings.TrimSuffix(p.lines[p.i], "\r"), "+")
		if !ok {
			break
		}
		lines = append(lines, l)
	}
	op.Text = JoinLines(lines)
	p.ops = append(p.ops, op)
	return nil
}

// update reads the chunks of a file, and before them its new name, if any.
func (p *patchParser) update(path string) error {
	first := len(p.ops)
	p.i++
	if p.i < len(p.lines) {
		if kind, to := patchLine(p.lines[p.i]); kind == patchMove && to != "" {
			p.ops = append(p.ops, &Operation{Kind: OpRename, Path: to, From: path})
			p.i++
		}
	}
	for p.i < len(p.lines) {
		if kind, _ := patchLine(p.lines[p.i]); kind != "" {
			break
		}
		op, err := p.chunk()
		if err != nil {
			return err
		}
		if op != nil {
			op.Path = path
			p.ops = append(p.ops, op)
		}
	}
	if len(p.ops) == first && p.i < len(p.lines) {
		return p.fault(problem.KindParse, "the patch names a file and changes nothing in it", "send the lines to change, or leave the file out")
	}
	return nil
}

// chunk reads the section lines and the marked lines of one chunk; it returns nil if there is only space.
//
// An empty line is a blank line of context that lost its one space, unless only the end of the chunk follows. From here on a chunk
// is a hunk: what holds for diffs, such as exemption from certain guards, holds for it. A chunk that only adds lines at the end of
// the file needs no context.
func (p *patchParser) chunk() (*Operation, error) {
	op := &Operation{Kind: OpEdit, Hunk: &Hunk{}}
	headed := false
	for ; p.i < len(p.lines) && strings.HasPrefix(p.lines[p.i], "@@"); p.i++ {
		headed = true
		if s := sectionLine(p.lines[p.i]); s != "" {
			op.Under = append(op.Under, s)
		}
	}
	gaps, last := 0, byte(0)
	for ; p.i < len(p.lines); p.i++ {
		s := strings.TrimSuffix(p.lines[p.i], "\r")
		if kind, _ := patchLine(s); kind != "" || strings.HasPrefix(s, "@@") {
			break
		}
		if s == "" {
			gaps++
			continue
		}
		if strings.IndexByte(` +-\`, s[0]) < 0 {
			return nil, p.unmarked()
		}
		for ; gaps > 0; gaps-- {
			op.Search, op.Replace = append(op.Search, ""), append(op.Replace, "")
		}
		op.take(s, last)
		last = s[0]
	}
	if p.i < len(p.lines) {
		if kind, _ := patchLine(p.lines[p.i]); kind == patchEOF {
			op.Ending = true
			p.i++
		}
	}
	switch empty := len(op.Search)+len(op.Replace) == 0; {
	case empty && (headed || op.Ending):
		return nil, p.fault(problem.KindTruncated, "the chunk has no lines: the response was cut off", "send the whole response again, up to "+patchEnd)
	case empty:
		return nil, nil
	case op.Ending && len(op.Search) == 0:
		op.Kind = OpAppend
	}
	return op, nil
}

// sectionLine returns the line of the file on a "@@" line, or "" if there is none. The numbers of a diff there mean nothing, since
// the form has none. "@@ class A:", "@@ class A: @@" and "@@ -1,2 +1,2 @@ class A:" all give "class A:".
func sectionLine(l string) string {
	s := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), "@@"))
	if m := hunkHeader.FindString(l); m != "" {
		return strings.TrimSpace(l[len(m):])
	}
	return strings.TrimSpace(strings.TrimSuffix(s, "@@"))
}
