package parse

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// A tagParser reads the block form: it walks over the tags and turns the text between them into operations.
//
// Text outside the blocks is the author's prose. It is skipped, unless a tag there closes nothing or another form begins in it:
// both are signs that a block ended elsewhere than its author thought.
type tagParser struct {
	text  string
	tags  []tag
	i     int // the next tag
	ops   []*Operation
	rest  int  // where the text after the last block begins
	files bool // a FILE was opened, so its closing tag has a meaning
}

// parseTags reads a response in the block form.
//
// The walk stops at the first fault, unlike the planner, which collects them: if one block does not end where it seems to, every
// number after it is wrong.
func parseTags(text string, tags []tag) ([]*Operation, error) {
	p := &tagParser{text: text, tags: tags}
	for p.i < len(tags) {
		if t := tags[p.i]; !opens(text, tags, p.i) {
			if p.i++; t.closes && !t.skip && !t.thinks() && (t.line || endsLine(text, t.end)) && (t.name != "FILE" || p.files) {
				return nil, problem.Refuse(problem.Problem{Block: len(p.ops), Kind: problem.KindParse, Reason: fmt.Sprintf("</%s> closes nothing: where the block before it ends cannot be told", t.name), Advice: formAdvice})
			}
			continue
		}
		if err := p.stray(p.rest, tags[p.i].start); err != nil {
			return nil, err
		}
		var err error
		from := p.i
		switch tags[p.i].name {
		case "EDIT":
			err = p.edit()
		case "SEARCH":
			err = p.pair("")
		case "CREATE_FILE":
			err = p.create("CREATE_FILE", OpCreate)
		case "FILE":
			p.files = true
			err = p.create("FILE", OpWrite)
		case "RENAME_FILE":
			err = p.rename()
		case "DELETE_FILE":
			err = p.remove()
		default:
			err = p.bad("REPLACE without a SEARCH before it")
		}
		if err == nil {
			err = p.thoughtful(from)
		}
		if err != nil {
			return nil, err
		}
		p.rest = p.tags[p.i-1].end
	}
	if err := p.stray(p.rest, len(text)); err != nil {
		return nil, err
	}
	if beginsTag(lastLine(text[p.rest:])) {
		return nil, problem.Refuse(problem.Problem{
			Block: len(p.ops) + 1, Kind: problem.KindTruncated, Reason: "the response ends within a tag: it was cut off", Advice: "send the whole response again",
		})
	}
	return p.ops, nil
}

// beginsTag reports whether a line is a tag that was cut off: "<ED", "<EDIT file=\"shop/st". A lone "<" is enough: nothing else
// ends in one.
func beginsTag(s string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimPrefix(s, lex.BOM), " \t"), "<")
	if !ok || strings.Contains(rest, ">") {
		return false
	}
	name, _, more := strings.Cut(rest, " ")
	for _, t := range tagNames {
		if !more && len(name) <= len(t) && strings.EqualFold(name, t[:len(name)]) || more && strings.EqualFold(name, t) {
			return true
		}
	}
	return false
}

// thoughtful refuses a thought that begins in the block which tag from opens, and ends after that block. Either the thought holds
// blocks, or the block holds the tag as text, and the two readings apply different edits.
func (p *tagParser) thoughtful(from int) error {
	for k := from; k < p.i; k++ {
		if t := p.tags[k]; !t.skip || !t.thinks() || t.closes {
			continue
		}
		open := p.tags[k].name
		for k++; k < p.i && !(p.tags[k].closes && p.tags[k].name == open); k++ {
		}
		if k == p.i {
			return problem.Refuse(problem.Problem{Block: len(p.ops), Kind: problem.KindParse, Reason: fmt.Sprintf("the block holds <%s>, which is closed after the block: what is thought and what is text cannot be told", open), Advice: formAdvice})
		}
	}
	return nil
}

// endsLine reports whether only space follows on the line. A closing tag that ends a line is meant as one; within a sentence it is
// only mentioned.
func endsLine(text string, at int) bool {
	line, _, _ := strings.Cut(text[at:], "\n")
	return lex.Blank(line)
}

// stray refuses edits in another form between the blocks: ignoring them would apply half of a change. An author who sends one file
// in tags and the next as a diff means both.
func (p *tagParser) stray(lo, hi int) error {
	if _, at := otherForm(p.text, lo, hi, p.tags); at >= 0 || holdsPatch(p.text, lo, hi, p.tags) {
		return mixedForms()
	}
	return nil
}

// bad refuses the response for the current block. Reading does not continue after it: if a block is not what it seems, neither are
// the blocks after it.
func (p *tagParser) bad(reason string) error {
	return problem.Refuse(problem.Problem{Block: len(p.ops) + 1, Kind: problem.KindParse, Reason: reason, Advice: formAdvice})
}

// cut refuses a response whose block does not end. The part that was read is never applied: its last line may be half a line.
func (p *tagParser) cut(name string) error {
	return problem.Refuse(problem.Problem{
		Block: len(p.ops) + 1, Kind: problem.KindTruncated, Reason: fmt.Sprintf("%s is opened and never closed: the response was cut off", name),
		Advice: "send the whole response again; send fewer blocks at a time when it was too long, or a unified diff when its text holds such tags",
	})
}

// edit reads <EDIT> … </EDIT> with one or more pairs.
//
// An unclosed EDIT refuses the response even if its pairs are complete: the response was cut off, and what should have followed is
// unknown.
func (p *tagParser) edit() error {
	open := p.tags[p.i]
	path, line := attrPath(open.attrs), attrLine(open.attrs)
	if p.i++; open.alone {
		return p.bad("EDIT without SEARCH and REPLACE")
	}
	if path == "" && p.i < len(p.tags) {
		path = pathLine(p.text[open.end:p.tags[p.i].start])
	}
	pairs := 0
	for ; p.i < len(p.tags); p.i++ {
		t := p.tags[p.i]
		switch {
		case t.name == "EDIT" && t.closes:
			if p.i++; pairs == 0 {
				return p.bad("EDIT without SEARCH and REPLACE")
			}
			return nil
		case t.name == "SEARCH" && !t.closes, t.name == "REPLACE" && !t.closes && pairs == 0:
			if err := p.pair(path); err != nil {
				return err
			}
			if op := p.ops[len(p.ops)-1]; pairs == 0 && op.Line == 0 {
				op.Line = line
			}
			pairs++
			p.i-- // the loop steps over the pair's last tag
		case t.line && !t.closes && !t.thinks():
			return p.cut("EDIT")
		}
	}
	return p.cut("EDIT")
}

// pair reads <SEARCH> … </SEARCH><REPLACE> … </REPLACE>. REPLACE alone, in an EDIT, is a pair with an empty SEARCH.
//
// The path on EDIT takes precedence over the one on SEARCH, which names the file of a bare pair:
// <SEARCH file="x">a</SEARCH><REPLACE>b</REPLACE> is an edit of x.
func (p *tagParser) pair(path string) error {
	op, search := &Operation{Kind: OpEdit, Path: path}, ""
	if open := p.tags[p.i]; open.name == "SEARCH" {
		if op.Path == "" {
			op.Path = attrPath(open.attrs)
		}
		op.Line = attrLine(open.attrs)
		body, err := p.body("SEARCH", func(next tag) bool { return next.name == "REPLACE" && !next.closes })
		if err != nil {
			return err
		}
		search = body
		if p.i == len(p.tags) {
			return p.cut("EDIT") // the response ends before REPLACE
		}
		if t := p.tags[p.i]; t.name != "REPLACE" || t.closes {
			return p.bad("SEARCH without REPLACE after it")
		}
	}
	body, err := p.body("REPLACE", func(next tag) bool {
		return next.name == "EDIT" || next.name == "SEARCH" && !next.closes || strings.HasSuffix(next.name, "FILE") && !next.closes
	})
	if err != nil {
		return err
	}
	plain, first := uncharacter(search)
	text, second := uncharacter(body)
	if (first || lex.Blank(search)) && (second || lex.Blank(body)) {
		search, body = plain, text
	}
	op.Search, op.Replace = SplitBody(tagBody(search)), SplitBody(tagBody(body))
	p.ops = append(p.ops, op)
	return nil
}

// body returns the text from the opening tag p.i to the tag that closes it, and steps past that. A body may mention its closing
// tag. Of the closing tags up to the next block, the end is the first that is directly followed by a tag which may follow, or else
// the first of all.
//
// The body of a REPLACE that documents this very form may well say "</REPLACE>" within a sentence. The tag after its own end
// identifies that end: the end of the EDIT, another pair or another block.
func (p *tagParser) body(name string, follows func(tag) bool) (string, error) {
	open, end := p.i, -1
	if p.tags[open].alone {
		p.i++
		return "", nil
	}
	for j := open + 1; j < len(p.tags); j++ {
		t := p.tags[j]
		if t.name == name && t.closes {
			if end < 0 {
				end = j
			}
			if j+1 < len(p.tags) && follows(p.tags[j+1]) && trivial(p.text[t.end:p.tags[j+1].start]) {
				end = j
				break
			}
		} else if end >= 0 && (t.line || t.name == "EDIT") || t.line && t.name == name {
			break // another block begins
		}
	}
	if end < 0 {
		return "", p.cut(name)
	}
	if err := p.nested(name, p.tags[open+1:end]); err != nil {
		return "", err
	}
	p.i = end + 1
	return p.text[p.tags[open].end:p.tags[end].start], nil
}

// nested refuses a body that holds block tags where blocks have them: it may as well be a block that was never closed. A whole file
// may hold any tags except its own.
//
// A REPLACE whose closing tag was forgotten extends to that of the next block. Taking the text between for a body would write tags
// into a file and lose a block, which is the worst that a parser can do here.
func (p *tagParser) nested(name string, inside []tag) error {
	for _, t := range inside {
		if strings.HasSuffix(name, "FILE") && t.name != name || t.name == "FILE" && t.name != name {
			continue // markup has FILE too
		}
		if t.name == "EDIT" || t.line && !t.thinks() {
			return p.bad(fmt.Sprintf("%s holds the tags of edit blocks itself, or is not closed: where it ends cannot be told", name))
		}
	}
	return nil
}

// uncharacter removes an XML character data section, <![CDATA[ … ]]>, that makes up a whole body: authors who take the tags for XML
// write their text in one.
func uncharacter(body string) (string, bool) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(body), "<![CDATA[")
	if !ok {
		return body, false
	}
	if inner, ok = strings.CutSuffix(inner, "]]>"); !ok || strings.Contains(inner, "]]>") {
		return body, false
	}
	return inner, true
}

// trivial reports whether only space and fences are between two tags.
//
// Some authors fence the pair within its EDIT; the fence then closes between </REPLACE> and </EDIT> and has no meaning.
func trivial(s string) bool {
	for _, l := range strings.Split(s, "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "```") {
			return false
		}
	}
	return true
}

// create reads <CREATE_FILE path> … </CREATE_FILE>, and FILE for a file that may exist.
//
// It removes a fence around the whole body, unless the file may begin and end with a fence of its own.
func (p *tagParser) create(name string, kind OpKind) error {
	op := &Operation{Kind: kind, Path: attrPath(p.tags[p.i].attrs)}
	body, err := p.body(name, func(tag) bool { return false })
	if err != nil {
		return err
	}
	if op.Path == "" {
		return p.bad(name + " without a path")
	}
	body, _ = uncharacter(body)
	lines := SplitBody(tagBody(body))
	if !lex.LanguageOf(op.Path).Fenced() {
		lines, _ = Unfence(lines)
	}
	op.Text = JoinLines(lines)
	p.ops = append(p.ops, op)
	return nil
}

// remove reads <DELETE_FILE path>, with or without a closing tag, or with the path as its body.
//
// It refuses text in it other than the path: that may be the content that the author wants removed, or the content of a file to
// create.
func (p *tagParser) remove() error {
	t := p.tags[p.i]
	op := &Operation{Kind: OpDelete, Path: attrPath(t.attrs)}
	p.i++
	if !t.alone && p.i < len(p.tags) && p.tags[p.i].name == "DELETE_FILE" && p.tags[p.i].closes {
		body := strings.TrimSpace(p.text[t.end:p.tags[p.i].start])
		p.i++
		if op.Path == "" {
			op.Path = body
		} else if body != "" && body != op.Path {
			return p.bad("DELETE_FILE with text in it")
		}
	}
	if op.Path == "" || strings.ContainsAny(op.Path, "\n\r") {
		return p.bad("DELETE_FILE without a path")
	}
	p.ops = append(p.ops, op)
	return nil
}

// rename reads <RENAME_FILE from to>, with or without a closing tag. "path" stands for the missing name, so
// <RENAME_FILE from="a" path="b"/> and <RENAME_FILE path="a" to="b"/> both rename a to b.
func (p *tagParser) rename() error {
	t := p.tags[p.i]
	op := &Operation{Kind: OpRename, From: attrValue(t.attrs, "from"), Path: attrValue(t.attrs, "to")}
	for _, name := range []*string{&op.From, &op.Path} {
		if *name == "" {
			*name = attrValue(t.attrs, "path")
		}
	}
	p.i++
	if !t.alone && p.i < len(p.tags) && p.tags[p.i].name == "RENAME_FILE" && p.tags[p.i].closes {
		if !lex.Blank(p.text[t.end:p.tags[p.i].start]) {
			return p.bad("RENAME_FILE with text in it")
		}
		p.i++
	}
	if op.From == "" || op.Path == "" || op.From == op.Path {
		return problem.Refuse(problem.Problem{
			Block: len(p.ops) + 1, Kind: problem.KindParse, Reason: `RENAME_FILE needs the two names "from" and "to"`,
			Advice: `send <RENAME_FILE from="OLD PATH" to="NEW PATH"/>`,
		})
	}
	p.ops = append(p.ops, op)
	return nil
}
