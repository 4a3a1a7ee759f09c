package lex

import "testing"

func TestCommentsThatStandForCode(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"# rest unchanged", "// (unchanged)", "  # [previous code here]", "/* existing code */", "<!-- rest of the file -->", "{/* existing code */}",
		"// \u2026 unchanged \u2026", "-- remaining code omitted for brevity", "// existing implementation stays the same", "# (rest of the class is unchanged)",
		"// ---- rest of the code ----", "; original code here", "% rest of file", "/* ... unchanged ... */", "// keep the existing code as is here",
	} {
		if !isStandIn(s) && !placeholder(s) {
			t.Errorf("%s is taken for code", s)
		}
		if line, ok := Promised(LanguageOf("a.kt"), []string{"x", s}, []string{"y"}); !ok || line != s {
			t.Errorf("%s is let through: %q", s, line)
		}
		if _, ok := Promised(LanguageOf("a.kt"), []string{"x", s}, []string{"y", s}); ok {
			t.Errorf("%s is refused though SEARCH has it", s)
		}
	}
}

func TestCommentsThatSaySomething(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"# the rest of the file is read lazily", "// TO" + "DO: handle the rest", "# remaining lines", "// existing users keep their code", "// same as above",
		"# other methods", "x = rest_of_file()  # unchanged", "...args,", "    ...", "return ...", "# rest", "// code", "#", "//", "# unchanged = True",
		"# original code: 404", "#include <existing code>", "# noqa", "/* the code */", "rest of the file unchanged", "- existing code", "* unchanged",
		"#unchanged_code", "// keys that are unchanged", "# previous", "<!-- the original file -->", "# existing",
	} {
		if isStandIn(s) {
			t.Errorf("%s is taken for a placeholder", s)
		}
	}
}

func TestThreeDotsAreAStatementOfPythonOnly(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a.py": false, "a.pyi": false, "a.yaml": false, "a.md": false, "a.txt": false, "a.c": false, "a.go": true, "a.tsx": true, "a.rs": true} {
		for _, s := range []string{"...", "  \u2026"} {
			if _, ok := Promised(LanguageOf(name), []string{s}, nil); ok != want {
				t.Errorf("%s in %s: %v", s, name, ok)
			}
		}
	}
	if _, ok := Promised(LanguageOf("a.kt"), []string{"  ...args"}, nil); ok {
		t.Error("a spread is refused")
	}
}
