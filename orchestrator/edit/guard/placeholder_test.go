package guard

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

// Dots in text that a block adds are text. Dots in place of code are refused, and so is every placeholder where lines are removed.
func TestDotsInAddedTextAreNoPlaceholder(t *testing.T) {
	t.Parallel()
	const doc = "/**\n * Adds.\n */\nfunction add(a, b) {\n  return a + b;\n}\n"
	const python = "def f(x):\n    \"\"\"Runs.\n\n    Slowly.\n    \"\"\"\n    return x\n"
	for _, c := range []struct{ name, path, before, search, replace, want string }{
		{"an example in a comment", "a.ts", doc, " * Adds.", " * Adds.\n * @example\n * add({\n *   ...\n * })", ""},
		{"a comment in such an example", "a.ts", doc, " * Adds.", " * Adds.\n * @example\n * // ...\n * add(1, 2)", ""},
		{"a new comment above", "a.ts", doc, "function add(a, b) {", "/**\n * ... existing code ...\n * is what a placeholder looks like.\n */\nfunction add(a, b) {", ""},
		{"a text of several lines", "a.js", doc, "function add(a, b) {", "const HELP = `\n...\n// rest of the file\n`;\nfunction add(a, b) {", ""},
		{"a docstring", "a.py", python, "    Slowly.", "    Slowly.\n\n    # ...", ""},
		{"a new docstring", "a.py", "def f(x):\n    return x\n", "def f(x):", "def f(x):\n    \"\"\"Shows\n    # ... existing code ...\n    \"\"\"", ""},
		{"a fence in prose", "a.md", "# Title\n", "# Title", "# Title\n\n```js\n// ... existing code ...\nrun();\n```", ""},
		{"a string of Go", "a.go", "package a\n\nvar x = 1\n", "var x = 1", "var x = 1\n\nconst help = `\n...\n`", ""},
		{"code", "a.ts", doc, "function add(a, b) {", "function add(a, b) {\n  // ...", "  // ..."},
		{"code, with words", "a.ts", doc, "function add(a, b) {", "function add(a, b) {\n  // ... existing code ...", "  // ... existing code ..."},
		{"code of Python", "a.py", python, "    return x", "    # ...\n    return x", "    # ..."},
		{"words in a comment that was there", "a.ts", doc, " * Adds.", " * Adds.\n * ... rest unchanged ...", " * ... rest unchanged ..."},
		{"words in a docstring that was there", "a.py", python, "    Slowly.", "    Slowly.\n    # ... existing text ...", "    # ... existing text ..."},
		{"a line of the docstring goes", "a.py", python, "    Slowly.", "    Fast.\n    # ...", "    # ..."},
		{"a line of the comment goes", "a.ts", doc, " * Adds.\n */", " * ...\n */", " * ..."},
		{"prose without a fence", "a.md", "# Title\n", "# Title", "# Title\n\n<!-- ... rest of the file ... -->", "<!-- ... rest of the file ... -->"},
		{"code behind a new text", "a.js", doc, "function add(a, b) {", "const HELP = `\n...\n`;\nfunction add(a, b) {\n  // ...", "  // ..."},
		{"a fence in prose that is not closed before", "a.md", "# Title\n", "# Title", "# Title\n```\nx\n```\n// ...", "// ..."},
	} {
		op := &parse.Operation{Block: 1, Path: c.path, Search: strings.Split(c.search, "\n"), Replace: strings.Split(c.replace, "\n")}
		d := document.New(c.path, []byte(c.before))
		d.Work = document.NewWork()
		p := CheckBlock(d, op)
		switch {
		case p == nil && c.want != "":
			t.Errorf("%s: let through, want %q refused", c.name, c.want)
		case p != nil && (c.want == "" || !strings.Contains(p.Reason, c.want)):
			t.Errorf("%s: %s, want %q refused", c.name, p.Reason, c.want)
		}
	}
}

func TestDotsInANewFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, content, want string }{
		{"a comment of several lines", "a.ts", "/**\n * ...\n */\nexport {};\n", ""},
		{"a fence in prose", "a.md", "# Title\n```py\n# ... existing code ...\n```\n", ""},
		{"code", "a.ts", "run();\n// ...\n", "// ..."},
		{"code behind text", "a.py", "\"\"\"\n# ...\n\"\"\"\n# ... rest of the code\n", "# ... rest of the code"},
		{"a comment that is never closed", "a.ts", "/**\n * ...\n", " * ..."},
	} {
		got, ok := PromisedContent(c.path, c.content)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
}
