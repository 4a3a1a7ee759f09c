package node

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/verify/node/testreport"
)

// These runners report in TAP.
var (
	ava = packageRunner{
		name: AvaName, parse: testreport.Ava, stdout: true, planted: plantedTAP, attribute: avaFile,
		values: []string{"-c", "--concurrency", "-m", "--match", "-T", "--timeout", "--config", "--node-arguments"},
		args:   func(string) []string { return []string{"--tap"} },
		defaults: []string{
			"test.{cjs,mjs,js,ts,mts,cts}", "{src,source}/test.{cjs,mjs,js,ts}", "**/__tests__/**/*.{cjs,mjs,js,ts}", "**/*.test.{cjs,mjs,js,ts}", "**/test-*.{cjs,mjs,js,ts}",
			"**/test/**/*.{cjs,mjs,js,ts}", "**/tests/**/*.{cjs,mjs,js,ts}", "!**/_*", "!**/{__tests__,test,tests}/**/{,__}{helper,helpers,fixture,fixtures}{,__}/**",
		},
	}
	tap = packageRunner{
		name: TapName, parse: testreport.TAP, stdout: true, planted: plantedTAP, versioned: tapCoverage,
		values: []string{"-t", "--timeout", "-j", "--jobs", "-g", "--grep", "-R", "--reporter", "-c", "--coverage-report", "--test-env", "--node-arg", "--before", "--after", "--include", "--exclude"},
		args:   func(string) []string { return []string{"--reporter=tap"} },
		defaults: []string{
			"**/{test,tests,__tests__}/**/*.{cjs,mjs,js,jsx,ts,mts,cts,tsx}", "**/*.{test,tests,spec}.{cjs,mjs,js,jsx,ts,mts,cts,tsx}", "**/{test,tests}.{cjs,mjs,js,jsx,ts,mts,cts,tsx}",
			"!**/{fixture,fixtures,node_modules,dist,tap-snapshots,helpers}/**",
		},
	}
	tape = packageRunner{
		name: TapeName, parse: testreport.TAP, stdout: true, planted: plantedTAP, perFile: true,
		values: []string{"-r", "--require", "-i", "--ignore", "--ignore-pattern", "--import"},
		args:   func(string) []string { return nil },
	}
)

// tapCoverage keeps missed coverage from failing a run of tap. Before 18, measuring coverage rewrites every file that a
// process loads, which takes several times as long as the tests, and nothing here reads the result. 13 and 14 load each file
// through a package that does not run on current versions of node.
func tapCoverage(version string) []string {
	major, _, _ := strings.Cut(version, ".")
	switch n, err := strconv.Atoi(major); {
	case err == nil && n >= 18:
		return []string{"--allow-incomplete-coverage", "--allow-empty-coverage"}
	case n == 13 || n == 14:
		return []string{"--no-coverage", "--no-esm"}
	}
	return []string{"--no-coverage"}
}

// avaFile finds the file with which the title of an ava test begins: its path, from where the paths of all files begin to
// differ, without the parts that mark it as a test.
func avaFile(files []string, title string) (file, rest string) {
	parts := strings.Split(title, " › ")
	for n := len(parts) - 1; n > 0; n-- {
		for _, f := range files {
			names := avaNames(f)
			if len(names) >= n && slices.Equal(names[len(names)-n:], parts[:n]) {
				return f, strings.Join(parts[n:], " › ")
			}
		}
	}
	return "", title
}

// avaNames returns the parts of a path as ava shows them.
func avaNames(file string) (names []string) {
	for _, part := range strings.Split(strings.TrimSuffix(file, path.Ext(file)), "/") {
		part = strings.TrimSuffix(strings.TrimPrefix(part, "test-"), ".test")
		if part != "__tests__" {
			names = append(names, part)
		}
	}
	return names
}

// plantedTAP is the report of the planted packages; see packageRunner.
const plantedTAP = "TAP version 13\n# Subtest: planted.test.js\n    ok 1 - suite > true\n    not ok 2 - suite > false\n    1..2\nnot ok 1 - planted.test.js\n1..1\n"

// plantedPrinter is the program of a planted package that reports on standard output.
const plantedPrinter = `process.stdout.write(require("node:fs").readFileSync(__dirname + "/lib/report.json"));
process.exitCode = 1;
`

// plantedProgram returns the program of the planted package.
func (r packageRunner) plantedProgram() string {
	if r.stdout {
		return plantedPrinter
	}
	if r.reporter != nil {
		return plantedEvents
	}
	return plantedRunner
}
