package lang

import (
	"strings"
	"testing"
)

func TestNamesAsTheirLanguageReadsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, text, code string }{
		{"a.py", "ｅxec(ORDER)", "exec(ORDER)"},
		{"a.py", "𝐞𝐱𝐞𝐜(x) + ｏｓ._ｅxit(0)", "exec(x) + os._exit(0)"},
		{"a.py", "x = 'ｅxec'  # ｅval", `x = ""  `},
		{"a.py", "Δt = naïve_λ + 名前1", "Δt = naïve_λ + 名前1"},
		{"a.js", `ev\u0061l(x)`, "eval(x)"},
		{"a.ts", `\u{65}v\u{000000000061}l(x) + "\u0061" + /\u0061/.x`, `eval(x) + "" + "".x`},
		{"a.js", "`\\u0061${ev\\u0061l(x)}`", `""eval(x)`},
		{"a.js", `this.#\u{61}b`, "this.#ab"},
		{"a.js", `x\u{ffffffff} \u00`, `x\u{ffffffff} \u00`},
		{"a.go", "ｅxec()", "ｅxec()"},
	} {
		l := Of(c.path)
		line := AsRead(l.Family, l.Lex(c.text))[0]
		if strings.TrimSpace(line.Code) != strings.TrimSpace(c.code) {
			t.Errorf("%s: %q is read as %q, want %q", c.path, c.text, line.Code, c.code)
		}
	}
	lines := Of("a.py").Lex("a = 1\nｅxec(\"é\")\n")
	if read := AsRead(Python, lines); read[1].Raw != `exec("é")` || lines[1].Raw != `ｅxec("é")` || read[0].Raw != "a = 1" {
		t.Errorf("%+v of %+v", read, lines)
	}
}

// The time grows in proportion to the text.
func TestSpellingsOfHostileText(t *testing.T) {
	t.Parallel()
	for path, text := range map[string]string{"a.py": strings.Repeat("ｅ ", 1<<18), "b.py": strings.Repeat("é ", 1<<19), "a.js": strings.Repeat(`\u0061`, 1<<18), "b.js": strings.Repeat(`a\u{`, 1<<18)} {
		l := Of(path)
		AsRead(l.Family, l.Lex(text))
	}
}
