package parse

import (
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace/lazyregexp"
)

// parseDiff reads unified diffs, from git or plain, as programs and models write them. The numbers in a hunk's header are only
// hints, so that a wrong count neither loses lines nor takes the next file's header for content.
//
// It tolerates what models write: wrong line numbers and counts, a header without numbers, blank context lines without their one
// space, prose and fences around the diff, missing "a/" and "b/". It refuses a line without a mark in the middle of a hunk, binary
// patches, symbolic links, submodules, copies, and the combined diffs of merges.
//
// A library that reads diffs strictly does not help here: with one wrong count it returns an error, or reads the next file's header
// as content.
//
// fenced tells that the text begins within a fence.
func parseDiff(text string, fenced bool) ([]*Operation, error) {
	p := &diffParser{lines: strings.Split(text, "\n"), fenced: fenced, endless: thoughts{}}
	if n := len(p.lines); n > 0 && p.lines[n-1] == "" {
		p.lines = p.lines[:n-1]
	}
	for p.i < len(p.lines) {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if prose := strings.Join(p.prose, "\n"); holdsPatch(prose, 0, len(prose), nil) {
		return nil, mixedForms()
	}
	return p.ops, nil
}

// A diffParser walks the lines of a diff; f is the file it is in.
//
// It works line by line and keeps no state beyond the current file, so that a new header always starts afresh, whatever came before
// it.
type diffParser struct {
	lines   []string
	i       int
	f       *diffFile
	ops     []*Operation
	prose   []string // the lines outside the hunks
	fenced  bool     // the text begins within a fence
	endless thoughts
}

// A diffFile holds the contents of the header lines of one file, and its hunks.
type diffFile struct {
	git, named       bool   // it has git's header; it has the "---" and "+++" lines
	old, new         string // as written, "" if not given
	bare             string // the one name that git's header has twice, in which case it has no prefixes
	from, to         string // for a rename
	created, deleted bool
	exec             *bool
	hunks            []*Operation
}

// fault refuses the diff.
//
// The block is the operation that the current hunk would have become. The operations of the files before it and the hunks of this
// file count, so that the number leads to the same place as the number of a problem found later.
func (p *diffParser) fault(kind, reason, advice string) error {
	block := len(p.ops) + 1
	if p.f != nil {
		block += len(p.f.hunks)
	}
	return problem.Refuse(problem.Problem{Block: block, Kind: kind, Reason: reason, Advice: advice})
}

// step reads one line outside the hunks, or one hunk.
//
// Tags or conflict markers between the files of a diff are a second form in one response, which is refused like every mixture.
func (p *diffParser) step() error {
	p.i = p.endless.pass(p.lines, p.i)
	l := strings.TrimPrefix(strings.TrimSuffix(p.lines[p.i], "\r"), lex.BOM)
	switch {
	case strings.HasPrefix(l, "diff --git "):
		if err := p.finish(); err != nil {
			return err
		}
		p.f = &diffFile{git: true}
		p.f.old, p.f.new = gitNames(strings.TrimPrefix(l, "diff --git "))
		if p.f.old == p.f.new {
			p.f.bare = p.f.new
		}
	case strings.HasPrefix(l, "--- ") && p.i+1 < len(p.lines) && strings.HasPrefix(p.lines[p.i+1], "+++ "):
		if err := p.names(l, strings.TrimSuffix(p.lines[p.i+1], "\r")); err != nil {
			return err
		}
		p.i++
	case strings.HasPrefix(l, "@@"):
		return p.hunk(l)
	case p.f != nil:
		if err := p.header(l); err != nil {
			return err
		}
	}
	if otherThan(diffForm, []string{l}, 0) {
		return mixedForms()
	}
	p.prose = append(p.prose, l)
	p.i++
	return nil
}

// names takes the two lines that name a file before and after the change.
//
// After git's own header they only repeat it, unless hunks have been read since: then they begin a file of a plain diff.
func (p *diffParser) names(before, after string) error {
	if p.f == nil || !p.f.git || len(p.f.hunks) > 0 {
		if err := p.finish(); err != nil {
			return err
		}
		p.f = &diffFile{}
	}
	p.f.named = true
	p.f.old, p.f.new = diffName(before[4:]), diffName(after[4:])
	for _, name := range []string{p.f.old, p.f.new} {
		if name != p.f.bare && name != "/dev/null" {
			p.f.bare = "" // the header was written by hand
		}
	}
	p.f.created = p.f.created || p.f.old == "/dev/null"
	p.f.deleted = p.f.deleted || p.f.new == "/dev/null"
	if p.f.created && p.f.deleted {
		return p.fault(problem.KindParse, "the diff names no file", "name the file before and after")
	}
	return nil
}

// header takes one of git's extended header lines. Lines of other kinds are prose around the diff.
//
// "index", "similarity" and "dissimilarity" lines say nothing that is needed: the digests of a workspace are its own, and the
// content decides what a hunk means.
func (p *diffParser) header(l string) error {
	for _, h := range []struct {
		prefix string
		take   func(v string) error
	}{
		{"new file mode ", func(v string) error { p.f.created = true; return p.mode(v) }},
		{"deleted file mode ", func(v string) error { p.f.deleted = true; return p.kind(v) }},
		{"old mode ", p.kind},
		{"new mode ", p.mode},
		{"rename from ", func(v string) error { p.f.from = unquote(v); return nil }},
		{"rename to ", func(v string) error { p.f.to = unquote(v); return nil }},
		{"copy from ", func(string) error {
			return p.fault(problem.KindRefused, "the diff copies a file", "send the copy as a new file")
		}},
		{"GIT binary patch", func(string) error {
			return p.fault(problem.KindRefused, "the diff holds a binary patch", "leave binary files out")
		}},
		{"Binary files ", func(string) error {
			return p.fault(problem.KindRefused, "the diff names a binary file without its content", "leave binary files out")
		}},
	} {
		if v, ok := strings.CutPrefix(l, h.prefix); ok {
			return h.take(strings.TrimSpace(v))
		}
	}
	return nil
}

// mode takes a file mode after the change.
func (p *diffParser) mode(v string) error {
	exec := strings.HasSuffix(v, "755")
	p.f.exec = &exec
	return p.kind(v)
}

// kind refuses anything but a regular file.
//
// A link has mode 120000 and a submodule 160000. The lines of such a "file" are the path or the commit that it points to: written
// as a regular file they would put that text where code reads a file.
func (p *diffParser) kind(v string) error {
	if !strings.HasPrefix(v, "100") {
		return p.fault(problem.KindRefused, "mode "+v+" is that of a symbolic link or a submodule", "send regular files only")
	}
	return nil
}

// hunkHeader is the usual header. A header without numbers is accepted too. An absent count is 1: "@@ -3 +3,2 @@" replaces one line
// with two.
var hunkHeader = lazyregexp.New(`^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// hunk reads one hunk: its header l and the lines after it.
//
// It ends where p.ends says so. Empty lines are held back until the next line shows whether they were context or only the space
// after the hunk. The counts of the header are compared with the real ones: if they agree, the header is sound, and its line number
// may later break a tie.
//
// The lines of a new file keep their carriage returns and its byte order mark: only the diff says that it has them. A diff that was
// itself sent with such line ends has them in the header too.
func (p *diffParser) hunk(l string) error {
	if p.f == nil {
		p.f = &diffFile{}
	}
	if strings.HasPrefix(l, "@@@") {
		return p.fault(problem.KindRefused, "this is a combined diff of a merge", "send a diff against one parent")
	}
	sent := strings.HasSuffix(p.lines[p.i], "\r")
	keep := p.f.created && !sent
	h := &Hunk{}
	oldLeft, newLeft, counted := 0, 0, false
	if m := hunkHeader.FindStringSubmatch(l); m != nil {
		h.Line, oldLeft, newLeft, counted = number(m[1], 0), number(m[2], 1), number(m[4], 1), true
	}
	op := &Operation{Kind: OpEdit, Hunk: h}
	p.i++
	gaps, last := 0, byte(0) // empty lines that may only follow the hunk; the first byte of the line before
	for ; p.i < len(p.lines); p.i++ {
		s := strings.TrimSuffix(p.lines[p.i], "\r")
		if p.ends(s, counted && oldLeft <= 0 && newLeft <= 0) {
			break
		}
		if s == "" { // a context line whose one space was trimmed, or the space after the hunk
			gaps++
			continue
		}
		for ; gaps > 0; gaps-- {
			op.Search, op.Replace = append(op.Search, ""), append(op.Replace, "")
			oldLeft, newLeft = oldLeft-1, newLeft-1
		}
		if keep && s[0] == '+' {
			s = p.lines[p.i]
		}
		if last != '\\' || s[0] != '\\' {
			op.take(s, last)
			h.lineEnds(s[0], strings.HasSuffix(p.lines[p.i], "\r"), len(op.Search), len(op.Replace))
		}
		switch last = s[0]; last {
		case ' ':
			oldLeft, newLeft = oldLeft-1, newLeft-1
		case '-':
			oldLeft--
		case '+':
			newLeft--
		}
	}
	for ; gaps > 0 && counted && oldLeft > 0 && newLeft > 0; gaps-- {
		op.Search, op.Replace = append(op.Search, ""), append(op.Replace, "")
		oldLeft, newLeft = oldLeft-1, newLeft-1
	}
	for _, side := range [][]string{op.Search, op.Replace} {
		if len(side) > 0 && !p.f.created {
			side[0] = strings.TrimPrefix(side[0], lex.BOM) // the mark is not part of the first line here
		}
	}
	if sent {
		h.OldCR, h.NewCR = nil, nil
	}
	h.Trusted = counted && oldLeft == 0 && newLeft == 0
	if len(op.Search)+len(op.Replace) == 0 {
		return p.fault(problem.KindTruncated, "the hunk has no lines: the response was cut off", "send the whole diff again")
	}
	if !h.Trusted {
		if err := p.cutOff(op, oldLeft, newLeft, counted); err != nil {
			return err
		}
		if err := p.unmarked(counted && (oldLeft > 0 || newLeft > 0)); err != nil {
			return err
		}
	}
	p.f.hunks = append(p.f.hunks, op)
	return nil
}

// take adds one line of a hunk to the operation.
//
// "\ No newline at end of file" refers to the line before it: a removed line belongs to the old file, an added one to the new file,
// a context line to both.
func (op *Operation) take(s string, last byte) {
	switch s[0] {
	case ' ':
		op.Search, op.Replace = append(op.Search, s[1:]), append(op.Replace, s[1:])
	case '-':
		op.Search = append(op.Search, s[1:])
	case '+':
		op.Replace = append(op.Replace, s[1:])
	case '\\':
		op.Hunk.OldNoEOL = op.Hunk.OldNoEOL || last != '+'
		op.Hunk.NewNoEOL = op.Hunk.NewNoEOL || last != '-'
	}
}

// finish turns the file that was read into operations.
//
// A rename and a change of mode become separate operations next to the hunks. After a rename the hunks name the file by its old
// path.
func (p *diffParser) finish() error {
	f := p.f
	if f == nil {
		return nil
	}
	said := f.created || f.deleted || f.exec != nil || f.from != "" || f.to != ""
	if len(f.hunks) == 0 && (f.named || !said) {
		return p.fault(problem.KindTruncated, "the diff names a file and then ends: it was cut off", "send the whole diff again")
	}
	old, raw := stripped(f.old, prefixed(f)), f.old
	name, rawNew := stripped(f.new, prefixed(f)), f.new
	switch {
	case f.created:
		return p.created(name)
	case f.deleted:
		op := &Operation{Kind: OpDelete, Path: old, Prefixed: raw, Hunk: &Hunk{}}
		for _, h := range f.hunks {
			op.Search = append(op.Search, h.Search...)
			if len(h.Replace) > 0 {
				return p.fault(problem.KindParse, "the diff removes a file and keeps lines of it", "remove all of its lines, or do not call it removed")
			}
		}
		p.emit(op)
		return nil
	}
	if f.from != "" || f.to != "" {
		if f.from == "" || f.to == "" {
			return p.fault(problem.KindParse, "the diff renames a file without saying both names", `give "rename from" and "rename to"`)
		}
		p.emit(&Operation{Kind: OpRename, Path: f.to, From: f.from, Exec: f.exec})
		old, raw = f.from, ""
	} else {
		if name != "" {
			old, raw = name, rawNew
		}
		if f.exec != nil {
			p.emit(&Operation{Kind: OpMode, Path: old, Prefixed: raw, Exec: f.exec})
		}
	}
	for _, h := range f.hunks {
		h.Path, h.Prefixed = old, raw
		p.emit(h)
	}
	p.f = nil
	return nil
}

// emit adds an operation of the file that ends here.
func (p *diffParser) emit(op *Operation) {
	p.ops = append(p.ops, op)
	p.f = nil
}

// created turns the hunks into a new file; they may only add lines.
func (p *diffParser) created(name string) error {
	op := &Operation{Kind: OpCreate, Path: name, Exec: p.f.exec}
	var lines []string
	noEOL := false
	for _, h := range p.f.hunks {
		if len(h.Search) > 0 {
			return p.fault(problem.KindParse, "the diff creates a file and has lines of it that already exist", "begin every line of a new file with +")
		}
		lines, noEOL = append(lines, h.Replace...), h.Hunk.NewNoEOL
	}
	op.Text = JoinLines(lines)
	if noEOL {
		op.Text = strings.TrimSuffix(op.Text, "\n")
	}
	p.emit(op)
	return nil
}

// lineEnds records how the hunk line that was just taken ends: mark is its first byte, and old and new are the numbers of lines
// that each side then has.
func (h *Hunk) lineEnds(mark byte, cr bool, old, new int) {
	if !cr {
		return
	}
	if mark == ' ' || mark == '-' {
		h.OldCR = append(h.OldCR, make([]bool, old-len(h.OldCR))...)
		h.OldCR[old-1] = true
	}
	if mark == ' ' || mark == '+' {
		h.NewCR = append(h.NewCR, make([]bool, new-len(h.NewCR))...)
		h.NewCR[new-1] = true
	}
}

// prefixed reports whether the names of a diff carry git's prefixes.
//
// Git writes the same name twice if it writes no prefixes. In a plain diff one name alone proves nothing: a folder may well be
// called "a".
func prefixed(f *diffFile) bool {
	a, b := strings.HasPrefix(f.old, "a/") || f.old == "/dev/null", strings.HasPrefix(f.new, "b/") || f.new == "/dev/null"
	old, name := stripped(f.old, true), stripped(f.new, true)
	return f.git && f.bare == "" || !f.git && (a && b || old == name && f.old != old && f.new != name && f.old != f.new)
}
