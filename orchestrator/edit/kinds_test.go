package edit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
)

// A dialect describes generated code in one language: a level of indentation, a line that opens a block, one that does not, and comments.
type dialect struct {
	path, level, opens, line, remark, after string
}

var dialects = []dialect{
	{"gen.py", "    ", "if open_%d(\"a-%d\", 'caf\u00e9'):", "value_%d = call(\"b-%d\", 'caf\u00e9')", "# remark", "  # so"},
	{"gen.go", "\t", "if open%d(\"a-%d\", 'b', \"caf\u00e9\") {", "value%d := call(\"b-%d\", 'b', \"caf\u00e9\")", "// remark", " // so"},
	{"gen.js", "  ", "if (open%d(\"a-%d\", 'caf\u00e9')) {", "const value%d = call(\"b-%d\", 'caf\u00e9');", "/* remark */", " // so"},
	{"Gen.java", "    ", "if (open%d(\"a-%d\", \"caf\u00e9\", '-')) {", "value%d = call(\"b-%d\", \"caf\u00e9\", '-');", "// remark", " /* so */"},
	{"gen.css", "  ", "#open%d .a-%d, a[b=\"caf\u00e9\"] {", "--value%d: url(\"b-%d\") \"caf\u00e9\";", "/* remark */", " /* so */"},
	{"gen.html", "  ", "<div id=\"open-%d\" class=\"a-%d caf\u00e9\">", "<p id=\"value-%d\">b-%d 'caf\u00e9'</p>", "<!-- remark -->", ""},
	{"gen.yaml", "  ", "open_%d: # \"a-%d\" caf\u00e9", "value_%d: \"b-%d caf\u00e9\"", "# remark", " # so"},
	{"gen.sh", "\t", "if open_%d \"a-%d\" 'caf\u00e9'; then", "value_%d=\"b-%d caf\u00e9\"", "# remark", " # so"},
	{"gen.rst", "   ", "open_%d \"a-%d\" 'caf\u00e9'", "value_%d \"b-%d\" 'caf\u00e9'", "", ""},
}

// A trial is generated code with an edit. Each line of REPLACE is new or one of SEARCH, so the true result is known whatever happens to
// the file.
type trial struct {
	dialect
	file    []string
	lo, hi  int
	replace []string
	from    []int // the line of the file that each line of REPLACE repeats, or -1
}

// drawTrial draws code in which all lines differ except blank ones.
func drawTrial(t *rapid.T) trial {
	x := trial{dialect: rapid.SampledFrom(dialects).Draw(t, "language")}
	depth := 0
	for i := range rapid.IntRange(8, 24).Draw(t, "lines") {
		form := x.line
		if rapid.IntRange(0, 3).Draw(t, "opens") == 0 {
			form = x.opens
		}
		x.file = append(x.file, strings.Repeat(x.level, depth)+fmt.Sprintf(form, i, i))
		if form == x.opens {
			depth++
		} else if depth = max(0, depth-rapid.IntRange(0, 2).Draw(t, "closes")); rapid.IntRange(0, 5).Draw(t, "gap") == 0 {
			x.file = append(x.file, "")
		}
	}
	n := len(x.file)
	x.lo = rapid.IntRange(1, n-4).Draw(t, "from")
	x.hi = rapid.IntRange(x.lo+3, min(n-1, x.lo+12)).Draw(t, "to")
	for strings.TrimSpace(x.file[x.lo]) == "" {
		x.lo--
	}
	for strings.TrimSpace(x.file[x.hi-1]) == "" {
		x.hi++
	}
	x.drawReplace(t)
	return x
}

// drawReplace replaces one to three lines of the window, removes or inserts some, or indents them below a new one.
func (x *trial) drawReplace(t *rapid.T) {
	at := rapid.IntRange(x.lo, x.hi-1).Draw(t, "at")
	end := rapid.IntRange(at, min(x.hi, at+3)).Draw(t, "end")
	pad := strings.Repeat(x.level, strings.Count(x.file[x.lo], x.level))
	fresh := func(n int) (out []string) {
		for i := range n {
			out = append(out, pad+fmt.Sprintf(x.line, 100+i, 100+i))
		}
		return out
	}
	var middle []string
	switch rapid.IntRange(0, 3).Draw(t, "act") {
	case 0: // replacements
		middle = fresh(max(1, end-at))
	case 1: // insertions
		end, middle = at, fresh(rapid.IntRange(1, 4).Draw(t, "new"))
	case 2: // removals
		end = max(end, at+1)
		if end-at == x.hi-x.lo {
			end--
		}
	default: // one level deeper
		end = max(end, at+1)
		middle = []string{pad + fmt.Sprintf(x.opens, 99, 99)}
		for _, s := range x.file[at:end] {
			if s != "" {
				s = x.level + s
			}
			middle = append(middle, s)
		}
	}
	for i := x.lo; i < at; i++ {
		x.replace, x.from = append(x.replace, x.file[i]), append(x.from, i)
	}
	for _, s := range middle {
		x.replace, x.from = append(x.replace, s), append(x.from, -1)
	}
	for i := end; i < x.hi; i++ {
		x.replace, x.from = append(x.replace, x.file[i]), append(x.from, i)
	}
}

// search returns the lines of SEARCH.
func (x trial) search() []string { return slices.Clone(x.file[x.lo:x.hi]) }

// result returns the correct file, given that its lines have become file: lines that the block repeats come from the file, the others
// from REPLACE.
func (x trial) result(file []string) []string {
	out := slices.Clone(file[:x.lo])
	for j, s := range x.replace {
		if i := x.from[j]; i >= 0 {
			s = file[i]
		}
		out = append(out, s)
	}
	return append(out, file[x.hi:]...)
}

// mapped applies f to the lines of [lo, hi) that are not blank.
func mapped(lines []string, lo, hi int, f func(string) string) []string {
	out := slices.Clone(lines)
	copy(out[lo:hi], each(lines[lo:hi], f))
	return out
}

// A spoilt trial is the input of the engine. want is the true result, or "" if the block must be refused. With unsure, the block may be
// refused or applied correctly.
type spoilt struct {
	file            string
	search, replace []string
	want            string
	unsure          bool
}

// whole joins lines and ends the last one.
func whole(lines []string) string { return text(lines) + "\n" }

// faultKinds are the faults of models, editors and people, by name. The second result is false if the fault does not apply to the trial.
var faultKinds = map[string]func(*rapid.T, trial) (spoilt, bool){
	"a block dedented to the margin": func(_ *rapid.T, x trial) (spoilt, bool) {
		cut := indentOf(slices.Concat(x.search(), x.replace))
		f := func(s string) string { return s[len(cut):] }
		return spoilt{whole(x.file), each(x.search(), f), each(x.replace, f), whole(x.result(x.file)), false}, cut != ""
	},
	"a block pasted deeper": func(t *rapid.T, x trial) (spoilt, bool) {
		by := rapid.SampledFrom([]string{x.level, x.level + x.level}).Draw(t, "by")
		f := func(s string) string { return by + s }
		return spoilt{whole(x.file), each(x.search(), f), each(x.replace, f), whole(x.result(x.file)), false}, true
	},
	"tabs for spaces or spaces for tabs": func(_ *rapid.T, x trial) (spoilt, bool) {
		to := "\t"
		if x.level == to {
			to = "    "
		}
		f := func(s string) string { return strings.ReplaceAll(s, x.level, to) }
		search := each(x.search(), f) // without indentation it is there exactly, and the block is taken literally
		return spoilt{whole(x.file), search, each(x.replace, f), whole(x.result(x.file)), false}, text(search) != text(x.search())
	},
	"line ends of both kinds": func(t *rapid.T, x trial) (spoilt, bool) {
		file := slices.Clone(x.file)
		for i := range file {
			file[i] += rapid.SampledFrom([]string{"", "\r"}).Draw(t, "end")
		}
		plain := func(lines []string) string { return strings.ReplaceAll(whole(lines), "\r\n", "\n") }
		want := x.result(file)
		return spoilt{whole(file), x.search(), x.replace, plain(want), false}, true
	},
	"trailing space in the file and in SEARCH": func(_ *rapid.T, x trial) (spoilt, bool) {
		file := mapped(x.file, x.lo, x.hi, func(s string) string { return s + "  " })
		search := each(x.search(), func(s string) string { return s + "\t" })
		y := x
		for j, i := range x.from { // the block repeats its own lines
			if i >= 0 {
				y.replace = mapped(y.replace, j, j+1, func(s string) string { return s + "\t" })
			}
		}
		return spoilt{whole(file), search, y.replace, whole(x.result(file)), false}, true
	},
	"typographic marks in the file": func(_ *rapid.T, x trial) (spoilt, bool) {
		marks := strings.NewReplacer(`"`, "\u201d", "'", "\u2019", "-", "\u2013")
		file := mapped(x.file, x.lo, x.hi, marks.Replace)
		return spoilt{whole(file), x.search(), x.replace, whole(x.result(file)), false}, true
	},
	"accents as characters of their own": func(_ *rapid.T, x trial) (spoilt, bool) {
		file := mapped(x.file, x.lo, x.hi, norm.NFD.String)
		return spoilt{whole(file), x.search(), x.replace, whole(x.result(file)), false}, true
	},
	"a comment line of the user": func(t *rapid.T, x trial) (spoilt, bool) {
		at := rapid.IntRange(x.lo+1, x.hi-1).Draw(t, "comment")
		file := slices.Insert(slices.Clone(x.file), at, indentOf(x.file[at:at+1])+x.remark)
		j := slices.Index(x.from, at)
		if x.remark == "" || j < 1 || x.from[j-1] != at-1 {
			return spoilt{whole(file), x.search(), x.replace, "", false}, false
		}
		want := slices.Insert(x.result(x.file), x.lo+j, file[at])
		return spoilt{whole(file), x.search(), x.replace, whole(want), true}, true
	},
	"a comment of the user after code": func(t *rapid.T, x trial) (spoilt, bool) {
		at := rapid.IntRange(x.lo, x.hi-1).Draw(t, "comment")
		file := mapped(x.file, at, at+1, func(s string) string { return s + x.after })
		return spoilt{whole(file), x.search(), x.replace, whole(x.result(file)), true}, slices.Contains(x.from, at)
	},
	"a block applied already": func(_ *rapid.T, x trial) (spoilt, bool) {
		file := whole(x.result(x.file)) // lines inserted around SEARCH are inserted again, since SEARCH is still there
		return spoilt{file, x.search(), x.replace, "", false}, !strings.Contains(file, whole(x.search()))
	},
	"the lines stand twice": func(_ *rapid.T, x trial) (spoilt, bool) {
		return spoilt{whole(slices.Concat(x.file, x.search())), x.search(), x.replace, "", false}, true
	},
	"the lines stand twice, nowhere as in SEARCH": func(_ *rapid.T, x trial) (spoilt, bool) {
		deeper := func(by string) []string { return each(x.search(), func(s string) string { return by + s }) }
		return spoilt{whole(slices.Concat(x.file, deeper("          "))), deeper(" "), x.replace, "", false}, true
	},
	"a letter differs": func(t *rapid.T, x trial) (spoilt, bool) {
		at := rapid.IntRange(0, x.hi-x.lo-1).Draw(t, "differs")
		search := mapped(x.search(), at, at+1, func(s string) string { return strings.Replace(s, "e", "x", 1) })
		return spoilt{whole(x.file), search, x.replace, "", false}, search[at] != ""
	},
	"a line of the user stands between": func(t *rapid.T, x trial) (spoilt, bool) {
		at := rapid.IntRange(x.lo+1, x.hi-1).Draw(t, "stale")
		return spoilt{whole(slices.Insert(slices.Clone(x.file), at, "line_of_the_user")), x.search(), x.replace, "", false}, true
	},
	"the file's lines go on": func(_ *rapid.T, x trial) (spoilt, bool) {
		file := mapped(mapped(x.file, x.lo, x.lo+1, func(s string) string { return "x" + s }), x.hi-1, x.hi, func(s string) string { return s + "y" })
		return spoilt{whole(file), x.search(), x.replace, "", false}, true
	},
	"a line at another depth than its neighbours": func(t *rapid.T, x trial) (spoilt, bool) {
		at := rapid.IntRange(1, x.hi-x.lo-1).Draw(t, "deeper")
		deeper := func(s string) string { return x.level + s }
		y, j := x, slices.Index(x.from, x.lo+at)
		if j < 0 {
			return spoilt{}, false
		}
		y.replace = mapped(x.replace, j, j+1, deeper)
		return spoilt{whole(x.file), mapped(x.search(), at, at+1, deeper), y.replace, whole(x.result(x.file)), true}, true
	},
}

// indentOf returns the indentation that all lines have in common.
func indentOf(lines []string) string {
	cut, first := "", true
	for _, s := range lines {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if own := s[:len(s)-len(strings.TrimLeft(s, " \t"))]; first || len(own) < len(cut) {
			cut, first = own, false
		}
	}
	return cut
}

// Every kind of fault, in every language, gives the true bytes, or a refusal if the truth cannot be known.
func TestEveryKindOfFaultGivesTheTruthOrARefusal(t *testing.T) {
	t.Parallel()
	for name, spoil := range faultKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			applied, refused := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				x := drawTrial(t)
				s, ok := spoil(t, x)
				if !ok {
					return
				}
				got, _, err := edit.ApplyBlocks(x.path, []byte(s.file), []edit.Block{{Search: whole(s.search), Replace: whole(s.replace)}})
				var refusal *problem.Refusal
				switch {
				case errors.As(err, &refusal) && (s.want == "" || s.unsure):
					refused++
				case err == nil && s.want != "" && sameEnds(string(got), s.want):
					applied++
				default:
					t.Fatalf("%s: %v\n%s\ngot\n%s\nwant\n%s", x.path, err, s.file, got, s.want)
				}
			})
			if applied+refused == 0 {
				t.Error("no draw had this fault")
			}
		})
	}
}

// sameEnds compares a result with the truth. If the truth has only plain line ends, the ends of the result are left to another test.
func sameEnds(got, want string) bool {
	return got == want || !strings.Contains(want, "\r") && strings.ReplaceAll(got, "\r\n", "\n") == want
}
