package lex

import "testing"

func TestCommentsAreThoseOfTheLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, line string
		want       bool
	}{
		{"a.py", "# x", true},
		{"a.py", "    # x", true},
		{"a.py", "#", true},
		{"a.py", "x = 1  # y", false},
		{"a.py", "// x", false},
		{"a.py", "", false},
		{"a.pyi", "# x", true},
		{"a.sh", "#!/bin/sh", true},
		{"a.yaml", "# x", true},
		{"a.toml", "# x", true},
		{"Makefile", "# x", true},
		{"sub/Dockerfile", "# x", true},
		{"a.go", "// x", true},
		{"a.go", "/* x */", true},
		{"a.go", "/* x", false},
		{"a.go", "/* x */ y()", false},
		{"a.go", "/* x */ y() /* z */", false},
		{"a.go", "/*/", false},
		{"a.go", "# x", false},
		{"a.ts", "\t// x", true},
		{"A.TS", "// x", true},
		{"a.rs", "/// x", true},
		{"a.php", "# x", true},
		{"a.php", "// x", true},
		{"a.css", "/* x */", true},
		{"a.css", "// x", false},
		{"a.css", "#id {", false},
		{"a.css", "#fff", false},
		{"a.scss", "// x", true},
		{"a.html", "<!-- x -->", true},
		{"a.html", "<!-- x --> <p>", false},
		{"a.html", "# x", false},
		{"a.md", "# Heading", false},
		{"a.md", "<!-- x -->", true},
		{"a.sql", "-- x", true},
		{"a.lua", "-- x", true},
		{"a.tex", "% x", true},
		{"a.ini", "; x", true},
		{"a.txt", "# x", false},
		{"a.json", "// x", false},
		{"noextension", "# x", false},
	} {
		if got := LanguageOf(c.file).Comment(c.line); got != c.want {
			t.Errorf("%s: %q is a comment: %v, want %v", c.file, c.line, got, c.want)
		}
	}
}

func TestFencesBelongToProse(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]bool{
		"README.md": true, "notes.txt": true, "LICENSE": true, "a.mdx": true,
		"a.py": false, "a.go": false, "a.html": false, "a.yml": false, "Makefile": false,
	} {
		if got := LanguageOf(file).Fenced(); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

func TestElisionsAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line        string
		yes, marked bool
	}{
		{"...", true, false},
		{"    ...", true, false},
		{"\u2026", true, false},
		{"# ...", true, true},
		{"// ...", true, true},
		{"/* ... */", true, true},
		{"{/* ... */}", true, true},
		{"<!-- ... -->", true, true},
		{"-- ...", true, true},
		{"    # ... existing code ...", true, true},
		{"# ... (rest of the class)", true, true},
		{"// ... rest unchanged ...", true, true},
		{"// \u2026 remaining methods", true, true},
		{"... existing code ...", true, false},
		{"# ... the rest of it", true, true},
		{"...args", false, false},
		{"...other,", false, false},
		{"...existing", false, false},
		{"# ...restore it", false, false},
		{"x = ...", false, false},
		{"def f(): ...", false, false},
		{"# wait ...", false, false},
		{"# ... and then some", false, false},
		{"", false, false},
		{"# existing code", false, false},
	} {
		yes, marked := Elision(c.line)
		if yes != c.yes || yes && marked != c.marked {
			t.Errorf("%q: elision %v, marked %v; want %v, %v", c.line, yes, marked, c.yes, c.marked)
		}
	}
}

func TestPlaceholdersAreTold(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"# ... existing code ...":               true,
		"    // ... rest unchanged":             true,
		"# rest of the code unchanged":          true,
		"# Rest of the code remains the same.":  true,
		"/* rest of the file unchanged */":      true,
		"// (existing code here)":               true,
		"<!-- rest of the page as before -->":   true,
		"# remaining methods stay the same":     false,
		"# remaining methods remain unchanged":  true,
		"...":                                   false,
		"    ...":                               false,
		"# rest of the arguments are passed on": false,
		"# existing code paths":                 false,
		"rest of the code unchanged":            false,
		"x = 1  # ...":                          false,
		"# the rest":                            false,
		"* rest of the list unchanged":          false,
	} {
		if got := placeholder(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
