package parse

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// maxThought bounds what Thought returns.
const maxThought = 4 << 10

// formAdvice shows the form to a model that used none.
const formAdvice = `send <EDIT file="PATH"><SEARCH>lines of the file</SEARCH><REPLACE>new lines</REPLACE></EDIT>, or a unified diff`

// Parse reads a response into operations. The form that begins first is the
// response's form; a second form after it is refused rather than left out.
//
// Parsing looks at the response alone. Whether a file exists, whether a path
// may be written and where a body stands is asked later, in that order.
func Parse(response []byte) ([]*Operation, error) {
	if len(response) > MaxResponse {
		return nil, problem.Refuse(problem.Problem{
			Kind: problem.KindRefused, Reason: fmt.Sprintf("the response has %d bytes, more than the %d that are read", len(response), MaxResponse),
			Advice: "send the change in several responses",
		})
	}
	if err := CrowdedResponse(linesIn(string(response)), len(response)); err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(string(response), lex.BOM)
	tags := scanTags(text)
	if len(tags) > maxTags {
		return nil, problem.Refuse(problem.Problem{Kind: problem.KindRefused, Reason: fmt.Sprintf("the response has more than %d tags", maxTags), Advice: "send the change in several responses"})
	}
	text = answer(text, tags)
	ops, err := parseForm(text)
	if err != nil {
		return nil, err
	}
	if len(ops) == 0 {
		return nil, noForm(text)
	}
	if len(ops) > MaxBlocks {
		return nil, problem.Refuse(TooMany(len(ops)))
	}
	for i, op := range ops {
		op.Block = i + 1
	}
	return ops, nil
}

// answer returns the text behind a thought that is closed but never opened, as
// of models whose prompt ends with the opening tag, when edits stand in it.
//
// They were weighed there, not sent. Where that text is not whole edits, the
// tag is more likely content of a block, or spoken of, and the text stays as it is.
func answer(text string, tags []tag) string {
	for _, t := range tags {
		switch {
		case !t.thinks():
			continue
		case t.closes && (t.line || endsLine(text, t.end)):
			if ops, err := parseForm(text[:t.start]); err == nil && len(ops) > 0 {
				return text[t.end:]
			}
		}
		return text
	}
	return text
}

// The forms that are told where they begin. JSON that is the whole response,
// and files under their names, are told otherwise: see parseForm.
const (
	tagsForm    = "tags"
	markersForm = "markers"
	diffForm    = "diff"
	patchForm   = "patch"
)

// parseForm tells the form and hands the text to its parser.
//
// JSON without a fence is told by its first character, since nothing may
// stand around it. The other forms are told by the first line or tag that
// begins one outside the author's thoughts: a diff may hold tags, and a block
// may hold a diff, and in both cases the outer form begins first. Files under
// their names come last: such fences stand beside edits in any form, to show
// something.
func parseForm(text string) ([]*Operation, error) {
	tags := scanTags(text)
	if body := unthought(text, tags); jsonStart.MatchString(body) {
		return parseJSON(body)
	}
	form, at := otherForm(text, 0, len(text), tags)
	if first := firstTag(text, tags); first >= 0 && (at < 0 || first < at) {
		form, at = tagsForm, first
	}
	ops, fault, done := parseFenced(text, tags, at)
	if done {
		return ops, fault
	}
	if name := quotedIn(text, at); name != "" {
		return nil, problem.Refuse(problem.Problem{
			Path: name, Kind: problem.KindParse, Reason: "the edits are inside a fence under the name of a file, after other text: whether they are its content cannot be told",
			Advice: "send edits outside of such fences, and a file that holds some with CREATE_FILE",
		})
	}
	switch form {
	case tagsForm:
		return parseTags(text, tags)
	case markersForm:
		return parseMarkers(text)
	case diffForm:
		return parseDiff(text[at:])
	case patchForm:
		return parsePatch(text[at:])
	}
	if ops, err := parseWhole(text, tags); len(ops) > 0 || err != nil {
		return ops, err
	}
	return nil, fault
}

// otherForm finds the first line of text[lo:hi] that begins conflict markers
// or a diff outside the author's thoughts; at is -1 when there is none.
func otherForm(text string, lo, hi int, tags []tag) (form string, at int) {
	for lo < hi {
		next := hi
		if i := strings.IndexByte(text[lo:hi], '\n'); i >= 0 {
			next = lo + i + 1
		}
		if form := beginning(text[lo:next], text[next:hi]); form != "" && !inThought(tags, lo) {
			return form, lo
		}
		lo = next
	}
	return "", -1
}

// beginning returns the form that a line begins, "" for none; rest is what follows it.
//
// A diff needs more than three dashes, which Markdown has too: the names of
// both files, or numbers after the "@@".
func beginning(line, rest string) string {
	if line == "" || strings.IndexByte("<d-@*", line[0]) < 0 {
		return ""
	}
	if kind, _ := patchLine(line); kind == patchBegin || kind == patchUpdate || kind == patchAdd || kind == patchDelete {
		return patchForm
	}
	if _, ok := marker(line[:len(strings.TrimRight(line, "\n"))], '<', " SEARCH"); ok {
		return markersForm
	}
	numbered := strings.HasPrefix(line, "@@ -") && len(line) > 4 && line[4] >= '0' && line[4] <= '9'
	if numbered || strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "--- ") && strings.HasPrefix(rest, "+++ ") {
		return diffForm
	}
	return ""
}

// noForm refuses a response in which no form was found.
//
// A response that ends within its thought was cut off by a limit of length,
// which is worth telling apart: asking again in the same way would end the
// same.
func noForm(text string) error {
	p := problem.Problem{Kind: problem.KindParse, Reason: "no edit found in the patch", Advice: formAdvice}
	switch tags := scanTags(text); {
	case strings.TrimSpace(text) == "":
		p.Reason = "the response is empty"
	case len(tags) > 0 && !tags[len(tags)-1].closes && tags[len(tags)-1].thinks():
		p.Kind, p.Reason, p.Advice = problem.KindTruncated, "the response ends within the thought, before any edit", "send the whole response again, shorter"
	}
	return problem.Refuse(p)
}

// Thought returns what the author of a response says about it: the body of
// THOUGHT without outer space, at most 4 KiB of it, "" when there is none.
//
// A thought that is not closed ends where the edits begin. It is meant for
// people and for the record; nothing else in the package reads it.
func Thought(response []byte) string {
	text := string(response)
	tags := scanTags(text)
	for i, t := range tags {
		if t.name != "THOUGHT" || t.closes {
			continue
		}
		end := len(text)
		for _, u := range tags[i+1:] {
			if u.closes == u.thinks() { // its own end, or the first tag of an edit
				end = u.start
				break
			}
		}
		return problem.Clip(strings.TrimSpace(text[t.end:end]), maxThought)
	}
	return ""
}

// Limits on what Apply reads. They bound the work, so that no response can
// hold up a run; a person's patch is far below all of them.
const (
	MaxResponse = 16 << 20 // bytes of a response
	MaxBlocks   = 2000     // operations of a response
)

// TooMany refuses a response of n operations.
//
// None of them is applied: the first few of many are a part of a change.
func TooMany(n int) problem.Problem {
	return problem.Problem{Kind: problem.KindRefused, Reason: fmt.Sprintf("%d blocks are more than the %d that are read at once", n, MaxBlocks), Advice: "send the change in several responses"}
}

// CrowdedResponse refuses a response of too many short lines before it is cut
// into any; nil when it is not one. An end of a line in JSON counts as one.
func CrowdedResponse(lines, size int) error {
	if !lex.Crowded(lines, size) {
		return nil
	}
	return problem.Refuse(problem.Problem{
		Kind: problem.KindRefused, Reason: fmt.Sprintf("the response has %d lines of %d bytes on average, more than are read at once", lines, size/lines),
		Advice: "send the change in several responses",
	})
}

// linesIn counts the line ends of a text, those that JSON escapes too.
func linesIn(text string) int { return strings.Count(text, "\n") + strings.Count(text, `\n`) }
