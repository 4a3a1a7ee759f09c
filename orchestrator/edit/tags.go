package edit

import (
	"fmt"
	"regexp"
	"strings"
)

// A tagParser reads the block form: a walk over the tags, which carries the
// text between them into operations.
//
// Text outside the blocks is the author's prose. It is passed over, unless a
// tag there closes nothing or another form begins in it: both are signs that
// a block ended elsewhere than its author thought.
type tagParser struct {
	text string
	tags []tag
	i    int // the next tag
	ops  []*operation
	rest int // where the text after the last block begins
}

// parseTags reads a response in the block form.
func parseTags(text string, tags []tag) ([]*operation, error) {
	p := &tagParser{text: text, tags: tags}
	for p.i < len(tags) {
		if t := tags[p.i]; !opens(text, tags, p.i) {
			if p.i++; t.closes && !t.skip && !t.thinks() && (t.line || endsLine(text, t.end)) {
				return nil, refuse(Problem{Block: len(p.ops), Kind: kindParse, Reason: fmt.Sprintf("</%s> closes nothing: where the block before it ends cannot be told", t.name), Advice: formAdvice})
			}
			continue
		}
		if err := p.stray(p.rest, tags[p.i].start); err != nil {
			return nil, err
		}
		var err error
		switch tags[p.i].name {
		case "EDIT":
			err = p.edit()
		case "SEARCH":
			err = p.pair("")
		case "CREATE_FILE":
			err = p.create()
		case "DELETE_FILE":
			err = p.remove()
		default:
			err = p.bad("REPLACE without a SEARCH before it")
		}
		if err != nil {
			return nil, err
		}
		p.rest = p.tags[p.i-1].end
	}
	if err := p.stray(p.rest, len(text)); err != nil {
		return nil, err
	}
	return p.ops, nil
}

// endsLine reports whether only space follows on the line.
func endsLine(text string, at int) bool {
	line, _, _ := strings.Cut(text[at:], "\n")
	return blank(line)
}

// stray refuses edits in another form between the blocks: to leave them out
// would apply half of a change.
func (p *tagParser) stray(lo, hi int) error {
	if _, at := otherForm(p.text, lo, hi, p.tags); at >= 0 {
		return mixed()
	}
	return nil
}

// mixed refuses a response with edits in two forms.
func mixed() error {
	return refuse(Problem{Kind: kindParse, Reason: "the response mixes two forms of edit", Advice: "send the whole change in one form"})
}

// bad refuses the response for the block that is being read.
func (p *tagParser) bad(reason string) error {
	return refuse(Problem{Block: len(p.ops) + 1, Kind: kindParse, Reason: reason, Advice: formAdvice})
}

// cut refuses a response whose block does not end.
func (p *tagParser) cut(name string) error {
	return refuse(Problem{
		Block: len(p.ops) + 1, Kind: kindTruncated, Reason: fmt.Sprintf("%s is opened and never closed: the response was cut off", name),
		Advice: "send the whole response again; send fewer blocks at a time when it was too long",
	})
}

// edit reads <EDIT> … </EDIT> with one or more pairs.
//
// An EDIT that is not closed refuses the response even when its pairs are
// complete: the response was cut off, and nobody knows what should have
// followed.
func (p *tagParser) edit() error {
	open := p.tags[p.i]
	path := attrPath(open.attrs)
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
			pairs++
			p.i-- // the loop steps over the pair's last tag
		case t.line && !t.closes && !t.thinks():
			return p.cut("EDIT")
		}
	}
	return p.cut("EDIT")
}

// pair reads <SEARCH> … </SEARCH><REPLACE> … </REPLACE>. REPLACE alone, in
// an EDIT, is a pair with an empty SEARCH.
func (p *tagParser) pair(path string) error {
	op := &operation{kind: opEdit, path: path}
	if open := p.tags[p.i]; open.name == "SEARCH" {
		if op.path == "" {
			op.path = attrPath(open.attrs)
		}
		body, err := p.body("SEARCH", func(next tag) bool { return next.name == "REPLACE" && !next.closes })
		if err != nil {
			return err
		}
		op.search = splitBody(tagBody(body))
		if p.i == len(p.tags) {
			return p.cut("EDIT") // the response ends before REPLACE
		}
		if t := p.tags[p.i]; t.name != "REPLACE" || t.closes {
			return p.bad("SEARCH without REPLACE after it")
		}
	}
	body, err := p.body("REPLACE", func(next tag) bool {
		return next.name == "EDIT" || next.name == "SEARCH" && !next.closes || next.name == "CREATE_FILE" || next.name == "DELETE_FILE"
	})
	if err != nil {
		return err
	}
	op.replace = splitBody(tagBody(body))
	p.ops = append(p.ops, op)
	return nil
}

// body returns the text from the opening tag p.i to the tag that closes it,
// and steps behind that. A body may speak of its closing tag: of those up to
// the next block, the first that is followed at once by a tag which may follow
// is the end; else the first of all.
//
// The body of a REPLACE that documents this very form may well say
// "</REPLACE>" within a sentence. Its own end is told by what follows: the
// end of the EDIT, another pair or another block.
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

// nested refuses a body that holds the tags of blocks where blocks have
// them: it may as well be a block that was never closed. A whole file may hold
// any but its own.
//
// A REPLACE whose closing tag was forgotten runs on to that of the next
// block. To take the text between for a body would write tags into a file
// and lose a block, which is the worst that a parser can do here.
func (p *tagParser) nested(name string, inside []tag) error {
	for _, t := range inside {
		if name == "CREATE_FILE" && t.name != name {
			continue
		}
		if t.name == "EDIT" || t.line && !t.thinks() {
			return p.bad(fmt.Sprintf("%s holds the tags of edit blocks itself, or is not closed: where it ends cannot be told", name))
		}
	}
	return nil
}

// trivial reports whether only space and fences stand between two tags.
func trivial(s string) bool {
	for _, l := range strings.Split(s, "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "```") {
			return false
		}
	}
	return true
}

// create reads <CREATE_FILE path> … </CREATE_FILE>.
func (p *tagParser) create() error {
	op := &operation{kind: opCreate, path: attrPath(p.tags[p.i].attrs)}
	body, err := p.body("CREATE_FILE", func(tag) bool { return false })
	if err != nil {
		return err
	}
	if op.path == "" {
		return p.bad("CREATE_FILE without a path")
	}
	lines := splitBody(tagBody(body))
	if !languageOf(op.path).fenced() {
		lines, _ = unfence(lines)
	}
	op.text = joinLines(lines)
	p.ops = append(p.ops, op)
	return nil
}

// remove reads <DELETE_FILE path>, with or without an end, or with the path as its body.
func (p *tagParser) remove() error {
	t := p.tags[p.i]
	op := &operation{kind: opDelete, path: attrPath(t.attrs)}
	p.i++
	if !t.alone && p.i < len(p.tags) && p.tags[p.i].name == "DELETE_FILE" && p.tags[p.i].closes {
		body := strings.TrimSpace(p.text[t.end:p.tags[p.i].start])
		p.i++
		if op.path == "" {
			op.path = body
		} else if body != "" && body != op.path {
			return p.bad("DELETE_FILE with text in it")
		}
	}
	if op.path == "" || strings.ContainsAny(op.path, "\n\r") {
		return p.bad("DELETE_FILE without a path")
	}
	p.ops = append(p.ops, op)
	return nil
}

// attrPattern finds one attribute of a tag: a name and a value, quoted or not.
var attrPattern = regexp.MustCompile(`([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))`)

// attrPath returns the path among a tag's attributes: that of a known name,
// or a lone word.
//
// Attributes of other names, such as a line number, are read over.
func attrPath(attrs string) string {
	all := attrPattern.FindAllStringSubmatch(attrs, -1)
	for _, m := range all {
		switch strings.ToLower(m[1]) {
		case "file", "path", "filename", "name", "file_path", "filepath":
			return strings.TrimSpace(m[2] + m[3] + m[4])
		}
	}
	if len(all) > 0 {
		return ""
	}
	return strings.Trim(strings.TrimSpace(attrs), `"'`)
}

// pathLine returns the path that a line or two of text name, "" when they
// are anything else: the last line that is not a fence must be one word with
// a dot or slash in it.
//
// Models put the name above a block in many dresses: "shop/stock.py",
// "**shop/stock.py**", "# shop/stock.py", "File: `shop/stock.py`:".
func pathLine(s string) string {
	for _, l := range backwards(strings.Split(s, "\n")) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "```") {
			continue
		}
		l = strings.TrimSpace(strings.TrimLeft(l, "#*"))
		for _, head := range []string{"file:", "path:", "filename:", "// "} {
			if len(l) > len(head) && strings.EqualFold(l[:len(head)], head) {
				l = strings.TrimSpace(l[len(head):])
			}
		}
		l = strings.Trim(l, "`*:\"' \t")
		if l == "" || strings.ContainsAny(l, " \t<>|()") || !strings.ContainsAny(l, "./") {
			return ""
		}
		return l
	}
	return ""
}

// backwards returns the lines, last first.
func backwards(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[len(lines)-1-i] = l
	}
	return out
}
