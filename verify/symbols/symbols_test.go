package symbols

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
)

// A symbolFile is the part of the scanner's answer that these tests read.
type symbolFile struct {
	Path, Language, Problem string
	Definitions             []struct{ Name, Kind, Parent, Digest string }
}

// symbolsOf scans paths in the box and returns the answers by path, with the sizes of the parts.
func symbolsOf(t *testing.T, box check.Runner, paths []string) (files map[string]symbolFile, parts []int) {
	t.Helper()
	files = map[string]symbolFile{}
	err := scan(t.Context(), box, check.Work, paths, func(part []string, answer []byte) error {
		parts = append(parts, len(part))
		for line := range bytes.Lines(answer) {
			var f symbolFile
			if err := json.Unmarshal(line, &f); err != nil {
				return err
			}
			files[f.Path] = f
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, parts
}

func TestHostileFilesDoNotDisturbTheScan(t *testing.T) {
	t.Parallel()
	planted := "raise SystemExit('the workspace was imported')\n"
	files := map[string]string{
		// Files that an interpreter or a tool in this directory could pick up.
		"sitecustomize.py": planted, "usercustomize.py": planted, "json.py": planted, "ast.py": planted, "symbols_lex.py": planted,
		"pyvenv.cfg": "home = /work\n", ".ctags.d/a.ctags": "--exclude=*\n", "pyproject.toml": "[tool]\n",
		"good.py":      "def f(): pass\n",
		"good.ts":      "export const f = () => 1;\n",
		"broken.py":    "def f(:\n",
		"null.py":      "x = 1\x00\n",
		"latin.py":     "# -*- coding: latin-1 -*-\nx\xe9 = 1\n",
		"codec.py":     "# coding: no-such-codec\n",
		"deep.py":      "x = " + strings.Repeat("(", 100_000) + strings.Repeat(")", 100_000) + "\n",
		"chain.py":     "x = a" + strings.Repeat(".a", 200_000) + "\n",
		"sum.py":       "x = 1" + strings.Repeat("+1", 200_000) + "\n",
		"deep.ts":      strings.Repeat("{[(", 20_000),
		"arrow.ts":     "const x = " + strings.Repeat("(a) => ", 10_000),
		"lines.js":     strings.Repeat("a\n", 50_000),
		"quotes.js":    strings.Repeat("`${'", 20_000),
		"slashes.js":   strings.Repeat("=/[", 200_000),
		"comment.go":   "package a\n" + strings.Repeat("/*", 50_000),
		"braces.go":    "package a\ntype T struct {" + strings.Repeat("a struct {", 10_000),
		"prelude.css":  strings.Repeat("a{", 40_000),
		"comma.css":    strings.Repeat(".a,", 200_000),
		"tags.html":    strings.Repeat("<a ", 100_000),
		"script.html":  strings.Repeat("<script>f(", 10_000),
		"deep.json":    strings.Repeat("[", 100_000),
		"keys.json":    "{" + strings.Repeat("\"a\":1,", 20_000) + "}",
		"spaces.sh":    strings.Repeat(" ", 500_000) + "x",
		"dollars.sh":   ". \"" + strings.Repeat("$(", 200_000),
		"long.py":      strings.Repeat("x", 100_000) + " = 1\n",
		"hidden.py":    "def f(a='\\x1b[2J', b='\u202e'): pass\n",
		"surrogate.py": "x = '\\ud800'\n",
		"big.py":       strings.Repeat("x = 1\n", 300_000),
		"data.bin":     "\x00\x01",
		"--help.py":    "def f(): pass\n",
		"new\nline.py": "def f(): pass\n",
		"unicode/é.py": "def é(): pass\n",
	}
	b := checktest.NewBench(t, files, sandbox.Limits{Memory: 1 << 30})
	var paths []string
	for p := range files {
		paths = append(paths, p)
	}
	paths = append(paths, "absent.py", "unicode", "/proc/self/mem", "/dev/zero")
	got, _ := symbolsOf(t, b.Box, paths)
	for _, p := range paths {
		f, ok := got[p]
		if !ok {
			t.Errorf("no answer about %q", p)
		}
		t.Logf("%.30q: %d definitions, %s", p, len(f.Definitions), f.Problem)
	}
	for _, p := range []string{"good.py", "good.ts", "hidden.py", "--help.py", "new\nline.py", "unicode/é.py"} {
		if f := got[p]; f.Problem != "" || len(f.Definitions) != 1 {
			t.Errorf("%q: %+v", p, f)
		}
	}
	for _, p := range []string{"broken.py", "null.py", "codec.py", "deep.py", "big.py", "data.bin", "absent.py", "unicode", "/dev/zero"} {
		if got[p].Problem == "" {
			t.Errorf("%q has no problem: %+v", p, got[p])
		}
	}
}

func TestManySymbolsComeInParts(t *testing.T) {
	t.Parallel()
	// Every file has about 1 MB of symbols, so twenty files have more than one command may print.
	var text strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&text, "def function_with_a_long_name_%d(argument): pass\n", i)
	}
	files := map[string]string{}
	var paths []string
	for i := range 20 {
		p := fmt.Sprintf("f%d.py", i)
		files[p] = text.String()
		paths = append(paths, p)
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	got, parts := symbolsOf(t, b.Box, paths)
	if len(got) != len(paths) || len(parts) < 2 {
		t.Fatalf("%d files in parts of %v", len(got), parts)
	}
	for p, f := range got {
		if len(f.Definitions) != 9000 {
			t.Errorf("%s: %d definitions, %s", p, len(f.Definitions), f.Problem)
		}
	}
}

func TestErrorOfAScanSaysWhatHappened(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{"a.py": "x = 1\n"}, sandbox.Limits{})
	err := scan(t.Context(), b.Box, "/no/such/directory", []string{"a.py"}, func([]string, []byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "scan 1 files") {
		t.Error(err)
	}
	stop := fmt.Errorf("enough")
	if err := scan(t.Context(), b.Box, check.Work, []string{"a.py"}, func([]string, []byte) error { return stop }); err != stop {
		t.Error(err)
	}
}

// The digest of a definition is that of its own lines, also behind a form feed, which divides the sections of many older
// sources and is no end of a line to Python.
func TestAFormFeedMovesNoDefinition(t *testing.T) {
	t.Parallel()
	const source = "x = 1\n%s\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n"
	files := map[string]string{"plain.py": fmt.Sprintf(source, ""), "feed.py": fmt.Sprintf(source, "\f"), "dos.py": strings.ReplaceAll(fmt.Sprintf(source, "\f"), "\n", "\r\n")}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	found, _ := symbolsOf(t, b.Box, []string{"plain.py", "feed.py", "dos.py"})
	for _, name := range []string{"feed.py", "dos.py"} {
		if got, want := fmt.Sprint(found[name].Definitions), fmt.Sprint(found["plain.py"].Definitions); got != want || len(found[name].Definitions) != 3 {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}
