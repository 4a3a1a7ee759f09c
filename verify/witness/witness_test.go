package witness

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
)

// equal is a form of no real language, so that its meaning can be computed here.
var equal = Form{Body: "{var} = {start}; {expr} == {want}\n"}

func TestNamesAreNewAndLikeThoseAround(t *testing.T) {
	t.Parallel()
	existing := []string{"test_price_of_two", "test_price_of_none"}
	for _, style := range []Style{{"test_", "_", false}, {"Test", "", true}, {"", " ", false}} {
		d, seen := NewDraw(), map[string]bool{}
		form := regexp.MustCompile(`^` + style.Prefix + `\pL[\pL` + style.Joint + `]+$`)
		for range 300 {
			name := d.Name(style, existing)
			if seen[name] || slices.Contains(existing, name) || !form.MatchString(name) {
				t.Fatalf("%q", name)
			}
			seen[name] = true
			if few := d.Name(style, []string{style.Prefix + "Price"}); len(split(few)) < 3 {
				t.Fatalf("%q has too few words: tests of others may have them", few)
			}
			var known Set
			if known.Create("a", "", []Test{{Place: "a", Name: name}}); known.named(name) != 0 {
				t.Fatalf("%q is not known by its name", name)
			}
		}
	}
	if a, b := NewDraw().Name(Style{"t_", "_", false}, nil), NewDraw().Name(Style{"t_", "_", false}, nil); a == b {
		t.Errorf("two runs draw %q", a)
	}
}

func TestBodiesDifferInTheValueAlone(t *testing.T) {
	t.Parallel()
	d := NewDraw()
	number := regexp.MustCompile(`^(\w+) = (\d+); \(\w+ \* (\d+) \+ (\d+)\) % (\d+) == (\d+)\n$`)
	text := regexp.MustCompile(`^(\w+) = "(\w+)"; \w+ \+ "(-\w+)" == "([\w-]+)"\n$`)
	for i := range 400 {
		form := equal
		form.Turned, form.Numeric = i%3 == 0, i%5 == 0
		fails := i%2 == 0
		body, same := d.Write(form, fails), false
		if m := number.FindStringSubmatch(body); m != nil {
			n := func(i int) (v int) {
				for _, c := range m[i] {
					v = v*10 + int(c-'0')
				}
				return v
			}
			same = (n(2)*n(3)+n(4))%n(5) == n(6)
		} else if m := text.FindStringSubmatch(body); m != nil && !form.Numeric {
			same = m[2]+m[3] == m[4]
		} else {
			t.Fatalf("%q", body)
		}
		if passes := same != form.Turned; passes == fails {
			t.Fatalf("it fails %v: %q", fails, body)
		}
	}
}

func TestDrawnFilesAreSharedInPartAndThoseAskedForAreIn(t *testing.T) {
	t.Parallel()
	var files []string
	for c := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyz", "") {
		files = append(files, "test_"+c+".py")
	}
	asked := func(p string) bool { return p == "test_q.py" }
	one, two := NewDraw().Some(files, asked, 8), NewDraw().Some(files, asked, 8)
	both := 0
	for _, p := range one {
		if slices.Contains(two, p) {
			both++
		}
	}
	if len(one) != 8 || len(two) != 8 || both < 4 || !slices.Contains(one, "test_q.py") || !slices.IsSorted(one) {
		t.Errorf("%v\n%v", one, two)
	}
	if all := NewDraw().Some(files[:3], asked, 8); !slices.Equal(all, files[:3]) {
		t.Errorf("%v", all)
	}
}

func TestWitnessesAreTakenOutOfTheResults(t *testing.T) {
	t.Parallel()
	var s Set
	v := checktest.View(map[string]string{"a.py": "x = 1"})
	s.Append(v, "a.py", "\n\nmore\n", []Test{{"a.py", "test_one", true}, {"a.py", "test_one_two", false}})
	s.Create("b.py", "text\n", []Test{{"b.py", "test_price_last", true}})
	if cs := s.Changes(); len(cs.Changes) != 2 || string(cs.Changes[0].After) != "x = 1\n\n\nmore\n" || cs.Changes[0].Op != workspace.Modify || cs.Changes[0].Mode == 0 || cs.Changes[1].Op != workspace.Create {
		t.Errorf("%+v", cs)
	}
	result := func(id, outcome string) check.TestResult { return check.TestResult{ID: id, Outcome: outcome} }
	real := []check.TestResult{result("a.py::test_one_three", "passed"), result("a.py::T::test_on_one", "failed"), result("b/test_one.py", "error")}
	all := append([]check.TestResult{result("a.py::test_one[1]", "failed"), result("c.py::T::test_one_two", "passed")}, real...)
	others, seen := s.Take(all)
	if !slices.Equal(others, real) || len(seen) != 2 || seen[0] != (check.Witness{Place: "a.py", Failing: 1, Passing: 1}) || seen[1] != (check.Witness{Place: "b.py", Failing: 1, Missing: 1}) {
		t.Errorf("%+v %+v", others, seen)
	}
	_, seen = s.Take([]check.TestResult{result("a.py::test_one", "passed"), result("a.py::test_one_two", "error"), result("b.py::it price last", "skipped")})
	if seen[0] != (check.Witness{Place: "a.py", Failing: 1, Passing: 1, Passed: 1, Failed: 1}) || !seen[1].Absent() {
		t.Errorf("%+v", seen)
	}
	if !s.Names("FAILED a.py::test_one - x") || s.Names("FAILED a.py::test_one_three - x") || (*Set)(nil).Names("x") {
		t.Error("names of others")
	}
}

func TestANameIsKnownInWhateverFormItIsTold(t *testing.T) {
	t.Parallel()
	var s Set
	s.Create("a_test.go", "", []Test{{"a", "TestKeepsPriceTotal", true}, {"a", "adds all prices", false}})
	for text, want := range map[string]bool{
		"TestKeepsPriceTotal": true, "test_keeps_price_total[1-a]": true, "it keeps price total": true, "x::T::testKeepsPriceTotal": true, "suite > adds all prices": true,
		"TestKeepsPriceTotal/of it": true, "PASS: adds all prices (3ms)": true, "TestKeepsPriceTotals": false, "test_it_keeps_price_total": false, "TestItKeepsPriceTotal": false,
		"keeps_price_total_more": false, "keeps 2 price total": false, "keepsprice total": false, "TestKeepsPrice": false, "adds all pricesé": false, "latest_keeps_price_total": false, "": false,
		"TestKeepsPrice/total(1)": false, "test_keeps_price[total]": false, "TestKeeps::price_total": false, "TestKeeps.price_total": false, "keeps > price total": false,
	} {
		if got := s.Names(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A suite that generates its tests from others puts words before their names.
func TestAWitnessIsKnownBehindMoreThanOneTest(t *testing.T) {
	t.Parallel()
	s := &Set{tests: []Test{{Place: "a.py", Name: "test_strips_groups", Fails: true}}}
	for text, want := range map[string]bool{
		"test_strips_groups": true, "test_test_strips_groups": true, "MadeTest::test_test_strips_groups[1]": true,
		"test_more_strips_groups": false, "test_latest_strips_groups": false, "test_strips_groups_more": false,
	} {
		if got := s.Names(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
