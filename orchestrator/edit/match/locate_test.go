package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
)

// located renders a finding on one line: the strategy and range of each place, from 1, or the ambiguous lines, or "nowhere".
func located(f Finding) string {
	if len(f.Ambiguous) > 0 {
		return fmt.Sprint("ambiguous ", f.Ambiguous)
	}
	if len(f.Places) == 0 {
		return "nowhere"
	}
	var out []string
	for _, p := range f.Places {
		out = append(out, fmt.Sprintf("%s %d-%d", p.Strategy, p.Lo+1, p.Hi))
	}
	return strings.Join(out, ", ")
}

// bars splits a text into lines at "|".
func bars(s string) []string { return strings.Split(s, "|") }

func TestEachStrategyFindsItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, file, search, want string }{
		{"exact", "a.py", "a = 1|b = 2|c = 3", "b = 2", "exact 2-2"},
		{"exact at the start", "a.py", "a = 1|b = 2", "a = 1", "exact 1-1"},
		{"exact at the end", "a.py", "a = 1|b = 2", "b = 2", "exact 2-2"},
		{"exact with its blank lines", "a.py", "a = 1||b = 2|", "|b = 2", "exact 2-3"},
		{"exact before what is only alike", "a.py", "  a = 1|a = 1|a = 1  ", "a = 1", "exact 2-2"},
		{"exact twice", "a.py", "a = 1|b|a = 1", "a = 1", "ambiguous [1 3]"},
		{"exact, overlapping itself", "a.py", "a|a|a", "a|a", "ambiguous [1 2]"},
		{"not within a line", "a.py", "aa = 11|b", "a = 1", "nowhere"},
		{"only the start of a line", "a.py", "a = 1 + 2|b", "a = 1", "nowhere"},
		{"trailing space in the file", "a.py", "a = 1  |b", "a = 1", "stripped 1-1"},
		{"trailing space in the block", "a.py", "a = 1|b", "a = 1\t", "stripped 1-1"},
		{"outer blank lines", "a.py", "a = 1|b = 2", "|a = 1||", "stripped 1-1"},
		{"outer blank lines and trailing space", "a.py", "a = 1 |b = 2", "|a = 1", "stripped 1-1"},
		{"stripped twice", "a.py", "a = 1 |b|a = 1\t", "a = 1", "ambiguous [1 3]"},
		{"blank lines that tell two places apart", "a.py", "a = 1|b||a = 1 |", "|a = 1", "stripped 3-4"},
		{"quotes", "a.py", "a = \u201cx\u201d|b", "a = \"x\"", "normalised 1-1"},
		{"quotes the other way", "a.py", "a = \"x\"|b", "a = \u201cx\u201d", "normalised 1-1"},
		{"quotes twice", "a.py", "a = \u201cx\u201d|a = \u201ex\u201d", "a = \"x\"", "ambiguous [1 2]"},
		{"blank line left out", "a.py", "a = 1||b = 2", "a = 1|b = 2", "normalised 1-3"},
		{"blank line too many", "a.py", "a = 1|b = 2", "a = 1||b = 2", "normalised 1-2"},
		{"comment left out", "a.py", "a = 1|# c|b = 2", "a = 1|b = 2", "normalised 1-3"},
		{"comments and blank lines left out", "a.py", "a = 1|# c||# d|b = 2", "a = 1|b = 2", "normalised 1-5"},
		{"one of two comments left out", "a.py", "a = 1|# c|# d|b = 2", "a = 1|# d|b = 2", "normalised 1-4"},
		{"a comment the file has elsewhere", "a.py", "# d|a = 1|# c|b = 2", "a = 1|# d|b = 2", "nowhere"},
		{"comment at the start of the block", "a.py", "a = 1|b = 2|# d", "# d|a = 1|b = 2", "nowhere"},
		{"a comment of another language", "a.css", "a = 1|# c|b = 2", "a = 1|b = 2", "nowhere"},
		{"shifted", "a.py", "    a = 1|    b = 2", "a = 1|b = 2", "indentation 1-2"},
		{"shifted to two places", "a.py", "    a = 1|  b|        a = 1", "a = 1", "ambiguous [1 3]"},
		{"tabs", "a.py", "\ta = 1|\t\tb = 2", "    a = 1|        b = 2", "indentation 1-2"},
		{"shifted, with quotes", "a.py", "    a = \u201cx\u201d", "a = \"x\"", "robust 1-1"},
		{"shifted, with a blank line left out", "a.py", "    a = 1||    b = 2", "a = 1|b = 2", "robust 1-3"},
		{"elided", "a.py", "a = 1|b = 2|c = 3|d = 4", "a = 1|# ...|d = 4", "robust 1-1, robust 4-4"},
		{"elided in the wrong order", "a.py", "a = 1|b = 2|c = 3|d = 4", "d = 4|# ...|a = 1", "nowhere"},
		{"a comment only", "a.py", "    # c|a = 1", "# c", "nowhere"},
		{"braces only", "a.go", "\t}|a", "}", "nowhere"},
		{"blank lines only", "a.py", "a||b", "|", "nowhere"},
		{"nothing", "a.py", "a", "", "nowhere"},
		{"one token differs", "a.py", "a = 1|b = 2|c = 3", "a = 1|b = 4|c = 3", "nowhere"},
		{"one line too many", "a.py", "a = 1|b = 2", "a = 1|x = 9|b = 2", "nowhere"},
		{"one line left out", "a.py", "a = 1|x = 9|b = 2", "a = 1|b = 2", "nowhere"},
		{"past the end", "a.py", "a = 1|b = 2", "b = 2|c = 3", "nowhere"},
	} {
		d := document.New(c.path, []byte(strings.Join(bars(c.file), "\n")+"\n"))
		search := bars(c.search)
		replace := search
		if i := slices.IndexFunc(search, func(s string) bool { return s == "# ..." }); i < 0 {
			replace = []string{"new"}
		}
		if got := located(locate(d, search, replace)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// No strategy accepts a text that differs in one token, wherever that token is. Everything else relies on this rule.
func TestNoStrategyAcceptsAnotherToken(t *testing.T) {
	t.Parallel()
	file := bars("def level(items):|    total = 0|    for item in items:|        if item.count > limit:|            total += item.count * 2|    return total")
	d := document.New("a.py", []byte(strings.Join(file, "\n")+"\n"))
	spoilt := map[string]string{"level": "levels", "items": "item", "0": "1", "for": "or", ">": "<", "+=": "-=", "* 2": "* 3", "return": "yield", "count": "Count"}
	tried := 0
	for lo := range file {
		for hi := lo + 1; hi <= len(file); hi++ {
			for from, to := range spoilt {
				for _, by := range []string{"", "  ", "\t"} {
					body := strings.Join(file[lo:hi], "\n")
					if !strings.Contains(body, from) {
						continue
					}
					tried++
					search := strings.Split(by+strings.ReplaceAll(strings.Replace(body, from, to, 1), "\n", "\n"+by), "\n")
					if f := locate(d, search, []string{"new"}); len(f.Places) > 0 {
						t.Errorf("lines %d to %d with %q for %q were found: %s", lo+1, hi, to, from, located(f))
					}
				}
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d texts were tried", tried)
	}
}

func TestABlockWhoseOnlyChangeIsInOuterBlankLinesIsNotGuessed(t *testing.T) {
	t.Parallel()
	d := document.New("a.py", []byte("a = 1\nb = 2\n"))
	f := LocateStrict(d, []string{"", "b = 2"}, []string{"b = 2"})
	if f.found() {
		t.Errorf("a blank line to remove that is not there was found: %s", located(f))
	}
}
