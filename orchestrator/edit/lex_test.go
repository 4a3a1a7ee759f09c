package edit

import (
	"strings"
	"testing"
)

// words renders the names that the lexer sees in a text, or the fault.
func words(text string, lang grammar) string {
	l := newLexer(text, lang)
	var out []string
	for {
		switch t := l.next(); t.kind {
		case tokenWord:
			out = append(out, text[t.lo:t.hi])
		case tokenEnd:
			if l.fault != nil {
				return "fault: " + l.fault.why
			}
			return strings.Join(out, " ")
		}
	}
}

func TestNamesAreSeenInCodeOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang       grammar
		text, want string
	}{
		{pythonGrammar, "a = b # c", "a b"},
		{pythonGrammar, "a = 'b' \"c\" '''d\n'e''' + f", "a f"},
		{pythonGrammar, `a = r'\' + b`, "fault: the string is never closed"},
		{pythonGrammar, `a = rb"\"" + b`, "a b"},
		{pythonGrammar, `f"x {a.b} y"`, "a b"},
		{pythonGrammar, `f"{a!r:>{b}.{c}} {{d}}" + e`, "a b c e"},
		{pythonGrammar, `f"{a:{b:{c}}}" + d`, "a b c d"},
		{pythonGrammar, `f"{a["b"]}" + rf'\{c}'`, "a c"},
		{pythonGrammar, `f"\N{BULLET} {a}"`, "a"},
		{pythonGrammar, `f'''{a}` + "\n" + `{ {"b": c}['b'] }''' + d`, "a c d"},
		{pythonGrammar, "a = 1e-5 + 0xff + b.c", "a b c"},
		{pythonGrammar, "a = (b\n  + c)", "a b c"},
		{pythonGrammar, "a = (b]", `fault: "]" does not close "(" of line 1`},
		{pythonGrammar, "a = b)", `fault: ")" closes nothing`},
		{pythonGrammar, "a = (b", `fault: "(" is never closed`},
		{pythonGrammar, "a = '''b", "fault: the string is never closed"},
		{pythonGrammar, "größe = 1", "größe"},
		{scriptGrammar, "a = b // c\n/* d */ e", "a b e"},
		{scriptGrammar, "a = `b ${c + `d ${e}`} f` + g", "a c e g"},
		{scriptGrammar, `a = /[/"(]\/b/g.test(c)`, "a g test c"},
		{scriptGrammar, "a = b / c / d", "a b c d"},
		{scriptGrammar, "return /a'b/", "return"},
		{scriptGrammar, "a++ / b / c", "a b c"},
		{scriptGrammar, "a! / b / c", "a b c"},
		{scriptGrammar, "#!/bin/x it's\na.#b = $c", "a #b $c"},
		{scriptGrammar, "a = <T>b", "a T b"},
		{scriptGrammar, "a = `b ${c", "fault: this string is never closed"},
		{scriptGrammar, "a = /* b", "fault: the comment is never closed"},
		{scriptGrammar, "a = 'b\n'", "fault: the string is not closed on its line"},
		{markupGrammar, "a = <B c={d} e='f\"'>g's {h}<i.j/></B>", "a B d h i"},
		{markupGrammar, "a = <>b <C.D/></>; e", "a C e"},
		{markupGrammar, "a = <T,>(b) => c < d", "a T b c d"},
		{markupGrammar, "a = <T extends B>(b) => c", "a T extends B b c"},
		{markupGrammar, "a < b; c > d", "a b c d"},
		{markupGrammar, "a = <B>c", "fault: this element is never closed"},
		{styleGrammar, "a { b: url(c'd) } /* } */", "a b"},
		{styleGrammar, "a { b: url( 'c)' ) }", "a b url"},
		{styleGrammar, "a { b: c", `fault: "{" is never closed`},
		{styleGrammar, `a::before { content: "}" }`, "a before content"},
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
		l := newLexer(text, markupGrammar)
		for l.next().kind != tokenEnd {
		}
		if l.unsure != unsure {
			t.Errorf("%s: unsure %v", text, l.unsure)
		}
	}
}

// The lexer ends on any bytes, with tokens in order that do not overlap.
func FuzzLexer(f *testing.F) {
	for _, s := range []string{"f'{a:{b}}'", "<A b={c}>{d}</A>", "`${`${a}`}`", "/[/]/", "a {", "\\", "'''", "<", "f'{", "x = <A"} {
		f.Add(s, byte(1))
		f.Add(s, byte(3))
	}
	f.Fuzz(func(t *testing.T, text string, lang byte) {
		l := newLexer(text, grammar(1+lang%4))
		at := 0
		for n := 0; ; n++ {
			tok := l.next()
			if tok.kind == tokenEnd {
				break
			}
			if tok.lo < 0 || tok.hi > len(text) || tok.lo > tok.hi || tok.hi < at || n > 2*len(text)+2 {
				t.Fatalf("token %d of %q: %v after %d", n, text, tok, at)
			}
			at = tok.hi
		}
	})
}
