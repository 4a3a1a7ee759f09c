package signature

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/secret"
)

// heads returns the heads in a text.
func heads(text string) []Head { return Of(lang.Python, lang.ByExtension("a.py").Lex(text)) }

// told formats a head for people: a parameter with a type is followed by a colon.
func (h Head) told() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(h.params)) {
		if h.params[name] {
			name += ":"
		}
		list = append(list, name)
	}
	name := fmt.Sprintf("%d %s(%s)", h.Line, strings.TrimPrefix(h.Class+"."+h.Name, "."), strings.Join(list, " "))
	if h.result {
		name += " ->"
	}
	return name
}

func TestHeadsAreReadByTheirForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"def f(): pass\n":                                                                 "0 f()",
		"def f() -> None: pass\n":                                                         "0 f() ->",
		"async  def f ( x ) : pass\n":                                                     "0 f(x)",
		"def f(x: int, y, z: str = '',): pass\n":                                          "0 f(x: y z:)",
		"def f(x:int=1, /, *, y=2): pass\n":                                               "0 f(x: y)",
		"def f(*args, **kwargs: int): pass\n":                                             "0 f(args kwargs:)",
		"def f(* args: int, ** kw): pass\n":                                               "0 f(args: kw)",
		"def f(x:, y: ): pass\n":                                                          "0 f(x y)",
		"def f(x: dict[str, list[int]], y): pass\n":                                       "0 f(x: y)",
		"def f(x: Callable[[int, str], int]): pass\n":                                     "0 f(x:)",
		"def f(x: Annotated[int, Gt(gt=0)] = 1): pass\n":                                  "0 f(x:)",
		"def f(x=(1, 2), y=[3, 4], z={5: 6}): pass\n":                                     "0 f(x y z)",
		"def f(x=d[1:2]): pass\n":                                                         "0 f(x)",
		"def f(x: F = lambda: 1): pass\n":                                                 "0 f(x:)",
		"def f(x='): -> int', y: 'a, b' = \":\"): pass\n":                                 "0 f(x y:)",
		"def f(\n    x: int,  # y: int\n    z,\n) -> dict[\n    str, int\n]:\n    pass\n": "0 f(x: z) ->",
		"def f[T](x: T): pass\n":                                                          "0 f(x:)",
		"def f[T: Sequence[int], *Ts](x: T) -> T: pass\n":                                 "0 f(x:) ->",
		"def größe(wert: int, 数): pass\n":                                                 "0 größe(wert: 数)",
		"x = 1\nclass A(B):\n    def f(self): pass\n\n    class C:\n        def g(self, x: int): pass\ndef h(): pass\n": "2 A.f(self), 5 C.g(self x:), 6 h()",
		"if x:\n    def f(): pass\n":                "1 f()",
		"def f():\n\tdef g(x): pass\n":              "0 f(), 1 g(x)",
		"def f(a): pass\ndef f(a: int): pass\n":     "0 f(a), 1 f(a:)",
		"def f(x): pass\r\ndef g(y: int): pass\r\n": "0 f(x), 1 g(y:)",
	} {
		var got []string
		for _, h := range heads(text) {
			got = append(got, h.told())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %s, want %s", text, strings.Join(got, ", "), want)
		}
	}
}

func TestWhatIsNoHeadIsPassedOver(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", secret.MaxLine)
	for _, text := range []string{
		"", "\n\n", "# def f(x): pass\n", "\"\"\"\ndef f(x): pass\n\"\"\"\n", "s = 'def f(x): pass'\n", "undef f(x): pass\n", "def f\n", "def (x): pass\n", "def f(x)\n", "def f(x", "def f(((", "def f(x))))", "def f(x]]: pass",
		"def f(" + long + "): pass\n", "def f(\n" + strings.Repeat("    x,\n", longestHead) + "): pass\n", "\x00def f(x): pass\n", "lambda x: int\n",
	} {
		if got := heads(text); len(got) != 0 {
			t.Errorf("%.60q: %s", text, got[0].told())
		}
	}
	// The bound applies to the lines of one head, and text that is not a head hides no head after it.
	if got := heads("def f(\n" + strings.Repeat("    x,\n", longestHead-2) + "): pass\n"); len(got) != 1 {
		t.Errorf("%d heads of %d lines", len(got), longestHead)
	}
	if got := heads("def f(" + long + "): pass\ndef g(x: int): pass\n"); len(got) != 1 || got[0].Name != "g" {
		t.Errorf("%+v", got)
	}
}

func TestLessIsSaidWhereATypeGoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		then, now string
		less      bool
	}{
		{"def f(x: int): pass", "def f(x): pass", true},
		{"def f(x: int) -> int: pass", "def f(x: int): pass", true},
		{"def f(x: int, y: int): pass", "def f(y: int, x): pass", true},
		{"def f(*, x: int = 1): pass", "def f(*, x=1): pass", true},
		{"def f(*args: int): pass", "def f(*args): pass", true},
		{"def f(x: dict = {1: 2}): pass", "def f(x={1: 2}): pass", true},
		{"def f(x: F = lambda: 1): pass", "def f(x=lambda: 1): pass", true},
		{"class Größe:\n    def größe(self, x: int): pass", "class Größe:\n    def größe(self, x): pass", true},
		{"def f[T: list[int]](x: T): pass", "def f[T: list[int]](x): pass", true},
		{"def f(x: int): pass", "def f(x: ): pass", true},
		{"def f(x: int): pass\ndef f(x: str): pass", "def f(x): pass\ndef f(x: str): pass", true},
		// The types of several heads of one name may swap places.
		{"def f(x: int): pass\ndef f(x): pass", "def f(x): pass\ndef f(x: int): pass", false},
		{"def f(x: int): pass", "def f(x: Any): pass", false},
		{"def f(x: int): pass", "def f(z): pass", false},
		{"def f(x: int): pass", "def f(): pass", false},
		{"def f(x: int): pass", "def f(x: int, y): pass", false},
		{"def f(x): pass", "def f(x: int) -> int: pass", false},
		{"def f(x: int): pass", "def f(\n    x: int,\n): pass", false},
		{"", "def f(x): pass", false},
		{"", "", false},
	} {
		if got := SaysLess(heads(c.then+"\n"), heads(c.now+"\n")); got != c.less {
			t.Errorf("%q to %q: %v", c.then, c.now, got)
		}
	}
}

// FuzzOf reads the heads of any text, whether it compiles or not.
func FuzzOf(f *testing.F) {
	f.Add("class A:\n    async def f(self, x: int = (1, {2: 3})) -> list[int]:\n        pass\n")
	f.Add("def f(\n    x=lambda a: \"):\",  # )\n")
	f.Add("def f[T](*, /, **: int) ->:\n\ndef \xff(x):")
	f.Fuzz(func(t *testing.T, text string) {
		lines := lang.ByExtension("a.py").Lex(text)
		for _, family := range []lang.Family{lang.Python, lang.Script} {
			found := Of(family, lines)
			for i, h := range found {
				if h.Name == "" || h.Line < 0 || h.Line >= len(lines) || i > 0 && found[i-1].Line >= h.Line {
					t.Errorf("%+v in %q", h, text)
				}
			}
			if SaysLess(found, found) {
				t.Errorf("%q says less than itself", text)
			}
		}
		for _, n := range Notes(lines) {
			if n.Line < 0 || n.Line >= len(lines) || n.Wide && n.Part {
				t.Errorf("%+v in %q", n, text)
			}
		}
	})
}

// In scripts only named functions have heads. Calls and conditions that look like heads do not.
func TestHeadsOfScripts(t *testing.T) {
	t.Parallel()
	of := func(text string) []Head { return Of(lang.Script, lang.ByExtension("a.ts").Lex(text)) }
	for text, want := range map[string]string{
		"function f(x: string, y) {\n}\n":                                    "f",
		"export default async function g<T>(\n  x: T,\n): Promise<T> {\n}\n": "g",
		"export const h = async (x: number) => x;\n":                         "h",
		"class A {\n  private static m(x?: number): void {\n  }\n}\n":        "m",
		"  call(a ? b : c);\n":                                               "",
		"  if (a) {\n  }\n":                                                  "",
		"list.map((x: number) => x);\n":                                      "",
		"  return (a);\n":                                                    "",
		"const a: F = (x) => x;\n":                                           "",
	} {
		heads := of(text)
		if want == "" && len(heads) > 0 || want != "" && (len(heads) != 1 || heads[0].Name != want) {
			t.Errorf("%q: %+v", text, heads)
		}
	}
	if !SaysLess(of("function f(x: string) {\n"), of("function f(x) {\n")) || SaysLess(of("function f(x) {\n"), of("function f(x: string) {\n")) || SaysLess(of("function f(x: A): B {\n"), of("function f(x: A) {\n")) {
		t.Error("what says less is another one")
	}
}

func TestNotesOfJSDoc(t *testing.T) {
	t.Parallel()
	text := "/**\n * @param {string} x\n * @param {any} [y=1]\n * @param {Map<string, any>} z\n * @returns {*}\n */\nfunction f(x, y, z) {}\nconst a = 1; // @type {any}\n/** @type {{a: number}} */\n"
	got := Notes(lang.ByExtension("a.js").Lex(text))
	want := []Note{{"param x", 1, false, false}, {"param y", 2, true, false}, {"param z", 3, false, true}, {"returns ", 4, true, false}, {"type ", 8, false, false}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
