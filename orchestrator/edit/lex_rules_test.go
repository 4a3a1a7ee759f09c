package edit

import (
	"fmt"
	"strings"
	"testing"
)

// lexed renders what the lexer makes of a text: each token with a letter for
// its kind, and the fault with its place at the end.
func lexed(text string, lang grammar) string {
	l := newLexer(text, lang)
	var out []string
	for {
		t := l.next()
		if t.kind == tokenEnd {
			break
		}
		out = append(out, fmt.Sprintf("%c%q", "ewnspl"[t.kind], text[t.lo:t.hi]))
	}
	if l.fault != nil {
		out = append(out, fmt.Sprintf("fault at %d", l.fault.at))
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
		if got := lexed(c.text, pythonGrammar); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestTokensOfScriptsAndStyles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang       grammar
		text, want string
	}{
		{scriptGrammar, "a++ /b/ c", `w"a" p"++" p"/" w"b" p"/" w"c"`},
		{scriptGrammar, "++/b/.c", `p"++" s"/b/" p"." w"c"`},
		{scriptGrammar, "case /[/]/: a", `w"case" s"/[/]/" p":" w"a"`},
		{scriptGrammar, "'a\\\nb'", `s"'a\\\nb'"`},
		{scriptGrammar, "`\\`${a}`", "s\"`\\\\`${\" w\"a\" s\"}`\""},
		{scriptGrammar, "`${a}", "s\"`${\" w\"a\" fault at 0"},
		{scriptGrammar, "a = <b", `w"a" p"=" p"<" w"b"`},
		{markupGrammar, "<div a='b'/>", `s"div" s"'b'" s"/>"`},
		{markupGrammar, "<Cart.Item/>", `w"Cart" s"/>"`},
		{markupGrammar, "<cart.item/>", `w"cart" s"/>"`},
		{markupGrammar, "<a>it's</a>", `s"a" s">" s"it's</a>"`},
		{markupGrammar, "<a>b{c}d", `s"a" s">" p"{" w"c" p"}" fault at 0`},
		{markupGrammar, "<a>b</", `s"a" s">" fault at 0`},
		{markupGrammar, "<a b='c", `s"a" fault at 5`},
		{markupGrammar, "<a )", `s"a" fault at 3`},
		{markupGrammar, "<a b", `s"a" fault at 0`},
		{markupGrammar, "a = <T = U>() => b", `w"a" p"=" p"<" w"T" p"=" w"U" p">" p"(" p")" p"=" p">" w"b"`},
		{markupGrammar, "a = <1", `w"a" p"=" p"<" n"1"`},
		{styleGrammar, "a // it is {", `w"a" p"/" p"/" w"it" w"is" p"{" fault at 11`},
		{styleGrammar, "url(it's) a", `s"url(it's)" w"a"`},
		{styleGrammar, "url(a", `fault at 0`},
		{styleGrammar, "URL('a)')", `w"URL" p"(" s"'a)'" p")"`},
		{styleGrammar, "\\} a", `p"" w"a"`},
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
		if _, ok := lexAll(text, markupGrammar); ok != sure {
			t.Errorf("%q: read with certainty: %v", text, ok)
		}
	}
}

func TestTheBracketsAroundATokenAreKnown(t *testing.T) {
	t.Parallel()
	l, ok := newListing("f(a[0], b)", pythonGrammar)
	if !ok {
		t.Fatal("the text is not read")
	}
	// f ( a [ 0 ] , b ) and the end of the line
	if got, want := fmt.Sprint(l.outer), "[-1 -1 1 1 3 1 1 1 -1 -1]"; got != want {
		t.Errorf("brackets around: %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(l.shuts), "[-1 8 -1 5 -1 -1 -1 -1 -1 -1]"; got != want {
		t.Errorf("closed by: %s, want %s", got, want)
	}
}

func TestALoneEqualsSignIsToldFromItsNeighbours(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a = b": true, "a == b": false, "a => b": false, "a <= b": false, "a != b": false, "a += b": true,
	} {
		l, _ := newListing(text, scriptGrammar)
		got := false
		for i := range l.toks {
			got = got || l.assigns(i)
		}
		if got != want {
			t.Errorf("%s assigns: %v", text, got)
		}
	}
}
