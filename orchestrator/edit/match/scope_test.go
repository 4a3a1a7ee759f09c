package match

import "testing"

// All pieces of a block with elisions must be in one scope; otherwise they are not parts of one block.
func TestAnElisionStaysInItsScope(t *testing.T) {
	t.Parallel()
	two := "def f():|    a = 1|    b = 2|    return a||def g():|    c = 3|    return c"
	class := "class A:|    def f(self):|        a = 1|        return a||    def g(self):|        return b||class B:|    x = 1"
	script := "function f() {|  if (a) {|    run();|  }|  done();|}||function g() {|  return b;|}"
	for _, c := range []struct{ name, path, file, search, replace, want string }{
		{"to the end of the function", "a.py", two, "def f():|    # ...|    return a", "def f():|    # ...|    return d", "def f():|    a = 1|    b = 2|    return d||def g():|    c = 3|    return c"},
		{"into the next function", "a.py", two, "def f():|    # ...|    return c", "def f():|    # ...|    return d", "refused"},
		{"from its body into the next", "a.py", two, "    a = 1|    # ...|    return c", "    a = 1|    # ...|    return d", "refused"},
		{"two functions by name", "a.py", two, "def f():|# ...|def g():", "def f(x):|# ...|def g(x):", "def f(x):|    a = 1|    b = 2|    return a||def g(x):|    c = 3|    return c"},
		{"from a body to the next function by name", "a.py", two, "def f():|    a = 1|# ...|def g():|    c = 3", "def f():|    a = 2|# ...|def g():|    c = 4", "def f():|    a = 2|    b = 2|    return a||def g():|    c = 4|    return c"},
		{"into the next method", "a.py", class, "    def f(self):|        # ...|        return b", "    def f(self):|        # ...|        return c", "refused"},
		{"to a method of the class", "a.py", class, "class A:|    # ...|    def g(self):", "class A:|    # ...|    def h(self):", "class A:|    def f(self):|        a = 1|        return a||    def h(self):|        return b||class B:|    x = 1"},
		{"into another class", "a.py", class, "class A:|    # ...|    x = 1", "class A:|    # ...|    x = 2", "refused"},
		{"in three steps, the last astray", "a.py", class, "class A:|    # ...|        a = 1|    # ...|        return b", "class A:|    # ...|        a = 2|    # ...|        return c", "refused"},
		{"the bracket of another function", "a.js", script, "function f() {|  // ...|}||function g() {", "function f() {|  // ...|  more();|}||function g() {", "function f() {|  if (a) {|    run();|  }|  done();|  more();|}||function g() {|  return b;|}"},
		{"past the end of its bracket", "a.js", script, "  if (a) {|    // ...|  return b;", "  if (c) {|    // ...|  return d;", "refused"},
		{"a closing bracket that is not its own", "a.js", "f({|  a: 1,|});|g({|  b: 2,|  c: 3,|});|h();", "f({|  // ...|});|h();", "f({|  // ...|  d: 4,|});|h();", "refused"},
		{"an else that is not its own", "a.py", "if a:|    b()|if c:|    d()|else:|    e()", "if a:|    # ...|else:|    e()", "if a:|    # ...|else:|    f()", "refused"},
		{"its own else", "a.py", "if a:|    b()|    d()|else:|    e()", "if a:|    # ...|else:|    e()", "if a:|    # ...|else:|    f()", "if a:|    b()|    d()|else:|    f()"},
		{"a comment at the margin", "a.py", "def f():|    a = 1|# why|    b = 2|    return a", "def f():|    ...|    return a", "def f():|    ...|    return d", "def f():|    a = 1|# why|    b = 2|    return d"},
		{"text at the margin", "a.py", "def f():|    a = \"\"\"|text|\"\"\"|    return a", "def f():|    # ...|    return a", "def f():|    # ...|    return d", "def f():|    a = \"\"\"|text|\"\"\"|    return d"},
		{"a label at the margin", "a.c", "int f(void) {|  int a = 1;|again:|  a++;|  return a;|}", "int f(void) {|  // ...|  return a;", "int f(void) {|  // ...|  return b;", "int f(void) {|  int a = 1;|again:|  a++;|  return b;|}"},
		{"a directive at the margin", "a.c", "int f(void) {|  int a = 1;|#ifdef X|  a++;|#endif|  return a;|}", "int f(void) {|  // ...|  return a;", "int f(void) {|  // ...|  return b;", "int f(void) {|  int a = 1;|#ifdef X|  a++;|#endif|  return b;|}"},
		{"keys of another table", "a.yaml", "one:|  a: 1|  b: 2|two:|  c: 3", "one:|  # ...|  c: 3", "one:|  # ...|  c: 4", "refused"},
	} {
		if got := merged(t, c.path, c.file, c.search, c.replace); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
