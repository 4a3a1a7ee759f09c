package lang

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// told renders lines as code, then each comment after a bar, with "<" before a line that begins within a string.
func told(lines []Line) string {
	var out []string
	for _, l := range lines {
		s := strings.Join(append([]string{l.Code}, l.Notes...), "|")
		if l.Inside {
			s = "<" + s
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func TestLinesAreSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, text, want string }{
		{"python", "x = 'a # b'  # c", `x = ""  |# c`},
		{"python", "x = '''a\n# b\n'''  # c", "x = \"\"\n<\n<  |# c"},
		{"python", "x = 'a # b\ny = 1", "x = 'a |# b\ny = 1"},
		{"python", "x = r'\\' # a'", `x = r""`},
		{"javascript", "a = b / c // d", "a = b / c |// d"},
		{"javascript", "return /'[/]'/ // d", `return "" |// d`},
		{"javascript", "export default /'/ // d", `export default "" |// d`},
		{"javascript", "a = m. default / 2 // b", "a = m. default / 2 |// b"},
		{"javascript", "a = m.\ndefault / 2 // b", "a = m.\ndefault / 2 |// b"},
		{"javascript", "myreturn        / 2 // b", "myreturn        / 2 |// b"},
		{"javascript", "typeof\n/'/ // '", "typeof\n\"\" |// '"},
		{"javascript", "x = {} / 2 // b", "x = {} / 2 |// b"},
		{"javascript", "return /'/// b", `return ""|// b`},
		{"javascript", "m.default / 2 // c", "m.default / 2 |// c"},
		{"javascript", "m.default\t/ 2 / n // c", "m.default\t/ 2 / n |// c"},
		{"javascript", "[...typeof /'/] // c", `[...typeof ""] |// c`},
		{"javascript", "x instanceof /'/ // d", `x instanceof "" |// d`},
		{"typescript", "if (a) /'/.test(b) // c", `if (a) "".test(b) |// c`},
		{"javascript", "(a) / b // '", "(a) / b |// '"},
		{"javascript", "`a ${b /* c */} // d` // e", `""b  |/* c */|// e`},
		{"javascript", "`a ${b} // d", "`a ${b} |// d"},
		{"go", "x := '\"' // a", `x := "" |// a`},
		{"go", "x := `a\n// b` + '\\'' // c", "x := \"\"\n< + \"\" |// c"},
		{"go", "x := 'a // b", "x := 'a |// b"},
		{"rust", "fn f<'a>(x: &'a str) { // 'b'", "fn f<'a>(x: &'a str) { |// 'b'"},
		{"rust", "x = r#\"a \" // b\"#; // c", `x = r""; |// c`},
		{"rust", "x = r\"a\\\"; // c", `x = r""; |// c`},
		{"rust", "x = r#type; // c", `x = r#type; |// c`},
		{"rust", "x = \"a\n// b\"; // c", "x = \"\"\n<; |// c"},
		{"cpp", "x = R\"d(a)\" // b)d\"; // c", `x = R""; |// c`},
		{"cpp", "x = u8R\"(a \\)\"; // c", `x = u8R""; |// c`},
		{"java", "x = \"\"\"\n// a\n\"\"\"; // b", "x = \"\"\n<\n<; |// b"},
		{"css", "a { b: url(//x.y) } /* c */ // d", "a { b: url(//x.y) }  |/* c */|// d"},
		{"html", "<a href=\"http://x\"> <!-- b\nc --> // d", "<a href=\"http://x\"> |<!-- b\n |c -->|// d"},
		{"shell", "a $# # b\n# c 'd\n# e", "a $# # b\n|# c 'd\n|# e"},
		{"ruby", "x = 'a # b' # c\n=begin\nd\n=end\ny = 1", "x = \"\" |# c\n|=begin\n|=begind\n|=end\ny = 1"},
		{"ruby", "return if /'/ # a\nx =begin", "return if \"\" |# a\nx =begin"},
		{"lua", "--[[ a\nb ]] c -- d", "|--[[ a\n c |b ]]|-- d"},
		{"haskell", "a {- b -} -- c", "a  |{- b -}|-- c"},
		{"json", "{\"a\": 1} // b", "{\"a\": 1} // b"},
	} {
		if got := told(Named(c.id).Lex(c.text)); got != c.want {
			t.Errorf("%s %q:\n%s\nwant\n%s", c.id, c.text, got, c.want)
		}
	}
	if got := told((*Language)(nil).Lex("a # b\r\n// c")); got != "a # b\n// c" {
		t.Errorf("of no language: %q", got)
	}
}

// hostile lists units that make a careless lexer look ahead again and again.
var hostile = []string{
	"'\\", "=[/", "\"\\", "`${", "'", "\"", "\"\"\"", "'''", "`", "/*", "*/", "{", "}", "(", ")", "\n", "\r", "#", "r#\"", "r##", "R\"(", "R\"a(", "<!--",
	"--[[", "=begin\n", "\n=begin\n", "//", "'\\u{", "{-", "(*", "x = '''\n", "return /[", "`${{", "}`${", "\\", "\u00e9'", "\xff", "\x00",
}

// TestTheLexerTakesTimeInProportion lexes a text of each unit in languages that together cover all syntax. One pass
// takes milliseconds; a lexer that reads the rest again from every mark takes so long that the test run times out.
func TestTheLexerTakesTimeInProportion(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	for _, id := range []string{"python", "javascript", "rust", "cpp", "shell", "html", "ruby", "lua"} {
		l := Named(id)
		for _, unit := range hostile {
			text := strings.Repeat(unit, size/len(unit))
			whole(t, text, l.Lex(text))
		}
	}
}

func TestTheLexerKeepsItsMemoryInProportion(t *testing.T) {
	const size, most = 1 << 18, 200 // bytes of text, and heap bytes for each; short lines cost the most, because each has a record
	for _, unit := range hostile {
		text := strings.Repeat(unit, size/len(unit))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		lines := Named("javascript").Lex(text)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int(after.HeapAlloc) - int(before.HeapAlloc); grown > most*size {
			t.Errorf("%d times %q: %d bytes", size/len(unit), unit, grown)
		}
		runtime.KeepAlive(lines)
	}
}

// whole checks that the lines are those of the text, and that none has more text than its source.
func whole(t *testing.T, text string, lines []Line) {
	t.Helper()
	var raw []string
	for i, l := range lines {
		raw = append(raw, l.Raw)
		notes := len(strings.Join(l.Notes, ""))
		// A literal leaves two quotation marks, and a comment's mark is repeated on the next line.
		if len(l.Code)+notes > 2*len(l.Raw)+8 || strings.Contains(l.Code, "\n") {
			t.Fatalf("line %d of %.80q: %.80q is split into %.80q and %.80q", i, text, l.Raw, l.Code, l.Notes)
		}
	}
	text = strings.TrimPrefix(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\ufeff")
	if got := strings.Join(raw, "\n"); got != strings.TrimSuffix(text, "\n") && got != text {
		t.Fatalf("the lines of %.80q are %.80q", text, got)
	}
}

// The lexer terminates on any bytes, with all the lines and nothing that is not on them.
func FuzzLex(f *testing.F) {
	for i := range rows {
		f.Add("x = 'a' \"b\" # c // d /* e */ -- f <!-- g -->\n", byte(i))
		f.Add(fmt.Sprintf("%s\n%s", strings.Join(hostile[:20], ""), strings.Join(hostile[20:], "\n")), byte(i))
	}
	f.Fuzz(func(t *testing.T, text string, row byte) {
		l := rows[int(row)%len(rows)]
		whole(t, text, l.Lex(text))
	})
}
