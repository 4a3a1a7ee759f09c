package parse

import (
	"sort"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace/lazyregexp"
)

// The beginnings of a JSON patch, without a fence and in one. "[//]" begins a Markdown comment.
var (
	jsonStart = lazyregexp.New(`^(?:\[\s*(?:[{\]]|/[/*][^\]])|\{\s*(?:["}]|/[/*]))`)
	jsonFence = lazyregexp.New("(?mi)^(?:```+|~~~+)(?:json[c5]?)?[ \t]*\r?\n\\s*(?:\ufeff\\s*)?(?:\\[\\s*(?:\\{|/[/*][^\\]])|\\{\\s*(?:\"|/[/*]))")
)

// parseFenced reads the JSON patches in fences, if the first of them begins before any other form, which would begin at offset at.
// done says that the response is JSON, or is definitely at fault.
//
// JSON in prose is often an example and not a patch. parseFenced skips a fence that it cannot read as a patch if it has read none
// before, another form follows, and the fence was not cut off. If nothing follows, the fault of that fence is the fault of the
// response.
func parseFenced(text string, tags []tag, at int) (ops []*Operation, fault error, done bool) {
	p, end := &jsonParser{}, 0
	for _, loc := range jsonFence.FindAllStringIndex(text, -1) {
		start := loc[0]
		if start < end || inThought(tags, start) {
			continue
		}
		if len(p.ops) == 0 && at >= 0 && at < start {
			break
		}
		stop, err := p.fence(text, start)
		named := nameAbove(text, start)
		switch {
		case err == nil && stop < 0:
			continue // a value without any change
		case err == nil && named != "":
			return nil, problem.Refuse(problem.Problem{
				Path: named, Kind: problem.KindParse, Reason: "a JSON patch follows the name of a file: whether it is the content of this file cannot be told",
				Advice: `put the path into the JSON as "path", or send the file with CREATE_FILE`,
			}), true
		case err == nil:
			if len(ops) > 0 && begins(text, end, start, tags) {
				return nil, mixedForms(), true
			}
			ops, end = p.ops, stop
		case cutOff(err) || len(ops) > 0 || at > start && at < closing(text, text[start:start+3], loc[1]):
			return nil, refusal(err), true
		case fault == nil && named == "":
			fault = err
		}
	}
	switch {
	case len(ops) == 0:
		return nil, refusal(fault), false
	case begins(text, end, len(text), tags):
		return nil, mixedForms(), true
	}
	return ops, nil, true
}

// fence reads the JSON in the fence that begins at offset start. It returns the offset at which the closing line begins, or -1 if
// the value holds no change.
//
// The value ends where its brackets close, not at the next fence line: a string may hold such a line.
func (p *jsonParser) fence(text string, start int) (int, error) {
	line := length(text[start:], "\n")
	v, stop, err := readJSON(text, start+line)
	if err != nil {
		return 0, err
	}
	n := len(p.ops)
	if err := p.document(v); err != nil {
		p.ops = p.ops[:n]
		return 0, err
	}
	if len(p.ops) == n {
		return -1, nil
	}
	r := &jsonReader{text: text, at: stop}
	if c := r.peek(); c != 0 && c != text[start] {
		return 0, errAfterJSON()
	}
	return r.at, nil
}

// closing returns the offset, after from, at which the first line with the mark of a fence begins, or the end of the text if there
// is none. A Markdown reader would end the fence there, whatever the JSON in it says.
func closing(text, mark string, from int) int {
	if i := strings.Index(text[from:], "\n"+mark); i >= 0 {
		return from + i
	}
	return len(text)
}

// begins reports whether an edit in a form other than JSON begins in text[lo:hi], outside thoughts. The JSON itself is outside that
// range, and its contents are text.
func begins(text string, lo, hi int, tags []tag) bool {
	if _, at := otherForm(text, lo, hi, tags); at >= 0 {
		return true
	}
	i := sort.Search(len(tags), func(i int) bool { return tags[i].start >= lo })
	for ; i < len(tags) && tags[i].start < hi; i++ {
		if opens(text, tags, i) {
			return true
		}
	}
	return false
}

// holdsPatch reports whether text[lo:hi], the prose around edits in another form, holds a fence with a JSON patch outside thoughts.
//
// An incomplete patch counts too: half of a change would be left out either way.
func holdsPatch(text string, lo, hi int, tags []tag) bool {
	text = text[:hi]
	for _, loc := range jsonFence.FindAllStringIndex(text[lo:], -1) {
		if inThought(tags, lo+loc[0]) {
			continue
		}
		p := &jsonParser{}
		if stop, err := p.fence(text, lo+loc[0]); err == nil && stop >= 0 || cutOff(err) {
			return true
		}
	}
	return false
}

// afterThoughts returns the text after its leading thoughts.
func afterThoughts(text string, tags []tag) string {
	at := 0
	for i := 0; i < len(tags) && tags[i].skip && tags[i].thinks() && lex.Blank(text[at:tags[i].start]); i++ {
		name := tags[i].name
		for i++; tags[i].name != name || !tags[i].closes; i++ { // a skipped thought always has its end
		}
		at = tags[i].end
	}
	return strings.TrimSpace(text[at:])
}

// quotedIn returns the name of the file whose fence holds the offset after other text, or "" if there is none. An edit there is
// more likely part of a text about edits than an edit.
func quotedIn(text string, at int) string {
	name, open, body := "", "", 0
	for pos := 0; pos < at; {
		start := pos
		pos += length(text[pos:], "\n")
		mark, info := fenceLine(strings.TrimRight(text[start:pos], "\r\n"))
		switch {
		case mark == "":
		case open == "":
			name, open, body = nameAbove(text, start), mark, pos
			if fencesChange(info, name) {
				name = "" // the name says which file is changed
			}
		case info == "" && strings.HasPrefix(mark, open):
			open = ""
		}
	}
	if open == "" || body >= at || lex.Blank(text[body:at]) {
		return ""
	}
	return name
}
