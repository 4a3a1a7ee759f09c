package parse

import (
	"fmt"
	"strings"
	"testing"
)

func TestTagsAreScannedInAnyDress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"<EDIT>":                         "EDIT",
		"</edit>":                        "/EDIT",
		"<Edit/>":                        "EDIT alone",
		"<EDIT file=\"x\">":              "EDIT [file=\"x\"]",
		"<EDIT file='a>b'>":              "EDIT [file='a>b']",
		"<EDIT file=x/>":                 "EDIT [file=x] alone",
		"<EDIT\tfile=x >":                "EDIT [file=x]",
		"<THINK>":                        "THINK",
		"<THINKING>":                     "THINKING",
		"<SEARCH></SEARCH>":              "SEARCH /SEARCH",
		"<SEARCH":                        "",
		"<SEARCH\n>":                     "",
		"<SEARCHES>":                     "",
		"< SEARCH>":                      "",
		"<EDIT file=\"x>":                "",
		"<EDIT <SEARCH>":                 "SEARCH",
		"&lt;EDIT&gt;":                   "",
		"a < b <REPLACE> c":              "REPLACE",
		"<DELETE_FILE x>":                "DELETE_FILE [x]",
		"<EDIT " + fill('x', 5000) + ">": "",
	} {
		var out []string
		for _, tag := range scanTags(in) {
			s := tag.name
			if tag.closes {
				s = "/" + s
			}
			if tag.attrs != "" {
				s += " [" + tag.attrs + "]"
			}
			if tag.alone {
				s += " alone"
			}
			out = append(out, s)
		}
		if got := strings.Join(out, " "); got != want {
			t.Errorf("%.40q: %q, want %q", in, got, want)
		}
	}
}

func fill(c rune, n int) string { return strings.Repeat(string(c), n) }

func TestTagsKnowWhereTheyStand(t *testing.T) {
	t.Parallel()
	const text = "x <EDIT>\n  <SEARCH>a</SEARCH>\n</EDIT>"
	var out []string
	for _, tag := range scanTags(text) {
		out = append(out, fmt.Sprint(text[tag.start:tag.end], " ", tag.line))
	}
	if got, want := strings.Join(out, ", "), "<EDIT> false, <SEARCH> true, </SEARCH> false, </EDIT> true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestThoughtsHideTheirTags(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<THOUGHT>a<EDIT>b</THOUGHT><EDIT>c":           "c",
		"<THINK>a</THINK><EDIT>c":                      "c",
		"<THOUGHT>a<EDIT>c":                            "c",
		"<THOUGHT>a</THINK>b<EDIT>c":                   "c",
		"<THINK>a</THINK>b<THOUGHT>d<EDIT></THOUGHT>c": "",
	} {
		tags, got := scanTags(in), ""
		for _, tag := range tags {
			if tag.name == "EDIT" && !tag.skip {
				got = in[tag.end:]
			}
		}
		if got != want {
			t.Errorf("%s: the first edit holds %q, want %q", in, got, want)
		}
	}
	text := "a<THINK>b</THINK>c<THINK>d"
	tags := scanTags(text)
	for letter, want := range map[string]bool{"a": false, "b": true, "c": false, "d": false} {
		if got := inThought(tags, strings.Index(text, letter)); got != want {
			t.Errorf("%s lies in a thought: %v, want %v", letter, got, want)
		}
	}
}

func TestOnlyATagThatBeginsABlockOpensOne(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"<SEARCH>a</SEARCH>":         true,
		"  <SEARCH>a</SEARCH>":       true,
		"text\n<SEARCH>":             true,
		"use <SEARCH> here":          false,
		"`<EDIT>` blocks":            false,
		"so: <EDIT file=\"x\">":      true,
		"so: <EDIT>\n<SEARCH>":       true,
		"so: <EDIT> and <SEARCH>":    false,
		"- <SEARCH>":                 false,
		"</EDIT>":                    false,
		"<THOUGHT>":                  false,
		"<THOUGHT><EDIT></THOUGHT>":  false,
		"<THOUGHT>x</THOUGHT><EDIT>": true,
	} {
		tags := scanTags(in)
		if got := firstTag(in, tags) >= 0; got != want {
			t.Errorf("%q opens a block: %v, want %v", in, got, want)
		}
	}
}

func TestPathsAreReadFromAttributes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                          "",
		`file="a/b.py"`:             "a/b.py",
		`FILE='a b.py'`:             "a b.py",
		`path=a.py`:                 "a.py",
		`filename = "a.py"`:         "a.py",
		`line="3" file_path="a.py"`: "a.py",
		`line="3"`:                  "",
		`a.py`:                      "a.py",
		`"a.py"`:                    "a.py",
		`file=" a.py "`:             "a.py",
	} {
		if got := attrPath(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestPathsAreReadFromTheLineAbove(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                           "",
		"shop/stock.py":              "shop/stock.py",
		"\n\nstock.py\n\n":           "stock.py",
		"**stock.py**":               "stock.py",
		"`stock.py`:":                "stock.py",
		"File: stock.py":             "stock.py",
		"# shop/stock.py":            "shop/stock.py",
		"### `shop/stock.py`":        "shop/stock.py",
		"// a.js":                    "a.js",
		"stock.py\n```python":        "stock.py",
		"In stock.py, change":        "",
		"Now:":                       "",
		"Makefile":                   "",
		"stock.py\nand more text":    "",
		"<FILE>a.py</FILE>":          "",
		"see https://x.example/a(b)": "",
	} {
		if got := pathLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
