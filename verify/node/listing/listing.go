// Package listing reads from the configuration of a JavaScript test runner which files are its tests. From configuration
// that is code it reads only lists of strings, and only where they are the runner's own setting: plugins, coverage tools and
// bundlers have lists of the same name for other files.
package listing

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A form says where a runner has the patterns of its tests: keys of its part of package.json, and of files of its own.
type form struct {
	files []string
	keys  []string
	// within lists what may enclose a key in these files, by the nearest enclosing name; nil for anything.
	within []string
}

var forms = map[string]form{
	"mocha": {files: []string{".mocharc.json", ".mocharc.jsonc", ".mocharc.yml", ".mocharc.yaml", ".mocharc.js", ".mocharc.cjs", ".mocharc.mjs"}, keys: []string{"spec"}},
	"jest":  {files: []string{"jest.config.js", "jest.config.cjs", "jest.config.mjs", "jest.config.ts", "jest.config.json"}, keys: []string{"testMatch"}},
	"vitest": {
		[]string{"vitest.config.ts", "vitest.config.mts", "vitest.config.js", "vitest.config.mjs", "vite.config.ts", "vite.config.mts", "vite.config.js", "vite.config.mjs"},
		[]string{"include"},
		[]string{"test", "defineConfig()", "defineProject()", "mergeConfig()", ""},
	},
	"ava": {files: []string{"ava.config.js", "ava.config.cjs", "ava.config.mjs"}, keys: []string{"files"}},
	"tap": {files: []string{".taprc"}, keys: []string{"include", "files", "test-files"}},
}

// Files lists the names of the files in which a runner is configured, besides package.json.
func Files(runner string) []string { return slices.Clone(forms[runner].files) }

// Patterns returns the patterns that the configuration of a runner lists, given the runner's name, the text of package.json
// and the texts of the other files next to it. rootDir and the like stand for the directory of these files.
func Patterns(runner, manifest string, text func(name string) string) (patterns []string) {
	f := forms[runner]
	var parts map[string]json.RawMessage
	if json.Unmarshal([]byte(manifest), &parts) == nil {
		patterns = f.read(`{"` + runner + `":` + string(parts[runner]) + "}")
	}
	for _, name := range f.files {
		if len(patterns) == 0 {
			patterns = f.read(text(name))
		}
	}
	return patterns
}

// quoted matches a string in quotes, or an element of a YAML list.
var quoted = lazyregexp.New(`"([^"\n]*)"|'([^'\n]*)'|\x60([^\x60\n]*)\x60|(?m:^\s*-\s+([^\s"'#][^\n#]*?)\s*$)`)

// read returns the value of the first of the keys in a text: one pattern or a list.
func (f form) read(text string) (patterns []string) {
	for _, key := range f.keys {
		re := regexp.MustCompile(`(?:^|[\s{,"'])` + regexp.QuoteMeta(key) + `["']?\s*:\s*(\[(?:[^\]"'\x60]|"[^"]*"|'[^']*'|\x60[^\x60]*\x60)*\]|(?:\s*\n\s*-[ \t]+[^\n]+)+|"[^"\n]*"|'[^'\n]*'|[^\s{\[,][^\n,}]*)`)
		for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
			if f.within != nil && !slices.Contains(f.within, around(text[:at[2]])) {
				continue
			}
			value := text[at[2]:at[3]]
			found := quoted.FindAllStringSubmatch(value, -1)
			for _, q := range found {
				patterns = append(patterns, strings.Join(q[1:], ""))
			}
			if len(found) == 0 {
				patterns = append(patterns, strings.TrimSpace(value))
			}
			for i, p := range patterns {
				patterns[i] = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(p, "<rootDir>"), "/"), "./")
			}
			return patterns
		}
	}
	return nil
}

// commented is what around returns for a text that ends in a comment.
const commented = "//"

// opener matches the name in front of the bracket that opens an object, a list, or arguments.
var opener = lazyregexp.New(`(?:([\w$-]+)["']?\s*:\s*([{\[(])|([\w$]+)(\())$`)

// around returns the name of what encloses the end of a JavaScript text: the key whose value is the nearest object or list,
// or the function of the nearest arguments; "" for none.
func around(text string) string {
	var open []string
	for i := 0; i < len(text); i++ {
		switch c, rest := text[i], text[i:]; {
		case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*"):
			end := map[byte]string{'/': "\n", '*': "*/"}[rest[1]]
			n := strings.Index(rest[2:], end)
			if n < 0 {
				return commented
			}
			i += 1 + n + len(end)
		case c == '"' || c == '\'' || c == '`':
			i++
			for i < len(text) && text[i] != c && (c == '`' || text[i] != '\n') {
				if text[i] == '\\' {
					i++
				}
				i++
			}
		case c == '{' || c == '[' || c == '(':
			name := ""
			if m := opener.FindStringSubmatch(text[max(0, i-80) : i+1]); m != nil {
				name = m[1]
				if m[4] != "" {
					name = m[3] + "()"
				}
			}
			open = append(open, name)
		case (c == '}' || c == ']' || c == ')') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	for _, name := range slices.Backward(open) {
		if name != "" {
			return name
		}
	}
	return ""
}
