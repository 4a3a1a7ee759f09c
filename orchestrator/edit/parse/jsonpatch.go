package parse

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// jsonNames maps names, in lower case and without "_" and "-", to fields: tools agree on the fields of an edit, but not on their
// names. Two names of one field in one object are refused, and so is every unknown name: a field that means something must not be
// ignored.
var jsonNames = map[string]string{
	"path": "path", "file": "path", "filename": "path", "filepath": "path", "targetfile": "path",
	"from": "from", "oldpath": "from",
	"to": "to", "newpath": "to", "moveto": "to",
	"action": "action", "operation": "action", "command": "action", "op": "action",
	"type": "type", "edittype": "type",
	"content": "content", "contents": "content", "filetext": "content",
	"oldtext": "old", "oldstring": "old", "oldstr": "old", "old": "old", "search": "old", "find": "old", "anchor": "old",
	"newtext": "new", "newstring": "new", "newstr": "new", "new": "new", "replace": "new", "replacement": "new", "text": "new",
	"line": "line", "linenumber": "line", "startline": "line",
	"expected": "expected", "expectedtext": "expected",
	"replaceall": "all",
	"edits":      "list", "changes": "list", "operations": "list",
	"target": "target", // a path or a text: see jsonItem.aim
}

// jsonRemarks are an author's remarks next to the changes; they are ignored.
var jsonRemarks = []string{"commitmessage", "message", "thought", "summary", "description", "explanation", "reason", "reasoning", "comment"}

// plainName removes the separators that tools put between the words of a name.
var plainName = strings.NewReplacer("_", "", "-", "")

// parseJSON reads a JSON patch: an object, a list of objects, or an object with such a list. An object is a change of a whole file
// by its "action", a replacement by its old and new text, or an edit of one of the types in jsonForms. An object with a list passes
// its path to the objects in it.
//
// Old text is whole lines, as in every form: its final newline is optional, and empty new text removes the lines.
func parseJSON(text string) ([]*Operation, error) {
	v, end, err := readJSON(text, 0)
	if err != nil {
		return nil, refusal(err)
	}
	r := &jsonReader{text: text, at: end}
	if r.peek() != 0 {
		return nil, errAfterJSON()
	}
	p := &jsonParser{}
	err = p.document(v)
	return p.ops, err
}

// errAfterJSON refuses text after a patch: it may be a second patch, or prove that the first ended too early.
//
// Of two objects without a list around them only the first would be read.
func errAfterJSON() error {
	return problem.Refuse(problem.Problem{Kind: problem.KindParse, Reason: "text follows the JSON patch", Advice: "send one JSON document and nothing else"})
}

// A jsonParser collects the operations of a patch; last is the form that was tried last.
type jsonParser struct {
	ops  []*Operation
	last jsonForm
}

// document adds the operations of a whole patch. An empty object requests nothing, which is reported as for any response without
// edits.
func (p *jsonParser) document(v jsonValue) error {
	if v.kind == '{' && len(v.names) == 0 {
		return nil
	}
	if reason, path := p.value(v, ""); reason != "" {
		return problem.Refuse(problem.Problem{Block: len(p.ops) + 1, Path: path, Kind: problem.KindParse, Reason: reason, Advice: p.advice()})
	}
	return nil
}

// advice shows the form that the faulty item should have had, or all of JSON if that form is unknown.
func (p *jsonParser) advice() string {
	if p.last.show != "" {
		return "send " + p.last.show
	}
	return jsonAdvice
}

// value translates an object, or each object of a list. path is the path of the enclosing object, or "" if there is none. It
// returns what is wrong, and with which file.
//
// Objects and lists may hold one another: some tools write a list of files with a list of edits each, others one list with the path
// in every edit.
func (p *jsonParser) value(v jsonValue, path string) (reason, at string) {
	switch v.kind {
	case '[':
		for _, item := range v.items {
			if reason, at = p.value(item, path); reason != "" {
				return reason, at
			}
		}
		return "", ""
	case '{':
		p.last = jsonForm{}
		item, reason := newItem(v)
		if reason == "" {
			reason = item.aim(path)
		}
		if reason == "" {
			return p.item(item)
		}
		return reason, item["path"].text
	}
	return "the JSON patch is not valid: a change must be an object", path
}

// newItem sorts the fields of an object by their meaning. A null field counts as absent.
func newItem(v jsonValue) (jsonItem, string) {
	item := jsonItem{}
	for i, name := range v.names {
		plain := plainName.Replace(strings.ToLower(name))
		field := jsonNames[plain]
		switch _, twice := item[field]; {
		case slices.Contains(jsonRemarks, plain), v.items[i].kind == 'n' && field != "":
			continue
		case field == "":
			return item, fmt.Sprintf("the JSON patch is not valid: unknown field %q", problem.Clip(name, 80))
		case twice:
			return item, fmt.Sprintf("%q says what another field of the object says", name)
		}
		item[field] = v.items[i]
		if want := jsonKind(field); strings.IndexByte(want, v.items[i].kind) < 0 {
			return item, fmt.Sprintf("the JSON patch is not valid: %q has a value of the wrong kind", name)
		}
	}
	return item, ""
}

// jsonKind returns the kinds of value that a field may have. A number in quotes does not count as a number: its author may mean
// text.
func jsonKind(field string) string {
	switch field {
	case "line":
		return "0"
	case "all":
		return "tf"
	case "list":
		return "["
	}
	return `"`
}

// aim gives the item its path: its own, or the one of the enclosing object.
//
// "target" is the old text in some tools and the path in others. It is the path if nothing else is, and if either something else is
// the old text or no old text is needed.
func (item jsonItem) aim(path string) string {
	if target, ok := item["target"]; ok {
		as := "old"
		if !item.has("path") && (item.has("old") || item.has("list") || !item.has("type") && !item.has("new")) {
			as = "path"
		}
		if item.has(as) {
			return `"target" says what another field of the object says`
		}
		item[as] = target
		delete(item, "target")
	}
	if path == "" {
		return ""
	}
	if item.has("path") && item["path"].text != path {
		return "the change names another file than the object around it"
	}
	item["path"] = jsonValue{kind: '"', text: path}
	return ""
}

// item translates one object: it finds the form, checks that all required fields are there and no field outside the form, and lets
// the form make the operation.
func (p *jsonParser) item(item jsonItem) (reason, path string) {
	name, known := item.form()
	form, ok := jsonForms[name]
	path = item["path"].text
	switch {
	case len(item) == 0:
		return "a change has no path", ""
	case !known || !ok:
		if path == "" && !item.has("type") {
			return "a change has no path", path
		}
		return name, path
	}
	p.last = form
	for _, f := range form.needs {
		if !item.has(f) {
			return missing(name, f), path
		}
	}
	for _, f := range slices.Sorted(maps.Keys(item)) {
		if !slices.Contains(form.needs, f) && !slices.Contains(form.may, f) {
			return misplaced(name, f), path
		}
	}
	if form.make == nil {
		return p.value(item["list"], path)
	}
	op := &Operation{Kind: OpEdit, Path: path}
	if n := item["line"]; n.kind != 0 {
		line, err := strconv.Atoi(n.text)
		if err != nil || line < 1 {
			return "lines are counted from 1, and " + n.text + " is no line", path
		}
		op.Line = line
	}
	if form.make(item, op); slices.Contains(form.needs, "path") && op.Path == "" {
		return "a change has no path", path
	}
	if slices.Contains(form.needs, "expected") && lex.AllBlank(op.Search) {
		return `"expected" is blank, and blank lines stand everywhere: choose a line with text`, path
	}
	p.ops = append(p.ops, op)
	return "", ""
}

// missing says that a field is absent, naming the form if the reason needs it.
func missing(form, field string) string {
	switch field {
	case "path":
		return "a change has no path"
	case "content":
		return "the content is missing"
	case "expected":
		return form + ` must carry "expected", the text that stands at that line now: a number alone goes stale unseen`
	}
	return fmt.Sprintf("the %s has no %q", form, jsonSpelling[field])
}

// misplaced says that a field does not belong in the form. Ignoring it could leave out half of what the author meant.
//
// An edit with "to", for example, may also mean a rename, which none of its lines would do.
func misplaced(form, field string) string {
	switch {
	case field == "content" && (form == "delete" || form == "rename"):
		return "a delete or rename has no content; send the new content as a change of its own"
	case field == "from":
		return `"from" belongs to a rename, and to nothing else`
	}
	return fmt.Sprintf("the %s has %q, which means nothing there", form, jsonSpelling[field])
}
