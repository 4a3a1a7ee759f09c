package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// space generates white space and comments, as JSON with comments has them.
func space() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"", " ", "\n", "\t", "\r\n", "\n  ", "// x, } {\n", "/* \" ] */", "/*\n*/"}), 0, 3).Draw(t, "space"), "")
	})
}

// jsonValue generates a value of JSON with comments and trailing commas, nested at most depth deep.
func jsonValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := []string{"7", "-1.5e300", `"a"`, `"} // \" {"`, "null", "true"}
		if depth > 0 {
			kinds = append(kinds, "{}", "[]", "{}", "[]")
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		switch kind {
		case "{}":
			return jsonObject(t, depth-1, []string{"a", "b", "c"}, nil)
		case "[]":
			var b strings.Builder
			for i, v := range rapid.SliceOfN(jsonValue(depth-1), 0, 3).Draw(t, "list") {
				if i > 0 {
					b.WriteString(",")
				}
				b.WriteString(space().Draw(t, "in") + v)
			}
			return "[" + b.String() + space().Draw(t, "end") + "]"
		}
		return kind
	})
}

// jsonObject draws an object with some of these names, and all the given members.
func jsonObject(t *rapid.T, depth int, names []string, given map[string]string) string {
	var b strings.Builder
	some := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID).Draw(t, "names")
	for name := range given {
		some = append(some, name)
	}
	some = rapid.Permutation(some).Draw(t, "order")
	for i, name := range some {
		value, ok := given[name]
		if !ok {
			value = jsonValue(depth).Draw(t, "value")
		}
		b.WriteString(space().Draw(t, "before") + `"` + name + `"` + space().Draw(t, "colon") + ":" + space().Draw(t, "after") + value)
		if i < len(some)-1 || rapid.Bool().Draw(t, "trailing") {
			b.WriteString(space().Draw(t, "comma") + ",")
		}
	}
	return "{" + b.String() + space().Draw(t, "end") + "}"
}

// However a readable file is written, the entry can be added and removed, everything else stays, and no comment is lost.
func TestAnyFileTakesTheEntryAndGivesItBack(t *testing.T) {
	t.Parallel()
	row, _ := Named("gemini")
	dir := t.TempDir()
	f := File{dir, "settings.json"}
	rapid.Check(t, func(r *rapid.T) {
		given := map[string]string{}
		if rapid.Bool().Draw(r, "servers") {
			entries := map[string]string{}
			if rapid.Bool().Draw(r, "there") {
				entries[Entry] = `{"command": "/old/agent", "args": ["mcp"]}`
			}
			given["mcpServers"] = jsonObject(r, 1, []string{"x", "y", "z"}, entries)
		}
		text := space().Draw(r, "head") + jsonObject(r, 2, []string{"a", "b", "c"}, given) + space().Draw(r, "tail")
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(text), 0o600); err != nil {
			r.Fatal(err)
		}
		in, err := row.Install(f, "/bin/agent")
		if err == nil {
			err = in.Apply()
		}
		if err != nil {
			r.Fatalf("%q: %v", text, err)
		}
		out, err := row.Uninstall(f, "/bin/agent")
		if err != nil || out.State != Removed {
			r.Fatalf("%q\nwith %q\n%s %v", text, in.After, out.State, err)
		}
		for _, comment := range []string{"// x, } {", `/* " ] */`, "/*\n*/"} {
			// A member that was empty disappears with the entry, together with its content.
			if before, after := strings.Count(text, comment), strings.Count(string(out.After), comment); after != before && given["mcpServers"] == "" {
				r.Fatalf("%d of %d %q are left\n%q\nwith %q\nleft %q", after, before, comment, text, in.After, out.After)
			}
		}
	})
}
