package testform

import (
	"strings"
	"testing"

	"agent/sandbox/workspace/lang"
)

// A handler guards new lines if none of the lines that it guards was there before.
func TestHandlersOfNewLinesAreToldFromOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, before, after string
		handler             string // a part of its line
		want                bool
	}{
		"all new":          {"a.js", "f();\n", "f();\ntry {\n  g('}');\n} catch (e) { }\n", "catch", true},
		"one line of old":  {"a.js", "f();\n", "try {\n  g();\n  f();\n} catch (e) {\n}\n", "catch", false},
		"on one line":      {"a.js", "f();\n", "try { g(); } catch (e) {}\n", "catch", true},
		"that was there":   {"a.js", "try { g(); } catch (e) {}\n", "try { g(); } catch (e) {}\n", "catch", false},
		"blocks within":    {"a.ts", "", "try {\n  if (x) {\n    g({a: 1});\n  }\n} catch {\n}\n", "} catch", true},
		"no try":           {"a.js", "", "if (x) {\n  g();\n} catch (e) {}\n", "catch", false},
		"a promise":        {"a.js", "", "g().catch(() => {});\n", "catch", false},
		"nothing guarded":  {"a.js", "", "try {\n} catch (e) {}\n", "catch", false},
		"too far":          {"a.js", "", "try {\n" + strings.Repeat("  g();\n", mostGuarded) + "} catch (e) {}\n", "catch", false},
		"Python":           {"a.py", "x = 1\n", "try:\n    y = 2\n\n    if y:\n        z = y\nexcept Exception:\n    pass\n", "except", true},
		"Python's second":  {"a.py", "", "try:\n    y = 2\nexcept ValueError:\n    raise\nexcept Exception:\n    pass\n", "except Exception", true},
		"old Python":       {"a.py", "assert f()\n", "try:\n    assert f()\nexcept Exception:\n    pass\n", "except", false},
		"suppressed":       {"a.py", "x = 1\n", "with suppress(Exception):\n    g()\n", "with", true},
		"suppressed, old":  {"a.py", "g()\n", "with suppress(Exception):\n    g()\n", "with", false},
		"of another block": {"a.py", "", "def f():\n    try:\n        g()\n    finally:\n        h()\nexcept Exception:\n    pass\n", "except", false},
		"of Go":            {"a.go", "", "g()\n", "g", false},
	} {
		l := lang.Of(c.file)
		after := l.Lex(c.after)
		i := 0
		for i < len(after) && !strings.Contains(after[i].Raw, c.handler) {
			i++
		}
		if got := GuardsNew(l.Family, l.Lex(c.before), after, i); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
