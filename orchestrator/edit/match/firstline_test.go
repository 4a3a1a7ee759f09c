package match

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
)

// merged shows the file after a block, with lines divided by "|" and tabs as ">", or why the block is refused.
func merged(t *testing.T, path, file, search, replace string) string {
	t.Helper()
	tabs := func(s string) []string { return bars(strings.ReplaceAll(s, ">", "\t")) }
	d := document.New(path, []byte(strings.Join(tabs(file), "\n")+"\n"))
	f := locate(d, tabs(search), tabs(replace))
	if len(f.Places) == 0 {
		t.Fatalf("%q in %q: %s", search, file, located(f))
	}
	var s []Splice
	for _, p := range f.Places {
		x, err := Rewrite(d, p)
		if err != nil {
			return "refused"
		}
		s = append(s, x...)
	}
	text := string(Merge(d, []*Match{{Splices: s}}))
	return strings.NewReplacer("\n", "|", "\t", ">").Replace(strings.TrimSuffix(text, "\n"))
}

// Only the first line of SEARCH lost its indentation. REPLACE lost it on the first line too, is dedented as a whole, or is intact.
func TestTheFirstLineOfSearchLostItsIndentation(t *testing.T) {
	t.Parallel()
	loop := "def f(xs):|    for x in xs:|        use(x)|    return xs"
	script := "function f() {|    if (a) {|        run();|    }|    done();|}"
	for _, c := range []struct{ name, path, file, search, replace, want string }{
		{"as it stands", "a.py", loop, "for x in xs:|        use(x)", "for x in ys:|        use(x)|        log(x)", "def f(xs):|    for x in ys:|        use(x)|        log(x)|    return xs"},
		{"dedented", "a.py", loop, "for x in xs:|        use(x)", "for x in ys:|    use(x)|    log(x)", "def f(xs):|    for x in ys:|        use(x)|        log(x)|    return xs"},
		{"dedented, with a sibling", "a.py", loop, "for x in xs:|        use(x)|    return xs", "for x in ys:|    use(x)|return ys", "def f(xs):|    for x in ys:|        use(x)|    return ys"},
		{"dedented siblings", "a.py", "def f():|    a = 1|    b = 2", "a = 1|    b = 2", "a = 2|b = 3", "def f():|    a = 2|    b = 3"},
		{"dedented, and a line goes as deep as it was", "a.py", "def f(c):|    a = 1|    b = 2", "a = 1|    b = 2", "if c:|    a = 1|b = 2", "def f(c):|    if c:|        a = 1|    b = 2"},
		{"whole", "a.py", loop, "for x in xs:|        use(x)", "    for x in ys:|        use(x)", "def f(xs):|    for x in ys:|        use(x)|    return xs"},
		{"less than whole", "a.py", loop, "for x in xs:|        use(x)", "  for x in ys:|      use(x)", "refused"},
		{"a line that may be nested or not", "a.py", "def f(c):|    a = 1|    b = 2", "a = 1|    b = 2", "a = 1|if c:|    b = 2", "refused"},
		{"depths that agree with neither", "a.py", "def f(c):|    a = 1|    b = 2", "a = 1|    b = 2", "a = 1|  c = 2", "refused"},
		{"one line comes", "a.py", loop, "for x in xs:|        use(x)", "use(xs)", "def f(xs):|    use(xs)|    return xs"},
		{"the first line goes", "a.py", loop, "for x in xs:|        use(x)|    return xs", "return xs", "def f(xs):|    return xs"},
		{"a function below, after a blank line", "a.py", "def f():|    a = 1|    b = 2", "a = 1|    b = 2", "a = 1|    b = 3||def g():|    c = 4", "def f():|    a = 1|    b = 3||def g():|    c = 4"},
		{"a statement out of the function", "a.py", "def f():|    a = 1|    b = 2", "a = 1|    b = 2", "a = 1|    b = 3|c = 4", "refused"},
		{"out of the function in both", "a.py", "def f():|    return 1||def g():|    pass", "return 1||def g():|    pass", "return 2||def h():|    pass", "def f():|    return 2||def h():|    pass"},
		{"out of the function, dedented", "a.py", "def f():|    if a:|        b()|c()", "if a:|        b()|c()", "if d:|    b()|c()", "refused"},
		{"a comment first", "a.py", loop, "for x in xs:|        use(x)", "# all|for x in ys:|    use(x)", "def f(xs):|    # all|    for x in ys:|        use(x)|    return xs"},
		{"a comment first, as it stands", "a.py", loop, "for x in xs:|        use(x)", "# all|    for x in ys:|        use(x)", "def f(xs):|    # all|    for x in ys:|        use(x)|    return xs"},
		{"comments alone, dedented", "a.py", "def f():|    # one longer remark|    # and another one|    pass", "# one longer remark|    # and another one", "# one longer remark|# and a third", "def f():|    # one longer remark|    # and a third|    pass"},
		{"comments alone, as they stand", "a.py", "def f():|    # one longer remark|    # and another one|    pass", "# one longer remark|    # and another one", "# one longer remark|    # and a third", "def f():|    # one longer remark|    # and a third|    pass"},
		{"a comment below a line that opens", "a.py", loop, "for x in xs:|        use(x)", "for x in ys:|    # no use", "def f(xs):|    for x in ys:|        # no use|    return xs"},
		{"the body of the first line goes", "a.py", "class A:|    def f(self):|        return 1||    def g(self):|        return 2", "def f(self):|        return 1||    def g(self):|        return 2", "def f(self):||    def g(self):|        return 2", "refused"},
		{"an open bracket, dedented", "a.py", "def f():|    return (a|        or b)", "return (a|        or b)", "return (c|    or b)", "def f():|    return (c|        or b)"},
		{"aligned with a bracket, dedented", "a.py", "def f():|    return (a|            or b)", "return (a|            or b)", "return (a|        or c)", "def f():|    return (a|            or c)"},
		{"aligned with a bracket, as it stands", "a.py", "def f():|    return (a|            or b)", "return (a|            or b)", "return (a|            or c)", "def f():|    return (a|            or c)"},
		{"a text that only looks like a block", "a.py", "def f():|    \"\"\"|    Like this:||    one|    two|    \"\"\"", "Like this:||    one|    two", "Like that:||    one|    two", "refused"},
		{"a call of several lines, dedented", "a.py", "def f():|    g(|        1,|    )", "g(|        1,|    )", "g(|    2,|)", "def f():|    g(|        2,|    )"},
		{"levels of two in a file of two, as it stands", "a.py", "def f():|  if a:|    b()|  c()", "if a:|    b()", "if d:|    b()|    c()", "def f():|  if d:|    b()|    c()|  c()"},
		{"levels of two, dedented", "a.py", "def f():|  if a:|    b()|  c()", "if a:|    b()", "if d:|  b()|  c()", "def f():|  if d:|    b()|    c()|  c()"},
		{"script, as it stands", "a.js", script, "if (a) {|        run();|    }", "if (b) {|        run();|        log();|    }", "function f() {|    if (b) {|        run();|        log();|    }|    done();|}"},
		{"script, dedented", "a.js", script, "if (a) {|        run();|    }", "if (b) {|    run();|    log();|}", "function f() {|    if (b) {|        run();|        log();|    }|    done();|}"},
		{"script, dedented siblings", "a.js", script, "run();|    }|    done();", "run();|}|done();", "refused"},
		{"script, the function ends", "a.js", script, "done();|}", "done();|    more();|}", "function f() {|    if (a) {|        run();|    }|    done();|    more();|}"},
		{"tabs, as it stands", "a.go", "func f() {|>if a {|>>b()|>}|}", "if a {|>>b()|>}", "if c {|>>b()|>}", "func f() {|>if c {|>>b()|>}|}"},
		{"tabs, dedented", "a.go", "func f() {|>if a {|>>b()|>}|}", "if a {|>>b()|>}", "if c {|>b()|}", "func f() {|>if c {|>>b()|>}|}"},
		{"tabs, the first line whole", "a.go", "func f() {|>if a {|>>b()|>}|}", "if a {|>>b()|>}", ">if c {|>>b()|>}", "func f() {|>if c {|>>b()|>}|}"},
		{"keys, as they stand", "a.yaml", "on:|  push:|    tags: a|  pull: b", "push:|    tags: a", "push:|    tags: c|    paths: d", "on:|  push:|    tags: c|    paths: d|  pull: b"},
		{"keys, dedented", "a.yaml", "on:|  push:|    tags: a|  pull: b", "push:|    tags: a", "push:|  tags: c|  paths: d", "on:|  push:|    tags: c|    paths: d|  pull: b"},
	} {
		if got := merged(t, c.path, c.file, c.search, c.replace); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
