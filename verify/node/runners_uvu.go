package node

import (
	"slices"
	"strings"

	"agent/verify/node/testreport"
)

// uvu reports only a dot for a test that passes, so a file is one test.
var uvu = packageRunner{
	name: UvuName, parse: testreport.Uvu, stdout: true, planted: plantedUvu, attribute: uvuFile,
	proof:  []string{"package.json::true.js passed", "package.json::false.js failed"},
	values: []string{"-i", "--ignore", "-r", "--require", "-C", "--cwd"},
	args:   func(string) []string { return nil },
	defaults: []string{
		"**/{test,tests,__test__,__tests__}/**/*.{mjs,cjs,js,ts,jsx,tsx}", "**/*.{test,tests,spec}.{mjs,cjs,js,ts,jsx,tsx}", "{test,tests}.{mjs,cjs,js,ts,jsx,tsx}",
	},
}

// uvuFile finds a file by what uvu shows of it: its path in the directory that uvu was given.
func uvuFile(files []string, title string) (file, rest string) {
	i := slices.IndexFunc(files, func(f string) bool { return f == title || strings.HasSuffix(f, "/"+title) })
	if i < 0 {
		return "", title
	}
	return files[i], "tests"
}

// plantedUvu is the report of the planted package; see packageRunner.
const plantedUvu = "true.js\n• •   (2 / 2)\n\nfalse.js\n• ✘   (1 / 2)\n\n   FAIL  \"false\"\n    planted\n\n  Total:     4\n  Passed:    3\n  Skipped:   0\n"
