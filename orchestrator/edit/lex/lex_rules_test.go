package lex

import (
	"fmt"
	"strings"
	"testing"
)

// lexed renders the lexer's view of a text: each token with a letter for its kind, then the fault with its place.
func lexed(text string, lang Grammar) string {
	l := NewLexer(text, lang)
	var out []string
	for {
		t := l.Next()
		if t.Kind == TokenEnd {
			break
		}
		out = append(out, fmt.Sprintf("%c%q", "ewnspl"[t.Kind], text[t.Lo:t.Hi]))
	}
	if l.Fault != nil {
		out = append(out, fmt.Sprintf("fault at %d", l.Fault.At))
	}
	return strings.Join(out, " ")
}

func TestTokensOfPython(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"a\n\n# b\nc", `w"a" l"\n" w"c" l""`},
		{"(a\n)\n", `p"(" w"a" p")" l"\n"`},
		{"a \\\r\nb\r\n", `w"a" w"b" l"\r"`},
		{"a \\", `w"a" l""`},
		{"'a\\\r\nb' c", `s"'a\\\r\nb'" w"c" l""`},
		{"'a\\", `fault at 0`},
		{".5 a.b", `n".5" w"a" p"." w"b" l""`},
		{"Rb'a' x'b'", `s"Rb'a'" w"x" s"'b'" l""`},
		{"'' 'a'", `s"''" s"'a'" l""`},
		{"f'{a[1:2]}'", `s"f'{" w"a" p"[" n"1" p":" n"2" p"]" s"}'" l""`},
		{"f'{a!r}'", `s"f'{" w"a" s"r" s"}'" l""`},
		{"f'{a!=b}'", `s"f'{" w"a" p"!" p"=" w"b" s"}'" l""`},
		{"f'{a:>{b}}c'", `s"f'{" w"a" s":>{" w"b" s"}}c'" l""`},
		{"f'{{a}}'", `s"f'{{a}}'" l""`},
		{"f'\\{a}'", `s"f'\\{" w"a" s"}'" l""`},
		{"f'\\'{a}'", `s"f'\\'{" w"a" s"}'" l""`},
		{"f'{a:b'", `s"f'{" w"a" fault at 0`},
		{"f'''{a", `s"f'''{" w"a" fault at 0`},
		{"f'a", `fault at 0`},
	} {
		if got := lexed(c.text, PythonGrammar); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestTokensOfScriptsAndStyles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang       Grammar
		text, want string
	}{
		{ScriptGrammar, "a++ /b/ c", `w"a" p"++" p"/" w"b" p"/" w"c"`},
		{ScriptGrammar, "++/b/.c", `p"++" s"/b/" p"." w"c"`},
		{ScriptGrammar, "case /[/]/: a", `w"case" s"/[/]/" p":" w"a"`},
		{ScriptGrammar, "'a\\\nb'", `s"'a\\\nb'"`},
		{ScriptGrammar, "`\\`${a}`", "s\"`\\\\`${\" w\"a\" s\"}`\""},
		{ScriptGrammar, "`${a}", "s\"`${\" w\"a\" fault at 0"},
		{ScriptGrammar, "a = <b", `w"a" p"=" p"<" w"b"`},
		{MarkupGrammar, "<div a='b'/>", `s"div" s"'b'" s"/>"`},
		{MarkupGrammar, "<Cart.Item/>", `w"Cart" s"/>"`},
		{MarkupGrammar, "<cart.item/>", `w"cart" s"/>"`},
		{MarkupGrammar, "<a>it's</a>", `s"a" s">" s"it's</a>"`},
		{MarkupGrammar, "<a>b{c}d", `s"a" s">" p"{" w"c" p"}" fault at 0`},
		{MarkupGrammar, "<a>b</", `s"a" s">" fault at 0`},
		{MarkupGrammar, "<a b='c", `s"a" fault at 5`},
		{MarkupGrammar, "<a )", `s"a" fault at 3`},
		{MarkupGrammar, "<a b", `s"a" fault at 0`},
		{MarkupGrammar, "a = <T = U>() => b", `w"a" p"=" p"<" w"T" p"=" w"U" p">" p"(" p")" p"=" p">" w"b"`},
		{MarkupGrammar, "a = <1", `w"a" p"=" p"<" n"1"`},
		{StyleGrammar, "a // it is {", `w"a" p"/" p"/" w"it" w"is" p"{" fault at 11`},
		{StyleGrammar, "url(it's) a", `s"url(it's)" w"a"`},
		{StyleGrammar, "url(a", `fault at 0`},
		{StyleGrammar, "URL('a)')", `w"URL" p"(" s"'a)'" p")"`},
		{StyleGrammar, "\\} a", `p"" w"a"`},
	} {
		if got := lexed(c.text, c.lang); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestATagWithAnotherLanguageInItIsUnsure(t *testing.T) {
	t.Parallel()
	for text, sure := range map[string]bool{
		"x = <A b='/*'></A>":    true,
		"x = <A /* b */></A>":   false,
		"x = <A // b\n></A>":    false,
		"x = <A b={c // d\n}/>": true,
	} {
		if _, ok := LexAll(text, MarkupGrammar); ok != sure {
			t.Errorf("%q: read with certainty: %v", text, ok)
		}
	}
}
