package concealed

import (
	"strings"
	"testing"
)

func TestNamesThatReadAsOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, line string }{
		{"a.py", "ｅxec(ORDER)"},
		{"a.py", "x = 𝐞𝐯𝐚𝐥(y)"},
		{"a.py", "ﬁle = 1"},
		{"a.js", `ev\u0061l(x);`},
		{"a.ts", `glob\u{61}lThis.expect = f;`},
		{"a.py", "def lеvel_of(): pass"},              // Cyrillic
		{"a.go", "func lеvelOf() {}"},                 // Cyrillic
		{"a.js", "const tοtal = 1;"},                  // Greek
		{"a.ts", "const ոame = 1;"},                   // Armenian
		{"a.rs", "let Ꭺccess = 1;"},                   // Cherokee
		{"a.py", "lеvel_ж = 1"},                       // Cyrillic, next to a Cyrillic word
		{"a.py", "sсore = score"},                     // Cyrillic
		{"a.py", "соре_level = cope_level"},           // a word of Cyrillic letters next to a plain one
		{"a.py", "соре = 2\ncope = 1"},                // all of it Cyrillic
		{"a.py", "lαbel = label"},                     // Greek, used in mathematics
		{"a.js", "const ｓum = 2, sum = 1;"},           // full width, which JavaScript treats as different
		{"a.js", "class A { lɑbel() {} label() {} }"}, // phonetic
		{"a.jsx", "const х = 1, х_max = 2, x_max = 3;"},
	} {
		if found := Names(c.path, "a\n", "a\n"+c.line+"\n"); len(found) != 1 || found[0].Number != 2 {
			t.Errorf("%s: %s: %+v", c.path, c.line, found)
		}
		if found := Names(c.path, c.line+"\n", "a\n"+c.line+"\n"); len(found) > 0 {
			t.Errorf("%s: %s, which was there: %+v", c.path, c.line, found)
		}
	}
}

// Whole languages, mathematics, and characters outside of names are ordinary writing.
func TestOrdinaryNames(t *testing.T) {
	t.Parallel()
	for path, lines := range map[string][]string{
		"a.py": {
			"Δt = t1 - t0", "μ_x = x.mean(); σ_x = x.std()", "µ = 1e-6", "ρ_water, p_water = 1000, 1", "νx, vx = 1, 2", "α_max, a_max = 1, 2", "dθ = dα = cosα = 1; da = 2", "λ = 1", "ℓ = 3", "xᵢ = xi",
			"𝒟_train = D_train", "𝐱 = x", "π_half", "ε0 = 8.8e-12; ω0 = 1; Ωm = 0.3", "∂ = 1", "σ2 = σ**2; o2 = 1", "цена = 1; цена_usd = цена", "getЦена()", "с = 1; х = 2; c = 3", "naïve = café = 1", "größe_x = 1", "名前x = 1; 価格_usd = 2", "sınır = 1; sinir = 2",
			"x = 'lеvel'  # lеvel", "π, pi = 3, 3", "é = 1", "Å = 1", "ħ = 1", "сор = 1", "γ = 1; y = 2; γ_dot = y_dot = 1", "ν, v = 1, 2",
		},
		"a.go":   {"var Δx, xΔ float64", "type 日本 struct{ name名 int }", "const µs = 1", "func Größe() {}"},
		"a.js":   {`x = "\u0061" + /\u0041bc/.source;`, "const ñandu = `${a}\\u0061`;", `const \u00e9t\u00e9 = 1;`, "const $Δ = 1;"},
		"a.tsx":  {"return <p>Привет, мир</p>;", "return <p>Настройки CSS</p>;"},
		"a.vue":  {"<p>Cрок</p>"},
		"a.md":   {"lеvel"},
		"a.json": {`{"lеvel": 1}`},
		"tests/test_a.py": {
			"ｅxec = 1", "lеvel = 2",
		},
	} {
		for _, line := range lines {
			if found := Names(path, "", line+"\n"); len(found) > 0 {
				t.Errorf("%s: %s: %+v", path, line, found)
			}
		}
	}
	if found := Names("a.py", "", strings.Repeat("ｅxec(1)\n", 50)); len(found) != mostLines {
		t.Errorf("%d lines are told", len(found))
	}
}
