package parse

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// maxThought bounds the result of Thought, in bytes.
const maxThought = 4 << 10

// Parse reads a response into operations. The form that begins first is the response's form; a second form after it is refused, not
// ignored.
//
// Parse looks only at the response. Later steps check whether a file exists, whether a path may be written and where a body is
// found, in that order.
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

// answer returns the text after a thought that is closed but never opened, if the thought holds edits. Such thoughts come from
// models whose prompt ends with the opening tag.
//
// Those edits were considered, not sent. If the text before the tag is not complete edits, the tag is more likely content of a
// block, or only mentioned, and the text is returned unchanged.
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

// parseForm determines the form and passes the text to its parser.
//
// It recognizes JSON without a fence by its first character, since nothing may be around it. It recognizes the other forms by the
// first line or tag that begins one outside the author's thoughts: a diff may hold tags, and a block may hold a diff, and in both
// cases the outer form begins first. Files below their names come last: such fences appear next to edits in any form, as
// illustrations.
func parseForm(text string) ([]*Operation, error) {
	tags := scanTags(text)
	if body := afterThoughts(text, tags); jsonStart.MatchString(body) {
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
		return parseDiff(text[at:], fenceOpen(strings.Split(text[:at], "\n"), false))
	case patchForm:
		return parsePatch(text[at:])
	}
	if ops, err := parseWhole(text, tags); len(ops) > 0 || err != nil {
		return ops, err
	}
	return nil, fault
}

// noForm refuses a response in which no form was found.
//
// A response that ends within its thought was cut off by a length limit. That is worth its own reason: repeating the request
// unchanged would end the same way.
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

// Thought returns what the author of a response says about it: at most 4 KiB of the body of THOUGHT without outer space, or "" if
// there is none.
//
// An unclosed thought ends where the edits begin. The result is meant for people and for the record; nothing else in the package
// reads it.
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
