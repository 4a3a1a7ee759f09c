package match

import "testing"

// A comment after code stays with its line if the line is changed in place, and is never lost.
func TestACommentAfterCodeFollowsItsLine(t *testing.T) {
	t.Parallel()
	const file = "a = 1  # why|b = 2|c = 3\t# how|d = 4"
	for _, c := range []struct{ name, search, replace, want string }{
		{"kept", "a = 1|b = 2", "a = 1|b = 9", "1-2 b = 9|"},
		{"changed in place", "a = 1|b = 2", "a = 9|b = 2", "0-1 a = 9  # why|"},
		{"all changed in place", "a = 1|b = 2|c = 3", "x = 1|y = 2|z = 3", "0-3 x = 1  # why|y = 2|z = 3\t# how|"},
		{"with another comment", "a = 1|b = 2", "a = 9 # so|b = 2", "0-1 a = 9 # so|"},
		{"named, then left out", "a = 1  # why|b = 2", "a = 9|b = 2", "0-1 a = 9|"},
		{"removed", "a = 1|b = 2", "b = 2", errComment.Error()},
		{"two for one", "a = 1|b = 2", "a = 9|x = 9|b = 2", errComment.Error()},
		{"one for two", "a = 1|b = 2|c = 3", "a = 9|c = 3", errComment.Error()},
		{"a line after it", "a = 1|b = 2", "a = 1|x = 9|b = 2", "1-1 x = 9|"},
		{"a string that goes on", "a = 1|b = 2", "a = '''|b = 2", errComment.Error()},
		{"a line that goes on", "a = 1|b = 2", `a = \|b = 2`, errComment.Error()},
		{"trailing space of the new line", "a = 1|b = 2", "a = 9 |b = 2", "0-1 a = 9  # why|"},
	} {
		if got := rewritten(t, "a.py", file, c.search, c.replace); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCommentsAroundSearchArePairedWithTheFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, want string }{
		{"the first of two at the start", "# a|# b|x = 1|y = 2", "# a|x = 1|y = 2", "normalised 1-4"},
		{"the last of two at the start", "# a|# b|x = 1|# c|y = 2", "# b|x = 1|y = 2", "normalised 2-5"},
		{"one at the end", "x = 1|# a|y = 2|# b|# c", "x = 1|y = 2|# c", "normalised 1-5"},
		{"one at the start that is behind code", "# a|z = 0|x = 1|# c|y = 2", "# a|x = 1|y = 2", "nowhere"},
		{"one at the end that is behind code", "x = 1|# c|y = 2|z = 3|# a", "x = 1|y = 2|# a", "nowhere"},
		{"one above the file's first line", "x = 1|# c|y = 2", "# a|x = 1|y = 2", "nowhere"},
		{"after code, once each", "x = 1  # a|y = 2", "x = 1|y = 2", "normalised 1-2"},
		{"after code, of two places", "x = 1  # a|x = 1  # b", "x = 1", "ambiguous [1 2]"},
		{"after code, beside the text to the letter", "x = 1  # a|x = 1", "x = 1", "exact 2-2"},
		{"after code, only in SEARCH", "x = 1|y = 2", "x = 1  # a|y = 2", "nowhere"},
		{"after code, another", "x = 1  # a|# c|y = 2", "x = 1  # b|y = 2", "nowhere"},
		{"after code, the same", "x = 1  # a|# c|y = 2", "x = 1  # a|y = 2", "normalised 1-3"},
		{"a comment that tells two places apart", "  # a|  x = 1|  # b|  x = 1", "# a|x = 1", "indentation 1-2"},
		{"one place with a comment, another at another depth", "  x = 1|  # c|  y = 2|z = 3|x = 1|y = 2", "  x = 1|  y = 2", "ambiguous [1 5]"},
		{"after code, at another depth", "  x = 1  # a|  y = 2", "x = 1|y = 2", "robust 1-2"},
	} {
		if got := located(locate(lined("a.py", c.file), bars(c.search), []string{"new"})); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestACommentOfSeveralLinesIsLeftOutWhole(t *testing.T) {
	t.Parallel()
	const file = "x = 1;|/*| * why| * how| */|y = 2;"
	for search, want := range map[string]string{
		"x = 1;|y = 2;":                      "normalised 1-6",
		"x = 1;|/*| * why| * how| */|y = 2;": "exact 1-6",
		"x = 1;|/*| * why| */|y = 2;":        "nowhere",
		"x = 1;|/*| */|y = 2;":               "nowhere",
		"x = 1;| * how| */|y = 2;":           "nowhere",
		" * how| */|y = 2;":                  "exact 4-6",
	} {
		if got := located(locate(lined("a.go", file), bars(search), []string{"new"})); got != want {
			t.Errorf("%s: %s, want %s", search, got, want)
		}
	}
}

func TestBlankLinesAroundSearchCountWhereTheFileHasThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, replace, want string }{
		{"both there", "a||b ||c", "|b|", "B", "1-4 B|"},
		{"one of two there", "a||b ||c", "||b||", "||B||", "2-3 B|"},
		{"one of two there, and one less in REPLACE", "a||b ||c", "||b||", "|B|", "1-4 B|"},
		{"none there", "a|b |c", "|b|", "|B|", "1-2 B|"},
		{"shifted", "a||  b1||c", "|b1|", "b2", "1-4   b2|"},
		{"one more in REPLACE", "a||b |c", "|b", "||B", "2-3 |B|"},
	} {
		if got := rewritten(t, "a.py", c.file, c.search, c.replace); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
