package parse

import (
	"fmt"
	"slices"
	"strings"
)

// jsonSpelling maps the fields of jsonNames to their spelling in the advice.
var jsonSpelling = map[string]string{
	"path": "path", "from": "from", "to": "to", "action": "action", "type": "type", "content": "content", "old": "oldText",
	"new": "newText", "line": "line", "expected": "expected", "all": "replace_all", "list": "edits", "target": "target",
}

// The optional fields of every change of a whole file, and of every edit: those that chose the form, and the path where the edit
// does not need one.
var (
	fileFields = []string{"action"}
	editFields = []string{"path", "action", "type"}
)

// lineForm is an example of the edits by line number.
const lineForm = `{"path":"PATH","edits":[{"type":"replace_line|insert_at_line","line":12,"expected":"the text of line 12 now","content":"new lines"}]}`

// jsonForms are the changes and edits that JSON can express. In edits "content" has become "new" before the lookup.
//
// An edit by line must carry the text of that line. The text decides where it goes, and the number only chooses between equal
// lines: nothing else would reveal a stale number.
var jsonForms = map[string]jsonForm{
	"list":   {needs: []string{"list"}, may: []string{"path", "action"}},
	"create": {needs: []string{"path", "content"}, may: fileFields, make: wholeFile(OpCreate)},
	"modify": {needs: []string{"path", "content"}, may: fileFields, make: wholeFile(OpWhole)},
	"write":  {needs: []string{"path", "content"}, may: fileFields, make: wholeFile(OpWrite)},
	"delete": {needs: []string{"path"}, may: fileFields, make: wholeFile(OpDelete)},
	"rename": {needs: []string{"path", "from"}, may: fileFields, make: wholeFile(OpRename)},

	"replace": {needs: []string{"old", "new"}, may: append([]string{"line", "all"}, editFields...), make: func(item jsonItem, op *Operation) {
		op.Search, op.Replace = item.lines("old"), item.lines("new")
		op.Every = item["all"].kind == 't'
	}},
	"insert_before": {needs: []string{"old", "new"}, may: append([]string{"line"}, editFields...), make: func(item jsonItem, op *Operation) {
		op.Insert(item.lines("old"), item.lines("new"), true)
	}},
	"insert_after": {needs: []string{"old", "new"}, may: append([]string{"line"}, editFields...), make: func(item jsonItem, op *Operation) {
		op.Insert(item.lines("old"), item.lines("new"), false)
	}},
	"replace_line": {needs: []string{"line", "expected", "new"}, may: editFields, show: lineForm, make: func(item jsonItem, op *Operation) {
		op.Search, op.Replace = item.lines("expected"), item.lines("new")
	}},
	"insert_at_line": {needs: []string{"line", "expected", "new"}, may: editFields, show: lineForm, make: func(item jsonItem, op *Operation) {
		op.Insert(item.lines("expected"), item.lines("new"), true)
	}},
	"append": {needs: []string{"new"}, may: editFields, make: func(item jsonItem, op *Operation) {
		op.Kind, op.Replace = OpAppend, item.lines("new")
	}},
	"prepend": {needs: []string{"new"}, may: editFields, make: func(item jsonItem, op *Operation) {
		op.Kind, op.Replace = OpPrepend, item.lines("new")
	}},
	"full_replace": {needs: []string{"new"}, may: editFields, make: func(item jsonItem, op *Operation) {
		op.Kind, op.Text = OpWhole, item["new"].text
	}},
}

// wholeFile makes a change of a whole file. It takes content byte for byte, which no other form can provide.
func wholeFile(kind OpKind) func(jsonItem, *Operation) {
	return func(item jsonItem, op *Operation) {
		op.Kind, op.From, op.Text = kind, item["from"].text, item["content"].text
	}
}

// lines returns a text as a body. The body distinguishes removing lines from adding them: "" is no line, "\n" a blank one.
func (item jsonItem) lines(field string) []string { return SplitBody(item[field].text) }

// Insert makes op the edit that puts lines before or after an anchor, which stays.
//
// It is the block that an author with only SEARCH and REPLACE would write: the anchor is matched like any lines, and keeps the
// bytes of the file.
func (op *Operation) Insert(anchor, lines []string, before bool) {
	op.Search, op.Replace = anchor, slices.Concat(anchor, lines)
	if before {
		op.Replace = slices.Concat(lines, anchor)
	}
}

// jsonActions are other names of the actions. A type of edit may also be given as the action: some tools have only one field for
// both.
var jsonActions = map[string]string{
	"update": "modify", "overwrite": "write", "remove": "delete", "move": "rename", "str_replace": "replace",
}

// form returns what an object means: its list, its type of edit, its old and new text, or else its action. If it means nothing,
// name is the reason.
func (item jsonItem) form() (name string, ok bool) {
	action := strings.ToLower(item["action"].text)
	if other := jsonActions[action]; other != "" {
		action = other
	}
	kind := strings.ReplaceAll(strings.ToLower(item["type"].text), "-", "_")
	if editType(action) && kind == "" {
		kind = action
	}
	switch {
	case action != "" && action != "modify" && action != "edit" && action != kind:
		// a change of a whole file
	case item.has("list"):
		return "list", true
	case kind != "":
		item.retype(kind)
		if !editType(kind) {
			return fmt.Sprintf("the type %q is none of replace, insert_before, insert_after, append, prepend, full_replace, replace_line and insert_at_line", item["type"].text), false
		}
		return kind, true
	case item.has("old") || item.has("new"):
		return "replace", true
	case action == "edit":
		return `the edit has neither "oldText" and "newText" nor a "type"`, false
	}
	if f, known := jsonForms[action]; !known || f.make == nil {
		return fmt.Sprintf("the action %q is none of create, modify, delete and rename", item["action"].text), false
	}
	if action == "rename" && item.has("to") && (!item.has("from") || !item.has("path")) {
		item.rename("path", "from")
		item.rename("to", "path")
	}
	return action, true
}

// editType reports whether name is a type of edit. Unlike a change of a whole file, an edit does not need a path.
func editType(name string) bool {
	f, known := jsonForms[name]
	return known && f.make != nil && f.needs[0] != "path"
}

// retype gives the fields the names that jsonForms uses: "content" is the new text of an edit, and the old text of an edit by line
// is the expected text.
func (item jsonItem) retype(kind string) {
	item.rename("content", "new")
	if strings.HasSuffix(kind, "_line") {
		item.rename("old", "expected")
	}
}

// rename moves a field to another name, unless that name is taken.
func (item jsonItem) rename(from, to string) {
	if v, ok := item[from]; ok && !item.has(to) {
		item[to] = v
		delete(item, from)
	}
}

// A jsonForm says which fields an item must have and may have, and makes the operation from it. If "path" is not needed it may be
// absent: then the target of the run, or the one file that holds the lines, is meant.
type jsonForm struct {
	needs, may []string
	show       string // the form as an example, for the advice
	make       func(item jsonItem, op *Operation)
}

// A jsonItem is one object of a patch, by the fields that jsonNames knows.
type jsonItem map[string]jsonValue

// has reports whether the object has the field. It distinguishes an empty text from an absent one, since new text may be empty.
func (item jsonItem) has(field string) bool { _, ok := item[field]; return ok }
