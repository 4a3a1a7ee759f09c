package parse

import (
	"strings"
	"testing"
)

func TestJSONEditsMeanTheseOperations(t *testing.T) {
	t.Parallel()
	checkForms(t, []formCase{
		{"one", `{"path":"x","oldText":"a","newText":"b"}`, `edit x "a">"b"`},
		{"of several lines", `{"path":"x","oldText":"a\n  b\n","newText":"\n"}`, `edit x "a|  b">""`},
		{"to nothing", `{"path":"x","oldText":"a","newText":""}`, `edit x "a">""`},
		{"from nothing", `{"path":"x","oldText":"","newText":"a"}`, `edit x "">"a"`},
		{"with carriage returns", `{"path":"x","oldText":"a\r\nb","newText":"c\r\nd"}`, `edit x "a|b">"c|d"`},
		{"a list in an object", `{"path":"x","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}]}`, "edit x \"a\">\"b\"\nedit x \"c\">\"d\""},
		{"lists of several files", `[{"path":"x","edits":[{"old":"a","new":"b"}]},{"path":"y","edits":[{"old":"c","new":"d"}]}]`, "edit x \"a\">\"b\"\nedit y \"c\">\"d\""},
		{"no path", `{"oldText":"a","newText":"b"}`, `edit  "a">"b"`},
		{"a list without a path", `{"edits":[{"oldText":"a","newText":"b"}]}`, `edit  "a">"b"`},
		{"a path within", `{"edits":[{"path":"x","oldText":"a","newText":"b"}]}`, `edit x "a">"b"`},
		{"the same path within", `{"path":"x","edits":[{"path":"x","oldText":"a","newText":"b"}]}`, `edit x "a">"b"`},
		{"null is absent", `{"path":"x","oldText":"a","newText":"b","line":null,"content":null}`, `edit x "a">"b"`},
		{"a line", `{"path":"x","oldText":"a","newText":"b","start_line":7}`, `edit x "a">"b" line=7`},
		{"every place", `{"path":"x","old_string":"a","new_string":"b","replace_all":true}`, `edit x "a">"b" every`},
		{"not every place", `{"path":"x","old_string":"a","new_string":"b","replace_all":false}`, `edit x "a">"b"`},
		{"with an action", `{"path":"x","action":"modify","oldText":"a","newText":"b"}`, `edit x "a">"b"`},
		{"as a command", `{"command":"str_replace","path":"x","old_str":"a","new_str":"b"}`, `edit x "a">"b"`},
		{"a file as a command", `{"command":"create","path":"x","file_text":"a"}`, `create x "a"`},
		{"remarks", `{"path":"x","oldText":"a","newText":"b","explanation":"why","description":{"a":1}}`, `edit x "a">"b"`},
		{"entities are text", `{"path":"x","oldText":"a &lt; b","newText":"a &amp; b"}`, `edit x "a &lt; b">"a &amp; b"`},
		{"a fence is text here", "{\"path\":\"x\",\"oldText\":\"```\\na\\n```\",\"newText\":\"b\"}", "edit x \"```|a|```\">\"b\""},

		{"a target that is the path", `{"target":"x","oldText":"a","newText":"b"}`, `edit x "a">"b"`},
		{"a target that is the text", `{"path":"x","target":"a","replacement":"b"}`, `edit x "a">"b"`},
		{"a target that is the text, typed", `{"type":"replace","target":"a","content":"b"}`, `edit  "a">"b"`},
		{"a target of a list", `{"target":"x","edits":[{"target":"a","new":"b"}]}`, `edit x "a">"b"`},
		{"a target to remove", `{"target":"x","action":"delete"}`, `delete x`},
		{"a target too many", `{"path":"x","target":"a","oldText":"a","newText":"b"}`, "parse"},

		{"no new text", `{"path":"x","oldText":"a"}`, "parse"},
		{"no old text", `{"path":"x","newText":"a"}`, "parse"},
		{"old text and content", `{"path":"x","oldText":"a","newText":"b","content":"c"}`, "parse"},
		{"two names of a field", `{"path":"x","file":"x","oldText":"a","newText":"b"}`, "parse"},
		{"a number as text", `{"path":"x","oldText":1,"newText":"b"}`, "parse"},
		{"a word as a line", `{"path":"x","oldText":"a","newText":"b","line":"7"}`, "parse"},
		{"half a line", `{"path":"x","oldText":"a","newText":"b","line":7.5}`, "parse"},
		{"every as a word", `{"path":"x","oldText":"a","newText":"b","replace_all":"yes"}`, "parse"},
		{"an unknown field", `{"path":"x","oldText":"a","newText":"b","regex":true}`, "parse"},
		{"a list and text", `{"path":"x","edits":[],"oldText":"a","newText":"b"}`, "parse"},
		{"a list and content", `{"path":"x","edits":[],"content":"a"}`, "parse"},
		{"a list for a new file", `{"path":"x","action":"create","edits":[{"oldText":"a","newText":"b"}]}`, "parse"},
		{"a string in a list", `["a"]`, "parse"},
		{"a string in the list of an object", `{"path":"x","edits":["a"]}`, "parse"},
	})
}

func TestJSONEditsOfEveryType(t *testing.T) {
	t.Parallel()
	typed := func(kind, rest string) string { return `{"path":"x","edits":[{"type":"` + kind + `",` + rest + `}]}` }
	checkForms(t, []formCase{
		{"replace", typed("replace", `"target":"a","content":"b"`), `edit x "a">"b"`},
		{"replace, in capitals", typed("Replace", `"old":"a","new":"b"`), `edit x "a">"b"`},
		{"before", typed("insert_before", `"anchor":"a\nb","content":"c\nd\n"`), `edit x "a|b">"c|d|a|b"`},
		{"before, with a hyphen", typed("insert-before", `"anchor":"a","content":"c"`), `edit x "a">"c|a"`},
		{"after", typed("insert_after", `"target":"a","text":"  c"`), `edit x "a">"a|  c"`},
		{"after, by a line", typed("insert_after", `"target":"a","text":"c","line":4`), `edit x "a">"a|c" line=4`},
		{"at the end", typed("append", `"content":"c\n"`), `append x "">"c"`},
		{"at the start", typed("prepend", `"content":"c\n\n"`), `prepend x "">"c|"`},
		{"whole", typed("full_replace", `"content":"c\r\n"`), `whole x "c\r\n"`},
		{"a line", typed("replace_line", `"line":3,"expected":"a","content":"b"`), `edit x "a">"b" line=3`},
		{"a line by other names", typed("replace_line", `"line_number":3,"old":"a","new":"b"`), `edit x "a">"b" line=3`},
		{"a line removed", typed("replace_line", `"line":3,"expected":"a","content":""`), `edit x "a">"" line=3`},
		{"at a line", typed("insert_at_line", `"line":3,"expected":"a","content":"b\nc"`), `edit x "a">"b|c|a" line=3`},
		{"the type as the action", `{"path":"x","action":"append","content":"c"}`, `append x "">"c"`},
		{"without a path", `{"type":"append","content":"c"}`, `append  "">"c"`},

		{"a line without its text", typed("replace_line", `"line":3,"content":"b"`), "parse"},
		{"at a line without its text", typed("insert_at_line", `"line":3,"content":"b"`), "parse"},
		{"a line without its number", typed("replace_line", `"expected":"a","content":"b"`), "parse"},
		{"a line of space", typed("replace_line", `"line":3,"expected":" \t","content":"b"`), "parse"},
		{"line zero", typed("replace_line", `"line":0,"expected":"a","content":"b"`), "parse"},
		{"a line far too high", typed("replace_line", `"line":99999999999999999999,"expected":"a","content":"b"`), "parse"},
		{"before nothing", typed("insert_before", `"content":"b"`), "parse"},
		{"nothing after", typed("insert_after", `"anchor":"b"`), "parse"},
		{"an anchor at the end", typed("append", `"anchor":"a","content":"b"`), "parse"},
		{"every anchor", typed("insert_after", `"anchor":"a","content":"b","replace_all":true`), "parse"},
		{"content twice", typed("append", `"content":"a","new":"b"`), "parse"},
		{"unknown", typed("delete_line", `"line":3,"expected":"a"`), "parse"},
		{"an action as a type", typed("create", `"content":"a"`), "parse"},
		{"an edit without anything", `{"path":"x","action":"edit"}`, "parse"},
		{"an edit with content", `{"path":"x","action":"edit","content":"a"}`, "parse"},
		{"a type beside an action of files", `{"path":"x","action":"create","type":"append","content":"a"}`, "parse"},
	})
}

func TestJSONChangesOfWholeFiles(t *testing.T) {
	t.Parallel()
	checkForms(t, []formCase{
		{"written", `{"path":"x","action":"write","content":"a"}`, `write x "a"`},
		{"updated", `{"path":"x","action":"update","content":"a"}`, `whole x "a"`},
		{"removed", `{"path":"x","action":"remove"}`, `delete x`},
		{"moved by two names", `{"action":"move","from":"y","to":"x"}`, `rename x from y`},
		{"moved to", `{"action":"rename","path":"y","to":"x"}`, `rename x from y`},
		{"moved from", `{"action":"rename","path":"x","from":"y"}`, `rename x from y`},
		{"moved by three names", `{"action":"rename","path":"x","from":"y","to":"z"}`, "parse"},
		{"moved by one name", `{"action":"rename","to":"z"}`, "parse"},
		{"a new path of an edit", `{"path":"x","oldText":"a","newText":"b","to":"y"}`, "parse"},
		{"no path", `{"action":"write","content":"a"}`, "parse"},
		{"in a list of operations", `{"operations":[{"action":"create","path":"x","content":"a"},{"action":"delete","path":"y"}],"message":"m"}`, "create x \"a\"\ndelete y"},
	})
}

// A fence ends where its JSON ends, and everything around it is examined.
func TestJSONInFences(t *testing.T) {
	t.Parallel()
	const one, two = `{"path":"x","oldText":"a","newText":"b"}`, `{"path":"y","action":"delete"}`
	fence := func(s string) string { return "```json\n" + s + "\n```\n" }
	const first, both = `edit x "a">"b"`, "edit x \"a\">\"b\"\ndelete y"
	checkForms(t, []formCase{
		{"alone", fence(one), first},
		{"two", fence(one) + fence(two), both},
		{"two, with prose", "So:\n" + fence(one) + "and\n" + fence(two) + "Done.\n", both},
		{"tildes", "~~~\n" + one + "\n~~~\n", first},
		{"four", "````json\n" + one + "\n````\n", first},
		{"in capitals", "```JSON\n" + one + "\n```\n", first},
		{"with carriage returns", strings.ReplaceAll("So:\n"+fence(one), "\n", "\r\n"), first},
		{"not closed", "```json\n" + one, first},
		{"a fence in a raw string", fence("{\"path\":\"x\",\"action\":\"create\",\"content\":\"\n```\na\n```\n\"}"), "create x \"\\n```\\na\\n```\\n\""},
		{"an example after it, without a fence", fence(one) + `Then it is {"name": 1}.`, first},
		{"an example before it", fence(`{"name": 1}`) + fence(one), first},
		{"text before the end of the fence", fence(one + "\nand more"), "parse"},
		{"an example after it", fence(one) + fence(`{"name": 1}`), "parse"},
		{"cut off after it", fence(one) + "```json\n{\"path\":", "truncated"},
		{"cut off after an example", fence(`{"name": 1}`) + "```json\n{\"path\":", "truncated"},
		{"no change in it", fence(`{"changes":[]}`), "parse"},
		{"a block after it", fence(one) + tagBlock, "parse"},
		{"a block before it", tagBlock + fence(one), "parse"},
		{"a block between", fence(one) + tagBlock + fence(two), "parse"},
		{"a diff after it", fence(one) + plainDiff, "parse"},
		{"a patch after it", fence(one) + patchBlock, "parse"},
		{"markers before it", markerBlock + fence(one), "parse"},
		{"a diff before it", plainDiff + "\n" + fence(one), "parse"},
		{"a patch before it", patchBlock + fence(one), "parse"},
		{"cut off before a block", "```json\n{\"path\":\"x\",\"content\":\"\n" + tagBlock, "truncated"},
		{"an example before a block", fence(`{"name": 1}`) + tagBlock, `edit x "a">"b"`},
		{"an example after a block", tagBlock + fence(`{"name": 1}`), `edit x "a">"b"`},
		{"in a thought, then a block", "<think>\n" + fence(one) + "</think>\n" + tagBlock, `edit x "a">"b"`},
		{"a block, then in a thought", tagBlock + "<think>\n" + fence(one) + "</think>\n", `edit x "a">"b"`},
		{"in the content of a block", "<CREATE_FILE a.md>\n" + fence(one) + "</CREATE_FILE>\n", "create a.md \"```json\\n{\\\"path\\\":\\\"x\\\",\\\"oldText\\\":\\\"a\\\",\\\"newText\\\":\\\"b\\\"}\\n```\\n\""},
		{"under the name of a file", "shop/x.json\n" + fence(one), "parse"},
		{"behind thoughts, without a fence", "<think>\n" + two + "\n</think>\n<THOUGHT>so</THOUGHT>\n" + one, first},
		{"behind a thought that is not closed", "<think>\n" + one, "truncated"},
		{"behind a thought and prose", "<think>so</think>\nSo: " + one, "parse"},
		{"behind a comment of Markdown", "[//]: # (so)\n" + tagBlock, `edit x "a">"b"`},
		{"under a sentence", "For x.json:\n" + fence(one), first},
	})
}
