package edit_test

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
)

// sentences lists the advice that a refusal may contain, with what it means to an author who follows it literally. The tests fail on a
// sentence that matches no pattern, since it would teach nothing.
var sentences = []struct {
	says *regexp.Regexp
	do   func(r *reader, p *told, m []string) error
}{
	{regexp.MustCompile(`^(?:write REPLACE as whole lines too; )?(read the file, then )?copy lines? (\d+)(?: to (\d+))? exactly into (?:SEARCH|the hunk's old lines)(, in a unified diff with their true line number)?(?:; (begin|end) (?:REPLACE|its new lines) with lines? (\d+)(?: to (\d+))?)?(?:; indent .* alike)?(?:; write .* out in full, without .*)?$`), (*reader).copyLines},
	{regexp.MustCompile(`^(send each piece between the elisions as a block of its own; )?choose the place that is meant: send (?:SEARCH|the hunk's old lines) as its lines above, and repeat the lines that tell it apart in (?:REPLACE|its new lines)(; for a place that is not told apart, send a unified diff with its true line number)?(?:; indent .* alike)?(?:; write .* out in full, without .*)?$`), (*reader).choosePlace},
	{regexp.MustCompile(`^send the change as a unified diff with the true line number of the place that is meant`), (*reader).numberedDiff},
	{regexp.MustCompile(`^send blocks (\d+) and (\d+) as one block, with lines? (\d+)(?: to (\d+))? above as SEARCH$`), (*reader).mergeBlocks},
	{regexp.MustCompile(`^(?:none of these is like it: )?read the file and copy the lines to replace from it, or leave this block out(?:; write .* out in full, without .*)?$`), (*reader).readFile},
	{regexp.MustCompile(`^line (\d+) holds bytes that are not UTF-8 and cannot be sent: leave it out of the lines to replace$`), (*reader).avoidBytes},
	{regexp.MustCompile(`^send an empty SEARCH, and the whole content as REPLACE$`), (*reader).fillFile},
	{regexp.MustCompile(`^(leave this block out|send one operation for the file|send one of them|send nothing, or the change that is missing|leave binary files out|send regular files only)$`), (*reader).leaveOut},
	{regexp.MustCompile(`^send (the whole (response|diff) again(, shorter|, up to \*\*\* End Patch|; send fewer blocks at a time when it was too long, or a unified diff when its text holds such tags)?|one JSON document and nothing else|the whole change in one form|edits outside of such fences, and a file that holds some with CREATE_FILE)$`), (*reader).sayAgain},
	{regexp.MustCompile(`^(send <EDIT file="PATH"><SEARCH>lines of the file</SEARCH><REPLACE>new lines</REPLACE></EDIT>), or a unified diff$`), (*reader).inTags},
	{regexp.MustCompile(`^send \[{"path":"PATH","oldText":"whole lines of the file","newText":"new lines"}\], or {"path":"PATH","action":"create\|modify\|delete\|rename","content":"whole content","from":"old path of a rename"}$`), (*reader).inJSON},
	{regexp.MustCompile(`^(begin every line of a hunk with its mark|send the change as a unified diff, or leave such lines out of the block|send a unified diff, which names every line that goes, or delete the file)$`), (*reader).inDiff},
	{regexp.MustCompile(`^send {"path":"PATH","edits":\[{"type":"replace_line\|insert_at_line","line":12,"expected":"the text of line 12 now","content":"new lines"}\]}$`), (*reader).byLine},
	{regexp.MustCompile(`^(begin every line of a chunk with space, \+ or -, and every line of a new file with \+|write \*\*\* (Add|Update|Delete) File: PATH|name a file, and the lines to change|send the lines to change, or leave the file out)$`), (*reader).inPatch},
	{regexp.MustCompile(`^(send <FILE file="\S+">the whole content</FILE>|send <RENAME_FILE from="OLD PATH" to="NEW PATH"/>|put the path into the JSON as "path", or send the file with CREATE_FILE|send the whole content with FILE, or the lines to change with EDIT)$`), (*reader).inTags},
	{regexp.MustCompile(`^(name the file on a line of its own directly above the block|put the new lines below it|send edits of the parts that change, or a unified diff, which names every line that goes)$`), (*reader).sayAgain},
	{regexp.MustCompile(`^(the lines above are those of the result: send the change whole, with every bracket, string and block that it opens closed, or leave it out|keep the definition, or change what uses it in the same response, or leave the change out)$`), (*reader).mendOrLeave},
	{regexp.MustCompile(`^leave the block out, or change what uses the imports too$`), (*reader).leaveOut},
	{regexp.MustCompile(`^send it again with the corrected blocks(?:; write .* out in full, without .*)?$`), (*reader).repeat},
	{regexp.MustCompile(`^put a line of (=+) between the old and the new lines$`), (*reader).inMarkers},
	{regexp.MustCompile(`^did you mean (\S+?)(?: or \S+)*\?(?: To create this one, send CREATE_FILE with its whole content)?$`), (*reader).takePath},
	{regexp.MustCompile(`^name the file( by its path|: <EDIT file="PATH">|, <EDIT file="PATH">, and copy the lines to replace from it)$`), (*reader).nameFile},
	{regexp.MustCompile(`^(name another file, by its path relative to the workspace, with forward slashes|name a file of the workspace; to create this one, send CREATE_FILE with its whole content|(send an edit of it, or )?choose another path(, or delete it first)?)$`), (*reader).anotherPath},
	{regexp.MustCompile(`^(send the whole content|send the whole text of the lines to replace, or a smaller block)$`), (*reader).writeOut},
	{regexp.MustCompile(`^(read the file again, or delete it whole)$`), (*reader).deleteWhole},
	{regexp.MustCompile(`^(leave it, or replace the whole file)$`), (*reader).replaceWhole},
	{regexp.MustCompile(`^send SEARCH, or the hunk's context, with lines from that place$`), (*reader).anchorLines},
	{regexp.MustCompile(`^copy the lines exactly into SEARCH, with their indentation and comments$`), (*reader).copyShown},
}

// copyLines sends the advised lines as SEARCH.
func (r *reader) copyLines(p *told, m []string) error {
	lo, hi := number(m[2]), max(number(m[2]), number(m[3]))
	lines, err := p.lines(lo, hi)
	if m[1] != "" {
		file := r.file(p.block)
		lines, err = file[lo-1:hi], nil
	}
	if err != nil {
		return err
	}
	n := 0
	if m[5] != "" {
		n = max(number(m[6]), number(m[7])) - number(m[6]) + 1
	}
	if strings.HasPrefix(p.advice, "write REPLACE as whole lines") {
		r.completeLine(p.block, lines[0])
	}
	if m[5] == "begin" {
		r.put(p.block, lines, lines[:n], nil, p.advice)
	} else {
		r.put(p.block, lines, nil, lines[len(lines)-n:], p.advice)
	}
	if m[4] != "" {
		r.form, r.next[p.block][0].line = "diff", lo
	}
	return nil
}

// completeLine turns the first line of REPLACE into a whole line: the line of the file with SEARCH replaced in it.
func (r *reader) completeLine(block int, line string) {
	m := &r.meant[block-1]
	if len(m.replace) > 0 {
		first := strings.Replace(line, strings.TrimSpace(m.search[0]), strings.TrimSpace(m.replace[0]), 1)
		m.replace = append([]string{first}, m.replace[1:]...)
	}
}

// choosePlace picks the first place that is told apart from the others.
func (r *reader) choosePlace(p *told, m []string) error {
	for _, at := range p.places {
		lo, hi := at[0], at[1]
		if slices.Contains(p.untold, lo) {
			continue
		}
		var before, after []string
		if at[2] > 0 {
			added, err := p.lines(at[2], at[3])
			if err != nil {
				return err
			}
			if at[2] < lo {
				before, lo = added, at[2]
			} else {
				after, hi = added, at[3]
			}
		}
		lines, err := p.lines(lo, hi)
		if err != nil {
			return err
		}
		if m[1] != "" {
			return r.splitPieces(p.block, lines, before, after)
		}
		if r.sends(lines, p.block) {
			continue // this place belongs to another block
		}
		r.put(p.block, lines, before, after, p.advice)
		return nil
	}
	return errors.New("no place is told apart")
}

// splitPieces sends each piece of an elided block as a block of its own.
func (r *reader) splitPieces(block int, place, before, after []string) error {
	m := r.meant[block-1]
	search, replace := atElisions(m.search), atElisions(m.replace)
	if len(search) != len(replace) {
		return errors.New("the elisions do not pair")
	}
	r.next[block] = nil
	for i, s := range search {
		if slices.Equal(s, replace[i]) {
			continue
		}
		one := intent{kind: "edit", path: m.path, search: s, replace: replace[i]}
		if slices.Equal(s, place[len(before):len(place)-len(after)]) {
			one.search, one.replace = place, slices.Concat(before, replace[i], after)
		}
		r.next[block] = append(r.next[block], one)
	}
	return nil
}

// atElisions splits lines at the elisions.
func atElisions(lines []string) [][]string {
	out := [][]string{nil}
	for _, s := range lines {
		if strings.Contains(s, "...") {
			out = append(out, nil)
		} else {
			out[len(out)-1] = append(out[len(out)-1], s)
		}
	}
	return out
}

// numberedDiff sends the first shown place as a diff.
func (r *reader) numberedDiff(p *told, _ []string) error {
	if len(p.places) == 0 {
		return errors.New("no place is shown")
	}
	lines, err := p.lines(p.places[0][0], p.places[0][1])
	if err != nil {
		return err
	}
	r.put(p.block, lines, nil, nil, p.advice)
	r.form, r.next[p.block][0].line = "diff", p.places[0][0]
	return nil
}

// mergeBlocks sends two blocks as one: the shown lines, with both changes applied to them.
func (r *reader) mergeBlocks(p *told, m []string) error {
	into, other := number(m[1]), number(m[2])
	for r.merged[into] > 0 {
		into = r.merged[into]
	}
	search, err := p.lines(number(m[3]), max(number(m[3]), number(m[4])))
	if err != nil {
		return err
	}
	one := r.next[into][0]
	text := substitute(search, one.search, one.replace)
	two := r.meant[other-1]
	one.search, one.replace = search, substitute(text, two.search, two.replace)
	if slices.Equal(one.replace, text) { // the second change no longer finds its lines: it wins
		one.replace = substitute(search, two.search, two.replace)
	}
	r.next[into], r.next[other], r.merged[other] = []intent{one}, nil, into
	return nil
}

// substitute replaces the first occurrence of old in text by lines, ignoring surrounding space.
func substitute(text, old, lines []string) []string {
	for at := range len(text) - len(old) + 1 {
		if slices.EqualFunc(text[at:at+len(old)], old, func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }) {
			return slices.Concat(text[:at], lines, text[at+len(old):])
		}
	}
	return text
}

// readFile picks the line of the file that shares the most words with SEARCH.
func (r *reader) readFile(p *told, _ []string) error {
	file, m := r.file(p.block), r.meant[p.block-1]
	words := map[string]bool{}
	for _, s := range m.search {
		for _, w := range strings.Fields(s) {
			words[w] = true
		}
	}
	best, most := -1, 0
	for i, s := range file {
		n := 0
		for _, w := range strings.Fields(s) {
			if words[w] {
				n++
			}
		}
		if once(file, s) && !r.takes(s, p.block) && n > most && strings.TrimSpace(s) != "" {
			best, most = i, n
		}
	}
	if best < 0 {
		return r.leaveOut(p, nil)
	}
	r.put(p.block, []string{file[best]}, nil, nil, p.advice)
	return nil
}

// once reports whether a line occurs exactly once in a file, ignoring surrounding space.
func once(file []string, s string) bool {
	n := 0
	for _, l := range file {
		if strings.TrimSpace(l) == strings.TrimSpace(s) {
			n++
		}
	}
	return n == 1
}

// takes reports whether a block other than this one replaces a line.
func (r *reader) takes(s string, but int) bool {
	for block, sent := range r.next {
		for _, m := range sent {
			if block != but && slices.ContainsFunc(m.search, func(l string) bool { return strings.TrimSpace(l) == strings.TrimSpace(s) }) {
				return true
			}
		}
	}
	return false
}

// sends reports whether another block is about to replace exactly these lines.
func (r *reader) sends(lines []string, but int) bool {
	for block, sent := range r.next {
		if block != but && slices.ContainsFunc(sent, func(m intent) bool { return slices.Equal(m.search, lines) }) {
			return true
		}
	}
	return false
}

// avoidBytes sends the shown lines before the one that cannot be sent, or, if there are none, those after it.
func (r *reader) avoidBytes(p *told, m []string) error {
	at := number(m[1])
	lo := at
	for p.shown[lo-1] != "" {
		lo--
	}
	if lo == at {
		lo, at = at+1, at+1
		for p.shown[at] != "" {
			at++
		}
	}
	lines, err := p.lines(lo, at-1)
	if err != nil || len(lines) == 0 {
		return errors.New("no line can be sent")
	}
	r.put(p.block, lines, nil, nil, p.advice)
	return nil
}

func (r *reader) fillFile(p *told, _ []string) error {
	r.next[p.block][0].search = nil
	return nil
}

func (r *reader) leaveOut(p *told, _ []string) error {
	if p.block == 0 { // applies to the response as a whole
		clear(r.next)
	}
	r.next[p.block] = nil
	return nil
}

// mendOrLeave sends everything that was meant. An author who cannot mend it leaves something out: the named block, otherwise the blocks
// that a refusal moved elsewhere, otherwise everything.
func (r *reader) mendOrLeave(p *told, _ []string) error {
	switch {
	case len(r.whole) > 0:
		return r.sayAgain(p, nil)
	case p.block > 0:
		r.next[p.block] = nil
	case !slices.Contains(r.moved, true):
		clear(r.next)
	default:
		for i, moved := range r.moved {
			if moved {
				r.next[i+1] = nil
			}
		}
	}
	return nil
}

// sayAgain sends what was meant, in the form in which it was begun.
func (r *reader) sayAgain(*told, []string) error {
	if len(r.whole) == 0 {
		return errors.New("nothing tells what was meant")
	}
	clear(r.next)
	r.next[0] = r.whole
	return nil
}

func (r *reader) inForm(form string) error {
	r.form = form
	if len(r.whole) == 0 {
		return nil // the response contains it
	}
	return r.sayAgain(nil, nil)
}

func (r *reader) inTags(p *told, _ []string) error {
	for _, m := range r.whole {
		if slices.ContainsFunc(m.replace, func(s string) bool { return strings.Contains(s, "</") }) {
			return r.inForm("diff") // of the advised forms, this one can contain such a line
		}
	}
	return r.inForm("tags")
}

func (r *reader) inJSON(*told, []string) error    { return r.inForm("json") }
func (r *reader) inDiff(*told, []string) error    { return r.inForm("diff") }
func (r *reader) inMarkers(*told, []string) error { return r.inForm("markers") }
func (r *reader) inPatch(*told, []string) error   { return r.inForm("patch") }

// byLine sends the intended lines with their numbers in the file.
func (r *reader) byLine(p *told, _ []string) error {
	r.form = "lines"
	for i, m := range r.whole {
		file := strings.Split(r.files.text[m.path], "\n")
		r.whole[i].line = slices.Index(file, m.search[0]) + 1
	}
	return r.sayAgain(p, nil)
}

// repeat sends a block unchanged.
func (r *reader) repeat(*told, []string) error { return nil }

func (r *reader) takePath(p *told, m []string) error {
	r.next[p.block][0].path = m[1]
	return nil
}

// nameFile picks the first file that the refusal names, otherwise the intended one.
func (r *reader) nameFile(p *told, _ []string) error {
	if _, names, ok := strings.Cut(p.reason, "files would do: "); ok {
		name, _, _ := strings.Cut(names, ",")
		r.next[p.block][0].path = name
		return nil
	}
	return r.sayAgain(p, nil)
}

// anotherPath picks the intended path, or invents one next to it.
func (r *reader) anotherPath(p *told, _ []string) error {
	if len(r.whole) > 0 {
		return r.sayAgain(p, nil)
	}
	m := &r.next[p.block][0]
	m.path = strings.TrimSuffix(m.path, path.Ext(m.path)) + "_two" + path.Ext(m.path)
	return nil
}

// writeOut drops the lines that only promise code.
func (r *reader) writeOut(p *told, _ []string) error {
	m := &r.next[p.block][0]
	m.replace = slices.DeleteFunc(slices.Clone(m.replace), func(s string) bool { return strings.Contains(s, "...") })
	return nil
}

func (r *reader) deleteWhole(p *told, _ []string) error {
	m := r.meant[p.block-1]
	r.form, r.next[p.block] = "tags", []intent{{kind: "delete", path: m.path}}
	return nil
}

func (r *reader) replaceWhole(p *told, _ []string) error {
	m := r.meant[p.block-1]
	r.form, r.next[p.block] = "json", []intent{{kind: "modify", path: m.path, replace: m.replace}}
	return nil
}

// anchorLines puts the new lines after the first line that occurs once in the file.
func (r *reader) anchorLines(p *told, _ []string) error {
	if len(r.whole) > 0 {
		return r.sayAgain(p, nil)
	}
	for _, s := range r.file(p.block) {
		if strings.TrimSpace(s) != "" && once(r.file(p.block), s) {
			m := r.meant[p.block-1]
			m.search, m.replace = []string{s}, append([]string{s}, m.replace...)
			r.next[p.block] = []intent{m}
			return nil
		}
	}
	return errors.New("no line stands once")
}

// copyShown sends the shown lines as SEARCH.
func (r *reader) copyShown(p *told, _ []string) error {
	if len(r.whole) > 0 {
		return r.sayAgain(p, nil)
	}
	lo, hi := 1<<30, 0
	for n := range p.shown {
		lo, hi = min(lo, n), max(hi, n)
	}
	lines, err := p.lines(lo, hi)
	if err == nil {
		r.put(p.block, lines, nil, nil, p.advice)
	}
	return err
}
