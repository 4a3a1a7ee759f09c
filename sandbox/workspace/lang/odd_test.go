package lang

import (
	"strings"
	"sync"
	"testing"
)

func TestOddTextsAreSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, text, want string }{
		{"python", "", ""},
		{"python", "\ufeff# a", "|# a"},
		{"python", "\ufeff\ufeffx", "\ufeffx"},
		{"python", "a\rb\r\n\r# c", "a\nb\n\n|# c"},
		{"python", "\n\n", "\n"},
		{"python", "x = '\\", `x = '\`},
		{"python", "x = '日本 # é' # ü", `x = "" |# ü`},
		{"python", "x = '\xff#' # \xfe", "x = \"\" |# \xfe"},
		{"python", "x = '\x00' # a\x00b", "x = \"\" |# a\x00b"},
		{"python", "x = \"\"\"a\n# b", "x = \"\"\"a\n|# b"},
		{"python", "'a\\\n# b' # c", "\"\"\n< |# c"},
		// The meaning of a slash depends on what precedes it.
		{"javascript", "/'/ // a", `"" |// a`},
		{"javascript", "<a>b</a> // '", "<a>b</a> |// '"},
		{"javascript", "<br/> // c", "<br/> |// c"},
		{"javascript", "x => /'/ // a", `x => "" |// a`},
		{"javascript", "x  =>  /'/ // a", `x  =>  "" |// a`},
		{"javascript", "a > /'/ // '", "a > /\"\""},
		{"javascript", "a[0] / b // '", "a[0] / b |// '"},
		{"javascript", "'a' / b // '", `"" / b |// '`},
		{"javascript", "f(a) / g(b) // '", "f(a) / g(b) |// '"},
		{"javascript", "while ((a)) /'/ // b", `while ((a)) "" |// b`},
		{"javascript", ")) /'/ // b'", ")) /\"\""},
		{"javascript", "/[/']/ // a", `"" |// a`},
		{"javascript", "/[\\]/']/ // a", `"" |// a`},
		{"javascript", "/a\n/ // b", "/a\n/ |// b"},
		{"javascript", "$日本 / 2 // a", "$日本 / 2 |// a"},
		// Code in strings, in strings in code.
		{"javascript", "`a ${{b: `c ${d} // e`}} // f` // g", `""{b: ""d} |// g`},
		{"javascript", "`a\n${b\n}` // c", "\"\"\n<b\n |// c"},
		{"javascript", "`\\`${a}\\${` // b", `""a |// b`},
		{"javascript", "}}} // a", "}}} |// a"},
		{"rust", "r\"a\n// b\" // c", "r\"\"\n< |// c"},
		{"rust", "r#\"a // b", `r#"a |// b`},
		{"rust", "'\\u{1F600}' '\\'' 'é' // a", `"" "" "" |// a`},
		{"rust", "'\\", `'\`},
		{"rust", "'", "'"},
		{"cpp", "R\"", `R"`},
		{"cpp", "R\"(a", `R"(a`},
		{"cpp", "R\"0123456789abcdef(a)\" // )0123456789abcdef\" // b", `R"" |// b`},
		{"cpp", "R\"0123456789abcdefg(a)\" // b", `R"0123456789abcdefg(a)" |// b`},
		{"go", "'\n' // a", "'\n' |// a"},
		{"html", "<!-- a", "|<!-- a"},
		{"html", "<!--\n\n--> b", "|<!--\n|<!--\n b|<!---->"},
		{"lua", "--[[", "|--[["},
		{"shell", "a#b # c", "a#b # c"},
		{"json", "\"# // /* a", "\"# // /* a"},
	} {
		if got := told(Named(c.id).Lex(c.text)); got != c.want {
			t.Errorf("%s %q:\n%q\nwant\n%q", c.id, c.text, got, c.want)
		}
		whole(t, c.text, Named(c.id).Lex(c.text))
	}
}

// Concurrent callers share the rows.
func TestRowsAreReadByManyAtOnce(t *testing.T) {
	t.Parallel()
	text := "x = 'a' # b\n// c /* d */\n`${e}`\n"
	want := map[string]string{}
	for _, l := range All() {
		want[l.ID] = told(l.Lex(text))
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for _, l := range All() {
				if got := told(l.Lex(text)); got != want[l.ID] {
					t.Errorf("%s: %q, want %q", l.ID, got, want[l.ID])
				}
				All()[0], l = nil, All()[0]
				if l == nil {
					t.Error("the rows can be changed from outside")
				}
			}
		})
	}
	wait.Wait()
}

func TestOddNamesHaveNoLanguage(t *testing.T) {
	t.Parallel()
	long := "#!/" + strings.Repeat("x", maxFirstLine) + "/python\n"
	for _, c := range []struct{ name, text, want string }{
		{"", "", ""},
		{".", "", ""},
		{"/", "", ""},
		{".py", "", "python"},
		{"a.", "", ""},
		{"a.py.", "", ""},
		{"a.py/b", "", ""},
		{"é/ü.PY", "", "python"},
		{"Gemfile.txt", "", ""},
		{"x\n.go", "", "go"},
		{"run", "#!", ""},
		{"run", "#! \t\n", ""},
		{"run", "\ufeff#!/bin/sh\n", ""},
		{"run", " #!/bin/sh\n", ""},
		{"run", "#!/bin/sh\r\n", "shell"},
		{"run", "#! /usr/bin/env -S FOO=1 python3.13t\n", "python"},
		{"run", "#!/usr/bin/3.13\n", ""},
		{"run", long, ""},
		{"run", "#!/usr/bin/env \xff\n", ""},
		{"bin.d/run", "#!/usr/bin/env python\n", "python"},
	} {
		got := ""
		if l := Detect(c.name, c.text); l != nil {
			got = l.ID
		}
		if got != c.want {
			t.Errorf("%q with %.40q is %q, want %q", c.name, c.text, got, c.want)
		}
	}
	if (*Language)(nil).MayTest("tests/a.py") || Named("json").MayTest("tests/a.json") || Named("Python") != nil || Named("") != nil {
		t.Error("what has no row holds tests")
	}
}
