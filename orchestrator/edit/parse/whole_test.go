package parse

import (
	"strings"
	"testing"
)

func TestFilesUnderTheirNames(t *testing.T) {
	t.Parallel()
	const code = "```python\na = 1\n```\n"
	const one = `write x.py "a = 1\n" doubt`
	checkForms(t, []formCase{
		{"one", "x.py\n" + code, one},
		{"in bold", "**x.py**\n" + code, one},
		{"as a heading", "### `shop/x.py`:\n" + code, `write shop/x.py "a = 1\n" doubt`},
		{"prose around", "I write\n\nx.py\n" + code + "\nand that is all.\n", one},
		{"two", "x.py\n" + code + "y.py\n~~~\nb\n~~~\n", one + "\nwrite y.py \"b\\n\" doubt"},
		{"an example beside it", "x.py\n" + code + "Run\n\n```sh\nmake\n```\n", one},
		{"blank lines and shorter fences", "x.py\n````\n\n```\na\n```\n\n````\n", "write x.py \"\\n```\\na\\n```\\n\\n\" doubt"},
		{"carriage returns", strings.ReplaceAll("x.py\n"+code, "\n", "\r\n"), one},
		{"JSON", "x.json\n```json\n{\"a\": 1}\n```\n", `write x.json "{\"a\": 1}\n" doubt`},
		{"text in a longer fence", "x.md\n````\n```\na\n```\n````\n", "write x.md \"```\\na\\n```\\n\" doubt"},
		{"in a thought", "<think>\ny.py\n" + code + "</think>\nx.py\n" + code, one},

		{"a name in a sentence", "In x.py:\n" + code, "parse"},
		{"a name further above", "x.py\n\n" + code, "parse"},
		{"no name", code, "parse"},
		{"only in a thought", "<think>\nx.py\n" + code + "</think>\n", "parse"},
		{"indented", "- x.py\n  ```\n  a\n  ```\n", "parse"},
		{"not closed", "x.py\n```python\na = 1\n", "truncated"},
		{"an example after it, not closed", "x.py\n" + code + "so\n```\na\n", "truncated"},
		{"an example, not closed", "so\n```\na\n", "parse"},
		{"empty", "x.py\n```\n```\n", "parse"},
		{"a fence with a language inside", "x.py\n```\n```sh\na\n```\n", "parse"},
		{"text with a fence after it", "x.md\n```\na\n```\nb\n```\nc\n```\n", "parse"},
		{"beside a block", "x.py\n" + code + tagBlock, `edit x "a">"b"`},
		{"a text about blocks", "x.md\n```\nSend this:\n" + tagBlock + "```\n", "parse"},
		{"a text about patches", "x.md\n```\nSend this:\n" + patchBlock + "```\n", "parse"},
		{"a text about blocks, in a fence without a name", "so\n```\nSend this:\n" + tagBlock + "```\n", `edit x "a">"b"`},
		{"a block in a fence under a name", "x.py\n```\n\n" + tagBlock + "```\n", `edit x "a">"b"`},
		{"a block behind a fence under a name", "x.py\n```\nb\n```\n" + tagBlock, `edit x "a">"b"`},
	})
}

func TestFilesBetweenTags(t *testing.T) {
	t.Parallel()
	checkForms(t, []formCase{
		{"one", "<FILE path=\"x\">\na\n</FILE>\n", `write x "a\n"`},
		{"in a fence", "<FILE path=\"x.py\">\n```\na\n```\n</FILE>\n", `write x.py "a\n"`},
		{"glued, two", "<file path='x'>a</file><file file=y>b</file>\n", "write x \"a\\n\"\nwrite y \"b\\n\""},
		{"edit tags as content", "<FILE path=x>\n<EDIT>\n</EDIT>\n</FILE>\n", `write x "<EDIT>\n</EDIT>\n"`},
		{"beside a block", tagBlock + "<FILE path=y>\na\n</FILE>\n", "edit x \"a\">\"b\"\nwrite y \"a\\n\""},
		{"markup is text", "<FILE>\n<file name=\"x\"/>\n</file>\n" + tagBlock, `edit x "a">"b"`},
		{"markup in a body is text", strings.Replace(tagBlock, "b\n", "<file path=\"q\">\n</file>\n", 1), `edit x "a">"<file path=\"q\">|</file>"`},
		{"no path", "<FILE>\na\n</FILE>\n", "parse"},
		{"not closed", "<FILE path=x>\na\n", "truncated"},
		{"closed twice", "<FILE path=x>\na\n</FILE>\nb\n</FILE>\n", "parse"},
		{"in each other", "<FILE path=x>\na\n<FILE path=y>\nb\n</FILE>\n", "truncated"},
		{"a block that is not closed before it", "<EDIT file=x>\n<SEARCH>\na\n</SEARCH>\n<REPLACE>\nb\n<FILE path=y>\nc\n</FILE>\n", "truncated"},

		{"renamed", "<RENAME_FILE from=\"x\" to=\"y\"/>\n", `rename y from x`},
		{"renamed, with an end", "<RENAME_FILE from=x to=y>\n</RENAME_FILE>\n", `rename y from x`},
		{"renamed, without an end", "<RENAME_FILE from=x to=y>\n" + tagBlock, "rename y from x\nedit x \"a\">\"b\""},
		{"the old name as path", "<RENAME_FILE path=x to=y/>\n", `rename y from x`},
		{"the new name as path", "<RENAME_FILE from=\"x\" path=\"y\"/>\n", `rename y from x`},
		{"one name", "<RENAME_FILE from=\"x\"/>\n", "parse"},
		{"one path", "<RENAME_FILE path=\"x\"/>\n", "parse"},
		{"the same name", "<RENAME_FILE from=\"x\" to=\"x\"/>\n", "parse"},
		{"with text", "<RENAME_FILE from=x to=y>\nz\n</RENAME_FILE>\n", "parse"},
	})
}

func TestThoughtsThatCrossTheEdgeOfABlockAreRefused(t *testing.T) {
	t.Parallel()
	within := func(s string) string { return strings.Replace(tagBlock, "b\n", s, 1) }
	checkForms(t, []formCase{
		{"within", within("<think>\nb\n</think>\n"), `edit x "a">"<think>|b|</think>"`},
		{"opened and never closed", within("<think>\n"), `edit x "a">"<think>"`},
		{"closed in prose", within("<think>\n") + "so\n</think>\n", "parse"},
		{"closed after another block", within("<think>\n") + tagBlock + "</think>\n", "parse"},
		{"closed in another block", within("<think>\n") + within("</think>\n"), "parse"},
		{"closed and opened again", within("<think>\n</think>\n<think>\n") + "</think>\n", "parse"},
		{"opened in prose", "<think>\n" + within("</think>\n"), "parse"},
		{"another kind", within("<THOUGHT>\n</think>\n") + "</THOUGHT>\n", "parse"},
	})
}

func TestAPartOfAFileIsTold(t *testing.T) {
	t.Parallel()
	const before = "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n"
	for text, want := range map[string]bool{
		before:                               false,
		strings.Replace(before, "2", "3", 1): false,
		strings.Replace(before, "import os", "import sys", 1):  false,
		before + "\n\ndef c():\n    return 3\n":                false,
		"import os\n\n\ndef a():\n    return 1\n":              true, // a run of lines
		"def a():\n    return 1\n\n\ndef b():\n    return 2\n": true, // a run of lines
		"import os\n": true, // too little
		"def a():\n    return 1\n\n\ndef b():\n    return 3\n\n\nx = 1\n": true, // neither end
	} {
		if got := Partial(text, []byte(before)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		crlf := strings.ReplaceAll(before, "\n", "\r\n")
		if got := Partial(text, []byte("\ufeff"+crlf)); got != want {
			t.Errorf("%q of a file with carriage returns: %v, want %v", text, got, want)
		}
	}
	if Partial("x\n", []byte("\n\n")) {
		t.Error("a file of blank lines has no part")
	}
}
