package lex

import (
	"strings"
	"testing"
)

// words renders the names that the lexer finds in a text, or the fault.
func words(text string, lang Grammar) string {
	l := NewLexer(text, lang)
	var out []string
	for {
		switch t := l.Next(); t.Kind {
		case TokenWord:
			out = append(out, text[t.Lo:t.Hi])
		case TokenEnd:
			if l.Fault != nil {
				return "fault: " + l.Fault.Why
			}
			return strings.Join(out, " ")
		}
	}
}

func TestNamesAreSeenInCodeOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang       Grammar
		text, want string
	}{
		{PythonGrammar, "a = b # c", "a b"},
		{PythonGrammar, "a = 'b' \"c\" '''d\n'e''' + f", "a f"},
		{PythonGrammar, `a = r'\' + b`, "fault: the string is never closed"},
		{PythonGrammar, `a = rb"\"" + b`, "a b"},
		{PythonGrammar, `f"x {a.b} y"`, "a b"},
		{PythonGrammar, `f"{a!r:>{b}.{c}} {{d}}" + e`, "a b c e"},
		{PythonGrammar, `f"{a:{b:{c}}}" + d`, "a b c d"},
		{PythonGrammar, `f"{a["b"]}" + rf'\{c}'`, "a c"},
		{PythonGrammar, `f"\N{BULLET} {a}"`, "a"},
		{PythonGrammar, `f'''{a}` + "\n" + `{ {"b": c}['b'] }''' + d`, "a c d"},
		{PythonGrammar, "a = 1e-5 + 0xff + b.c", "a b c"},
		{PythonGrammar, "a = (b\n  + c)", "a b c"},
		{PythonGrammar, "a = (b]", `fault: "]" does not close "(" of line 1`},
		{PythonGrammar, "a = b)", `fault: ")" closes nothing`},
		{PythonGrammar, "a = (b", `fault: "(" is never closed`},
		{PythonGrammar, "a = '''b", "fault: the string is never closed"},
		{PythonGrammar, "größe = 1", "größe"},
		{ScriptGrammar, "a = b // c\n/* d */ e", "a b e"},
		{ScriptGrammar, "a = `b ${c + `d ${e}`} f` + g", "a c e g"},
		{ScriptGrammar, `a = /[/"(]\/b/g.test(c)`, "a g test c"},
		{ScriptGrammar, "a = b / c / d", "a b c d"},
		{ScriptGrammar, "return /a'b/", "return"},
		{ScriptGrammar, "a++ / b / c", "a b c"},
		{ScriptGrammar, "a! / b / c", "a b c"},
		{ScriptGrammar, "#!/bin/x it's\na.#b = $c", "a #b $c"},
		{ScriptGrammar, "a = <T>b", "a T b"},
		{ScriptGrammar, "a = `b ${c", "fault: this string is never closed"},
		{ScriptGrammar, "a = /* b", "fault: the comment is never closed"},
		{ScriptGrammar, "a = 'b\n'", "fault: the string is not closed on its line"},
		{MarkupGrammar, "a = <B c={d} e='f\"'>g's {h}<i.j/></B>", "a B d h i"},
		{MarkupGrammar, "a = <>b <C.D/></>; e", "a C e"},
		{MarkupGrammar, "a = <T,>(b) => c < d", "a T b c d"},
		{MarkupGrammar, "a = <T extends B>(b) => c", "a T extends B b c"},
		{MarkupGrammar, "a < b; c > d", "a b c d"},
		{MarkupGrammar, "a = <B>c", "fault: this element is never closed"},
		{StyleGrammar, "a { b: url(c'd) } /* } */", "a b"},
		{StyleGrammar, "a { b: url( 'c)' ) }", "a b url"},
		{StyleGrammar, "a { b: c", `fault: "{" is never closed`},
		{StyleGrammar, `a::before { content: "}" }`, "a before content"},
	} {
		if got := words(c.text, c.lang); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestWhatCanBeReadInTwoWaysIsSaid(t *testing.T) {
	t.Parallel()
	for text, unsure := range map[string]bool{
		"if (a) /b'/.test(c)":   true,
		"(a + b) / c":           false,
		"x = <T>(a) => b":       true,
		"x = <T>a</T>":          false,
		"x = <A<B> c={d}></A>":  true,
		"x = /a":                true,
		"x = a / b":             false,
		"} /x/.test(y)":         false, // a fault comes first
		"f(); { } /x'/.test(y)": true,
	} {
		l := NewLexer(text, MarkupGrammar)
		for l.Next().Kind != TokenEnd {
		}
		if l.Unsure != unsure {
			t.Errorf("%s: unsure %v", text, l.Unsure)
		}
	}
}

// The lexer terminates on any bytes, and its tokens are in order and do not overlap.
func FuzzLexer(f *testing.F) {
	for _, s := range []string{"f'{a:{b}}'", "<A b={c}>{d}</A>", "`${`${a}`}`", "/[/]/", "a {", "\\", "'''", "<", "f'{", "x = <A"} {
		f.Add(s, byte(1))
		f.Add(s, byte(3))
	}
	f.Fuzz(func(t *testing.T, text string, lang byte) {
		l := NewLexer(text, Grammar(1+lang%4))
		at := 0
		for n := 0; ; n++ {
			tok := l.Next()
			if tok.Kind == TokenEnd {
				break
			}
			if tok.Lo < 0 || tok.Hi > len(text) || tok.Lo > tok.Hi || tok.Hi < at || n > 2*len(text)+2 {
				t.Fatalf("token %d of %q: %v after %d", n, text, tok, at)
			}
			at = tok.Hi
		}
	})
}
