package match

import "testing"

// If line breaks or spaces mean something in a language, another layout is another text; otherwise it is the same text.
func TestLayoutMattersWhereTheLanguageSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, file, search, want string }{
		{"a call in Python", "a.py", "value = call(one,|  two_three)", "value = call(one, two_three)", "robust 1-2"},
		{"a dictionary in Python", "a.py", "value = {one: two,|  three: four}", "value = {one: two, three: four}", "robust 1-2"},
		{"statements in Python", "a.py", "first_value = 1|-second_value", "first_value = 1 -second_value", "nowhere"},
		{"a condition in Python", "a.py", "if first_value: call()|last()", "if first_value:|  call()|last()", "nowhere"},
		{"space in Python", "a.py", "value = first/(second)", "value = first / (second)", "robust 1-1"},
		{"a comment in Python", "a.py", "value = call(one, # two|  three)", "value = call(one, # two three)", "nowhere"},
		{"a call in Go", "a.go", "value = call(one,|  two_three)", "value = call(one, two_three)", "robust 1-2"},
		{"a block in Go", "a.go", "if value_one {|  call()|}", "if value_one { call() }", "nowhere"},
		{"an operator in Go", "a.go", "value = first <-second", "value = first < -second", "nowhere"},
		{"a statement in Java", "a.java", "value_one = first|  .second(third);", "value_one = first.second(third);", "robust 1-2"},
		{"a line comment in Java", "a.java", "first(); // second|third_value();", "first(); // second third_value();", "nowhere"},
		{"a comment of several lines in Java", "a.java", "/* first second|third fourth fifth */|x();", "/* first second third|fourth fifth */|x();", "nowhere"},
		{"a text block in Java", "a.java", "x = \"\"\"|  first second (third|  fourth)|  \"\"\";", "  first second (third fourth)|  \"\"\";", "nowhere"},
		{"a return in JavaScript", "a.js", "return|  first(second, third)", "return first(second, third)", "nowhere"},
		{"a call in JavaScript", "a.js", "value = call(one,|  two_three)", "value = call(one, two_three)", "robust 1-2"},
		{"a regular expression in JavaScript", "a.js", "value = first.match(/ , /)", "value = first.match(/, /)", "nowhere"},
		{"text among tags", "a.tsx", "<p>one (two|  three four)</p>", "<p>one (two three four)</p>", "nowhere"},
		{"a macro in C", "a.c", "#define LEVEL(count) count + 1", "#define LEVEL (count) count + 1", "nowhere"},
		{"a statement in C", "a.c", "value_one = call(one,|  two, three);", "value_one = call(one, two, three);", "robust 1-2"},
		{"a list in JSON", "a.json", "\"first\": [1,|  2, 3, \"four\"]", "\"first\": [1, 2, 3, \"four\"]", "robust 1-2"},
		{"a string in JSON", "a.json", "\"first\": [1, 2, \"a b\"]", "\"first\": [1, 2, \"a  b\"]", "nowhere"},
		{"a list in TOML", "a.toml", "first = [ 1,|  2, \"three\", 4 ]", "first = [ 1, 2, \"three\", 4 ]", "robust 1-2"},
		{"keys in TOML", "a.toml", "first_key = 1|second_key = 2", "first_key = 1 second_key = 2", "nowhere"},
		{"items in YAML", "a.yaml", "- first item|- second item", "- first item - second item", "nowhere"},
		{"a flow in YAML", "a.yaml", "first: [one, two,|  three, four]", "first: [one, two, three, four]", "nowhere"},
		{"commands in a shell", "a.sh", "first_command one|second_command two", "first_command one second_command two", "nowhere"},
		{"space in a shell", "a.sh", "first_value=\"a\" second third", "first_value = \"a\" second third", "nowhere"},
		{"a rule of make", "Makefile", "first: second third|fourth: fifth", "first: second third fourth: fifth", "nowhere"},
		{"items in Markdown", "a.md", "* first item|* second item", "* first item * second item", "nowhere"},
		{"a paragraph in reStructuredText", "a.rst", "first second third|fourth fifth sixth", "first second third fourth|fifth sixth", "nowhere"},
		{"a table of values", "a.csv", "one,two,three|four,five,six", "one,two,three four,five,six", "nowhere"},
		{"a selector", "a.css", ".first .second.third { color: red }", ".first .second .third { color: red }", "nowhere"},
		{"text in HTML", "a.html", "<pre>first second|third</pre>", "<pre>first second third</pre>", "nowhere"},
	} {
		if got := located(locate(lined(c.path, c.file+"|end"), bars(c.search), []string{"new"})); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A zero-width character, or an accent more or less, makes a different name.
func TestLettersAreTheSameOnlyWhenTheyAreComposedAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, want string }{
		{"composed", "caf\u00e9 = 1", "cafe\u0301 = 1", "normalised 1-1"},
		{"decomposed", "cafe\u0301 = 1", "caf\u00e9 = 1", "normalised 1-1"},
		{"two marks in another order", "a\u0323\u0302 = 1", "a\u0302\u0323 = 1", "normalised 1-1"},
		{"with quotation marks", "caf\u00e9 = \u201c1\u201d", "cafe\u0301 = \"1\"", "normalised 1-1"},
		{"without the accent", "caf\u00e9 = 1", "cafe = 1", "nowhere"},
		{"a letter of another alphabet", "\u0430bc = 1", "abc = 1", "nowhere"},
		{"a ligature", "\ufb01x = 1", "fix = 1", "nowhere"},
		{"a space without width", "us\u200ber = 1", "user = 1", "nowhere"},
		{"a byte order mark within", "us\ufeffer = 1", "user = 1", "nowhere"},
		{"a soft hyphen", "us\u00ader = 1", "user = 1", "nowhere"},
		{"a width of its own", "\uff41 = 1", "a = 1", "nowhere"},
	} {
		if got := located(locate(lined("a.py", c.file), bars(c.search), []string{"new"})); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// In a language where depth has a meaning, SEARCH must go deeper and back where the file does; in others, only new lines need a depth.
func TestNestingMattersWhereDepthHasAMeaning(t *testing.T) {
	t.Parallel()
	const file, search, replace = "if a:|  b = 1|  c = 1", "if a:|  b = 1|c = 1", "if a:|  b = 1|c = 2"
	for path, want := range map[string]string{
		"a.py": errIndent.Error(), "a.yaml": errIndent.Error(), "a.md": errIndent.Error(), "a.txt": errIndent.Error(),
		"a.go": "2-3   c = 2|", "a.css": "2-3   c = 2|",
	} {
		if got := rewritten(t, path, file, search, replace); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := rewritten(t, "a.py", "  if a:|    b = 1|  c = 1", "if a:|    b = 1|  c = 1", "if a:|    b = 1|  c = 2"); got != "2-3   c = 2|" {
		t.Errorf("the first line's indentation lost to a tag: %q", got)
	}
}
