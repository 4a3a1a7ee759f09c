package parse

import (
	"strings"
	"testing"
)

// A file's name applies only to the text directly below it.
func TestTheNameDirectlyAbove(t *testing.T) {
	t.Parallel()
	for above, want := range map[string]string{
		"":                  "",
		"x.py\n":            "x.py",
		"so\n**a/x.py**:\n": "a/x.py",
		"x.py\n\n":          "", // the name belongs to the prose
		"x.py\nso\n":        "",
		"in x.py\n":         "",
		"x.py\r\n":          "x.py",
		"x.py\n```\n":       "",
		"Makefile\n":        "",
		"y.py\nx.py\n":      "x.py",
	} {
		if got := nameAbove(above+"```\n", len(above)); got != want {
			t.Errorf("%q: %q, want %q", above, got, want)
		}
	}
}

// Each text has one "@", which marks the position of an edit.
func TestAnEditQuotedInAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@":                              "",
		"x.md\n```\nso\n@\n```\n":        "x.md",
		"x.md\n```\n@\n```\n":            "", // nothing before it in the fence
		"x.md\n```\n\n@\n```\n":          "",
		"x.md\n```\nso\n```\n@\n":        "",
		"x.md\n````\nso\n```\n@\n````\n": "x.md",
		"x.md\n```\nso\n~~~\n@\n```\n":   "x.md",
		"x.md\n```\nso\n```sh\n@\n```\n": "x.md",
		"```\nso\n@\n```\n":              "",
		"x.py\n```diff\nso\n@\n```\n":    "", // the name says what is changed
		"x.md\n\n```\nso\n@\n```\n":      "",
	} {
		if got := quotedIn(text, strings.IndexByte(text, '@')); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTextBehindTheThoughts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		" a \n":                "a",
		"<think>so</think>\na": "a",
		"<think>so</think> <THOUGHT>b</THOUGHT>\n\na\n": "a",
		"<think>\n<EDIT file=x>\n</think>a":             "a",
		"a<think>so</think>":                            "a<think>so</think>",
		"<EDIT file=x>":                                 "<EDIT file=x>",
		"<think>so</think>b<think>c</think>":            "b<think>c</think>",
	} {
		if got := afterThoughts(text, scanTags(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A patch in the prose around edits counts, complete or not. An example, a patch in a thought and one outside the range do not count.
func TestAPatchInProseIsFound(t *testing.T) {
	t.Parallel()
	const patch = `{"path":"x","oldText":"a","newText":"b"}`
	for text, want := range map[string]bool{
		"":                              false,
		patch:                           false, // no fence
		"```json\n" + patch + "\n```\n": true,
		"~~~\n[" + patch + "]\n~~~\n":   true,
		"```json\n" + patch[:20]:        true,
		"```json\n{\"name\": 1}\n```\n": false,
		"```json\n{\"name\": 1}\n```\n```json\n" + patch + "\n```\n": true,
		"```python\n" + patch + "\n```\n":                            false,
		"```json\n" + patch + " and\n```\n":                          false,
		"<think>\n```json\n" + patch + "\n```\n</think>\n":           false,
	} {
		if got := holdsPatch(text, 0, len(text), scanTags(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if framed := "```json\n" + text; want && holdsPatch(framed, len(framed), len(framed), nil) {
			t.Errorf("%q: found outside the range", text)
		}
	}
}

func TestWhereAFenceIsClosed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, mark string
		from, want int
	}{
		{"```\na\n```\n", "```", 3, 5},
		{"```\na\n~~~\n", "```", 3, 10},
		{"~~~\na\n~~~~\n", "~~~", 3, 5},
		{"```\na ```\n", "```", 3, 10}, // within a line
		{"```\n```\n```\n", "```", 4, 7},
		{"", "```", 0, 0},
	} {
		if got := closing(c.text, c.mark, c.from); got != c.want {
			t.Errorf("%q from %d: %d, want %d", c.text, c.from, got, c.want)
		}
	}
}

func TestFourHexadecimalDigits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]rune{
		"u0041": 'A', "u00e9": 'é', "u00E9z": 'é', "uffff": 0xffff, "u0000": 0,
		"": -1, "u": -1, "u004": -1, "U0041": -1, "0041u": -1, "u00g1": -1, "u 041": -1, "u+041": -1, "u\x10\x11\x12\x13": -1,
	} {
		if got, ok := hex4(in); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %x, %v, want %x", in, got, ok, want)
		}
	}
}

// Comments and byte order marks count as space; an unclosed comment takes the rest.
func TestSpaceInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		next byte
		at   int
	}{
		"":               {0, 0},
		" \t\r\n":        {0, 4},
		"  a":            {'a', 2},
		"// b\na":        {'a', 5},
		"// b":           {0, 4},
		"/* b */a":       {'a', 7},
		"/*/ b */a":      {'a', 8}, // "/*/" is opened but not closed
		"/* b":           {0, 4},
		"/**/ // c\n\ta": {'a', 11},
		"\ufeff a":       {'a', 4},
		"/a":             {'/', 0},
		"\u00a0a":        {0xc2, 0}, // Unicode space is not space in JSON
	} {
		r := &jsonReader{text: text}
		if next := r.peek(); next != want.next || r.at != want.at {
			t.Errorf("%q: %q at %d, want %q at %d", text, next, r.at, want.next, want.at)
		}
	}
}
