package edit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// TestHostileFormsComeToAnEnd reads responses of one mebibyte in the forms that nest or are fenced. Each would take quadratic time in a
// careless parser.
func TestHostileFormsComeToAnEnd(t *testing.T) {
	t.Parallel()
	const block = "<EDIT file='a.txt'><SEARCH>x</SEARCH><REPLACE>y</REPLACE></EDIT>\n"
	for name, response := range map[string]string{
		"patches":               fill("*** Begin Patch\n*** Delete File: a\n*** End Patch\n", mib),
		"patch beginnings":      fill("*** Begin Patch\n", mib),
		"patch files":           "*** Begin Patch\n" + fill("*** Update File: a\n", mib),
		"chunks":                "*** Begin Patch\n*** Update File: a.txt\n" + fill("@@ x\n-x\n+y\n", mib),
		"sections":              "*** Begin Patch\n*** Update File: a.txt\n" + fill("@@ x\n", mib) + "-q\n+y\n*** End Patch\n",
		"blank chunk lines":     "*** Begin Patch\n*** Update File: a.txt\n@@\n" + fill("\n", mib) + "-q\n+z\n*** End Patch\n",
		"objects":               fill("{\"edits\":[", mib),
		"json comments":         "[" + fill("/**/", mib),
		"json line comments":    "[" + fill("//\n", mib),
		"json quotes":           "[{\"path\":\"" + fill("\\\"", mib),
		"json escapes":          "[{\"path\":\"" + fill("\\u0041", mib),
		"json fields":           "[{" + fill("\"a\":1,", mib),
		"json names":            "[{\"" + fill("a", mib) + "\":1}]",
		"json edits":            "{\"path\":\"a.txt\",\"edits\":[" + fill("{\"old\":\"x\",\"new\":\"y\"},", mib) + "]}",
		"json spaces":           "[" + fill(" \n", mib),
		"broken fences":         fill("```json\n[{\"a\n", mib) + block,
		"broken fences, tildes": fill("~~~json\n[{\n", mib) + block,
		"open comments":         fill("```json\n[{/*\n", mib),
		"comments in prose":     block + fill("```json\n[{//\n", mib),
		"examples":              fill("```json\n{\"a\": 1}\n```\n", mib),
		"examples in prose":     fill(block+"```json\n{\"a\": 1}\n```\n", mib),
		"patches in fences":     fill("```json\n{\"path\":\"a\",\"action\":\"delete\"}\n```\n", mib),
		"patches and tags":      fill("```json\n{\"path\":\"a\",\"action\":\"delete\"}\n```\n<SEARCH> ", mib),
		"thoughts of fences":    fill("<think>\n```json\n{\"path\":\"a\",\"action\":\"delete\"}\n```\n</think>\n", mib),
		"named files":           fill("a.py\n```\nx\n```\n", mib),
		"names without end":     fill("a.py\n```\n", mib),
		"names of one line":     fill("a.", mib) + "\n```\nx\n```\n",
		"fences in fences":      fill("a.md\n````\n```\n", mib),
		"FILE openings":         fill("<FILE path='a'>\n", mib),
		"FILE closings":         "<FILE path='a'>\nx\n" + fill("</FILE>\n", mib),
		"FILE in a body":        "<EDIT file=a>\n<SEARCH>\n" + fill("<FILE path='a'>\n</FILE>\n", mib) + "</SEARCH>\n",
		"renames":               fill("<RENAME_FILE from='a' to='b'/>\n", mib),
		"thoughts in a body":    "<EDIT file=a>\n<SEARCH>\n" + fill("<think>\n</think>\n", mib) + "</SEARCH>\n<REPLACE>\nx\n",
		"marker numbers":        "<<<<<<< SEARCH\n" + fill(":start_line:1\n", mib) + "=======\n>>>>>>> REPLACE\n",
		"appends":               "{\"path\":\"a.txt\",\"edits\":[" + strings.Repeat("{\"type\":\"append\",\"content\":\"y\"},", parse.MaxBlocks) + "]}",
	} {
		t.Run(name, func(t *testing.T) { refusesInBounds(t, response) })
	}
}

// TestHostilePlacesComeToAnEnd resolves hints in files whose lines are all equal, or nearly so.
func TestHostilePlacesComeToAnEnd(t *testing.T) {
	t.Parallel()
	equal := strings.Repeat("<EDIT file='f.py'><SEARCH>a</SEARCH><REPLACE>b</REPLACE></EDIT>\n", parse.MaxBlocks)
	sections := ""
	for i := range 500 {
		sections += fmt.Sprintf("@@ a line %d\n-a\n+b%d\n", i, i)
	}
	for name, c := range map[string]struct{ file, response string }{
		"equal blocks":           {fill("a\n", mib), equal},
		"as many equal blocks":   {strings.Repeat("a\n", parse.MaxBlocks), equal},
		"every place":            {fill("a\n", mib), `{"path":"f.py","old":"a","new":"b","replace_all":true}`},
		"every place, of two":    {fill("a\n", mib), `{"path":"f.py","old":"a\na","new":"b","replace_all":true}`},
		"every place, on a line": {fill("a", mib), `{"path":"f.py","old":"a","new":"b","replace_all":true}`},
		"a line":                 {fill("a\n", mib), "<EDIT file='f.py' line='77'><SEARCH>a</SEARCH><REPLACE>b</REPLACE></EDIT>"},
		"sections":               {distinct("a", 20000) + fill("a\n", mib/8), "*** Begin Patch\n*** Update File: f.py\n" + sections + "*** End Patch\n"},
		"appends":                {fill("a\n", mib), "{\"path\":\"f.py\",\"edits\":[" + strings.Repeat("{\"type\":\"append\",\"content\":\"y\"},", parse.MaxBlocks) + "]}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cs, _, err := edit.Apply(memory{text: map[string]string{"f.py": c.file}}, []byte(c.response), "")
			var refusal *problem.Refusal
			if err != nil && !errors.As(err, &refusal) {
				t.Fatalf("got %v", err)
			}
			if err == nil && string(cs.Changes[0].After) == c.file {
				t.Error("applied and changed nothing")
			}
		})
	}
}
