package parse

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/problem"
)

// firstProblem returns the first problem of a refusal, or an empty one for any other error and for nil.
func firstProblem(err error) problem.Problem {
	var r *problem.Refusal
	if errors.As(err, &r) {
		return r.Problems[0]
	}
	return problem.Problem{}
}

// The names of attributes are not case-sensitive; values are.
func TestAnAttributeIsFoundByItsNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attrs string
		names []string
		want  string
	}{
		{``, []string{"to"}, ""},
		{`to=y`, nil, ""},
		{`to=y`, []string{"to"}, "y"},
		{`TO=Y`, []string{"to"}, "Y"},
		{`to = "a b"`, []string{"to"}, "a b"},
		{`to=' y '`, []string{"to"}, "y"},
		{`from=x to=y`, []string{"to"}, "y"},
		{`to=y from=x`, []string{"from", "to"}, "y"}, // the order in the tag counts
		{`into=y`, []string{"to"}, ""},               // only the whole name counts
		{`line-to=y`, []string{"to"}, ""},
		{`to="" to=y`, []string{"to"}, ""}, // the first of two, although empty
		{`note="to=z" to=y`, []string{"to"}, "y"},
	} {
		if got := attrValue(c.attrs, c.names...); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.attrs, c.names, got, c.want)
		}
	}
}

func TestALineIsReadFromAttributes(t *testing.T) {
	t.Parallel()
	for attrs, want := range map[string]int{
		``:                               0,
		`line="12"`:                      12,
		`line=12`:                        12,
		`lines="12-20"`:                  12,
		`lines='12, 20'`:                 12,
		`start_line="7" end_line="9"`:    7,
		`STARTLINE=7`:                    7,
		`start=7`:                        7,
		`end_line="9"`:                   0,
		`line="about 12"`:                0,
		`line="-3"`:                      0,
		`line=""`:                        0,
		`file="line=4"`:                  0,
		`line="99999999999999999999"`:    0, // too large for any file
		`file="a.py" line="3" lines="4"`: 3,
	} {
		if got := attrLine(attrs); got != want {
			t.Errorf("%s: %d, want %d", attrs, got, want)
		}
	}
}

func TestANameLosesWhatStandsAroundIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Makefile":           "Makefile",
		"**Makefile**":       "Makefile",
		"## Makefile":        "Makefile",
		"FILE: Makefile":     "Makefile",
		"path: `a b.txt`":    "a b.txt",
		"filename:x":         "x",
		"// x.js":            "x.js",
		"//x.js":             "//x.js", // without the space it is not a comment
		"'x.py':":            "x.py",
		"file:":              "file", // nothing follows the word: it is the name
		"profile: x":         "profile: x",
		"# File: **a/b.py**": "a/b.py",
		"```":                "",
		"***":                "",
	} {
		if got := Undressed(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// The lines that begin and end a patch must be complete lines; lines that name a file have the name after the marker. Space at the end is
// ignored; space at the start makes it a line of text.
func TestLinesThatHeadAPatch(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"*** Begin Patch":             {patchBegin, ""},
		"*** Begin Patch \t\r\n":      {patchBegin, ""},
		"*** End Patch":               {patchEnd, ""},
		"*** End of File\r":           {patchEOF, ""},
		"*** Update File: a.py":       {patchUpdate, "a.py"},
		"*** Update File:a.py":        {patchUpdate, "a.py"},
		"*** Update File:":            {patchUpdate, ""},
		"*** Add File:  a b.py  ":     {patchAdd, "a b.py"},
		"*** Delete File: a: b":       {patchDelete, "a: b"},
		"*** Move to: b/c":            {patchMove, "b/c"},
		" *** Begin Patch":            {},
		"+*** End Patch":              {},
		"*** Begin Patch now":         {},
		"*** begin patch":             {},
		"*** Update Files: a.py":      {},
		"** Update File: a.py":        {},
		"*** Delete File a.py":        {},
		"see *** Update File: a.py":   {},
		"*** Begin Patch *** Add it:": {},
	} {
		if kind, path := patchLine(in); kind != want[0] || path != want[1] {
			t.Errorf("%q: %q of %q, want %q", in, kind, path, want)
		}
	}
}

func TestALineOfTheFileOnASectionLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"@@":                             "",
		"@@ @@":                          "",
		"@@ class A:":                    "class A:",
		"@@class A:":                     "class A:",
		"@@ class A: @@":                 "class A:",
		"@@   def f(a): \r":              "def f(a):",
		"@@ -1,2 +1,2 @@":                "",
		"@@ -1,2 +1,2 @@ class A:":       "class A:",
		"@@ -1 +1 @@ x = \"@@\"":         `x = "@@"`,
		"@@ type T struct { // at @ one": "type T struct { // at @ one",
	} {
		if got := sectionLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// The error of a broken patch names the operation, and shows what to write instead.
func TestAPatchAtFaultSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	const del = "*** Delete File: x\n"
	for _, c := range []struct {
		body           string // between the lines that begin and end a patch
		block          int
		reason, advice string
	}{
		{"", 1, "the patch changes no file", "name a file"},
		{del + "*** Add File:\n", 3, "should name a file", "write *** Add File: PATH"},
		{"*** Update File: y\n", 1, "changes nothing in it", "leave the file out"},
		{del + "*** Update File: y\n", 2, "changes nothing in it", "leave the file out"},
		{"*** Update File: y\n@@ f()\n", 1, "the chunk has no lines", "up to *** End Patch"},
		{"*** Update File: y\nk\n", 1, `line "k" is not valid at this place of the patch`, "begin every line of a chunk"},
		{del + "and\n", 2, `line "and" is not valid at this place of the patch`, "every line of a new file with +"},
		{"*** End of File\n", 1, "is not valid at this place of the patch", "begin every line of a chunk"},
	} {
		_, err := parsePatch(patchBegin + "\n" + c.body + patchEnd + "\n")
		p := firstProblem(err)
		if p.Block != c.block || !strings.Contains(p.Reason, c.reason) || !strings.Contains(p.Advice, c.advice) {
			t.Errorf("%q: %+v, want block %d, %q, %q", c.body, p, c.block, c.reason, c.advice)
		}
	}
}

// itemOf reads one object as an item; an error ends the test.
func itemOf(t *testing.T, text string) jsonItem {
	t.Helper()
	v, _, err := readJSON(text, 0)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	item, reason := newItem(v)
	if reason != "" {
		t.Fatalf("%s: %s", text, reason)
	}
	return item
}

// An object's form is known from its list, its type, its old and new text, or its action. If it is unknown, the reason quotes what was
// written.
func TestAnObjectTellsItsForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		object, want string
		ok           bool
	}{
		{`{"path":"x","edits":[]}`, "list", true},
		{`{"path":"x","action":"modify","edits":[]}`, "list", true},
		{`{"path":"x","action":"delete","edits":[]}`, "delete", true},
		{`{"oldText":"a"}`, "replace", true},
		{`{"newText":"a"}`, "replace", true},
		{`{"action":"edit","oldText":"a","newText":"b"}`, "replace", true},
		{`{"command":"str_replace","oldText":"a"}`, "replace", true},
		{`{"action":"INSERT-AFTER"}`, "the action \"INSERT-AFTER\" is none of", false},
		{`{"action":"insert_after"}`, "insert_after", true},
		{`{"type":"INSERT-AFTER"}`, "insert_after", true},
		{`{"type":"append","action":"append"}`, "append", true},
		{`{"type":"append","action":"edit"}`, "append", true},
		{`{"type":"append","action":"modify"}`, "append", true},
		{`{"type":"append","action":"create"}`, "create", true},
		{`{"type":"swap"}`, `the type "swap" is none of`, false},
		{`{"type":"create"}`, `the type "create" is none of`, false},
		{`{"action":"edit"}`, `the edit has neither "oldText"`, false},
		{`{"action":"Update"}`, "modify", true},
		{`{"action":"overwrite"}`, "write", true},
		{`{"action":"remove"}`, "delete", true},
		{`{"action":"move"}`, "rename", true},
		{`{"action":"list"}`, `the action "list" is none of`, false},
		{`{"action":"Destroy"}`, `the action "Destroy" is none of`, false},
	} {
		got, ok := itemOf(t, c.object).form()
		if ok != c.ok || !strings.HasPrefix(got, c.want) || ok && got != c.want {
			t.Errorf("%s: %q, %v, want %q, %v", c.object, got, ok, c.want, c.ok)
		}
	}
}

// "target" is the path if the object needs one, and the old text otherwise.
func TestATargetIsAPathOrAText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ object, around, path, old, reason string }{
		{`{"target":"x","old":"a","new":"b"}`, "", "x", "a", ""},
		{`{"target":"a","new":"b"}`, "", "", "a", ""},
		{`{"target":"x","action":"delete"}`, "", "x", "", ""},
		{`{"target":"a","type":"insert_after","content":"b"}`, "", "", "a", ""},
		{`{"target":"x","edits":[]}`, "", "x", "", ""},
		{`{"target":"a","path":"x","new":"b"}`, "", "x", "a", ""},
		{`{"target":"a","new":"b"}`, "x", "x", "a", ""},
		{`{"target":"a","path":"x","old":"b"}`, "", "x", "b", `"target" says what another field`},
		{`{"path":"x","old":"a"}`, "x", "x", "a", ""},
		{`{"path":"y","old":"a"}`, "x", "y", "a", "the change names another file than the object around it"},
	} {
		item := itemOf(t, c.object)
		reason := item.aim(c.around)
		if !strings.HasPrefix(reason, c.reason) || (reason == "") != (c.reason == "") || item["path"].text != c.path || item["old"].text != c.old {
			t.Errorf("%s in %q: path %q, old %q, %q; want %+v", c.object, c.around, item["path"].text, item["old"].text, reason, c)
		}
	}
}

// No field is ignored. A missing or meaningless one is named as the advice spells it, and of several faults always the same one is
// reported.
func TestFieldsOutOfPlaceAreNamed(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`{"path":"x","oldText":"a"}`:                                               `the replace has no "newText"`,
		`{"path":"x","newText":"a"}`:                                               `the replace has no "oldText"`,
		`{"path":"x","type":"append"}`:                                             `the append has no "newText"`,
		`{"path":"x","type":"append","newText":"a","oldText":"b"}`:                 `the append has "oldText", which means nothing there`,
		`{"path":"x","type":"append","newText":"a","replace_all":true}`:            `the append has "replace_all", which means nothing there`,
		`{"path":"x","action":"delete","content":"a"}`:                             "a delete or rename has no content",
		`{"path":"x","action":"delete","from":"a"}`:                                `"from" belongs to a rename`,
		`{"path":"x","action":"rename"}`:                                           `the rename has no "from"`,
		`{"path":"x","action":"delete","line":1,"oldText":"a"}`:                    `the delete has "line"`,
		`{"path":"x","oldText":"a","newText":"b","line":0}`:                        "lines are counted from 1, and 0 is no line",
		`{"path":"x","oldText":"a","newText":"b","line":1.5}`:                      "lines are counted from 1, and 1.5 is no line",
		`{"path":"x","oldText":"a","newText":"b","line":"1"}`:                      `"line" has a value of the wrong kind`,
		`{"path":"x","oldText":"a","newText":"b","replace_all":1}`:                 `"replace_all" has a value of the wrong kind`,
		`{"path":"x","oldText":"a","newText":"b","mood":"good"}`:                   `unknown field "mood"`,
		`{"path":"x","oldText":"a","old_str":"a","newText":"b"}`:                   `"old_str" says what another field of the object says`,
		`{"path":"x","type":"replace_line","line":1,"content":"b"}`:                `replace_line must carry "expected"`,
		`{"path":"x","type":"replace_line","line":1,"expected":" ","content":"b"}`: `"expected" is blank`,
	} {
		_, err := parseJSON(object)
		p := firstProblem(err)
		if p.Kind != problem.KindParse || !strings.Contains(p.Reason, want) {
			t.Errorf("%s: %+v, want %q", object, p, want)
		}
		if byLine := strings.Contains(object, "replace_line"); byLine != strings.Contains(p.Advice, lineForm) {
			t.Errorf("%s: the advice shows the wrong form: %s", object, p.Advice)
		}
	}
}

func TestAnInsertionKeepsItsAnchor(t *testing.T) {
	t.Parallel()
	anchor, lines := []string{"a", "b"}, []string{"n"}
	for before, want := range map[bool][]string{true: {"n", "a", "b"}, false: {"a", "b", "n"}} {
		op := &Operation{}
		op.Insert(anchor, lines, before)
		if !slices.Equal(op.Search, anchor) || !slices.Equal(op.Replace, want) {
			t.Errorf("before %v: %q by %q, want %q", before, op.Search, op.Replace, want)
		}
	}
}

func TestALineOfAFence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"```":            {"```", ""},
		"```python":      {"```", "python"},
		"```` md  ":      {"````", "md"},
		"~~~":            {"~~~", ""},
		"~~~~~sh\n":      {"~~~~~", "sh"},
		"``":             {},
		"~~":             {},
		" ```":           {}, // part of a list
		"```a``` is one": {}, // code within a line
		"text ```":       {},
		"~~~a`b":         {},
		"```~~~":         {"```", "~~~"},
	} {
		if mark, info := fenceLine(in); mark != want[0] || info != want[1] {
			t.Errorf("%q: %q and %q, want %q", in, mark, info, want)
		}
	}
}

// A fence below a file's name shows a change if its language says so, or if it contains conflict markers, opened and closed in this
// order.
func TestAFenceThatShowsAChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		info, name, lines string
		want              bool
	}{
		{"python", "x.py", "a", false},
		{"diff", "x.py", "a", true},
		{"Patch", "x.py", "a", true},
		{"diff", "x.diff", "a", false},
		{"diff", "x.PATCH", "a", false},
		{"", "x.py", "<<<<<<< ours|a|=======|b|>>>>>>> theirs", true},
		{"", "x.py", "<<<<<<< ours|a", false},
		{"", "x.py", ">>>>>>> theirs|a|<<<<<<< ours", false},
		{"", "x.py", "  <<<<<<< ours|  >>>>>>> theirs", false},
		{"", "x.py", "<<<<<<<|>>>>>>>", false},
	} {
		if got := showsChange(c.info, c.name, strings.Split(c.lines, "|")); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestFilesThatMayHoldFences(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a.md": true, "a.TXT": true, "docs/a.rst": true, "a.adoc": true, "a.org": true, "LICENSE": true, "a.b/README": true,
		"a.go": false, "a.md.py": false, "a.json": false,
	} {
		if got := nests(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
