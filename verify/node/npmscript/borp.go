package npmscript

import (
	"slices"
	"strings"
)

// borpTests are the files that borp runs if it is given none. borp compiles TypeScript tests first, so their output is not
// there to be named.
const borpTests = "**/*.test.{js,mjs,cjs}"

// borpOptions maps options of borp (https://github.com/mcollina/borp) to their equivalents for node's runner, "" for those
// that judge or show and run nothing. borpFlags does the same for options without a value.
var (
	borpOptions = map[string]string{
		"--timeout": "--test-timeout=", "-t": "--test-timeout=", "--concurrency": "--test-concurrency=", "-c": "--test-concurrency=",
		"--reporter": "", "-r": "", "--coverage-exclude": "", "-X": "", "--lines": "", "--branches": "", "--functions": "", "--statements": "",
	}
	borpFlags = map[string]string{
		"--expose-gc": "--expose-gc", "--coverage": "", "-C": "", "--check-coverage": "", "--coverage-html": "", "--no-timeout": "", "--watch": "", "-w": "",
	}
)

// borpAsNode rewrites a command of borp, which starts node's own runner, as a command of node. ok is false for another
// program, and for an option without an equivalent.
func borpAsNode(words []string) (node []string, ok bool) {
	if len(words) == 0 || ProgramName(words[0]) != "borp" || strings.Contains(words[0], "/") && !strings.Contains(words[0], "node_modules/") {
		return nil, false
	}
	var patterns []string
	node = []string{"node", "--test"}
	for i := 1; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		if !strings.HasPrefix(name, "-") {
			patterns = append(patterns, words[i])
			continue
		}
		flag, known := borpFlags[name]
		option, valued := borpOptions[name]
		pattern := name == "--pattern" || name == "-p"
		if (valued || pattern) && !joined && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch {
		case pattern:
			patterns = append(patterns, value)
		case known && flag != "":
			node = append(node, flag)
		case valued && option != "":
			node = append(node, option+value)
		case !known && !valued:
			return nil, false
		}
	}
	if len(patterns) == 0 {
		patterns = []string{borpTests}
	}
	return slices.Concat(node, patterns), true
}
