package check

import "path"

// Tools are where the gates' programs lie in the toolchain image. Absolute
// paths, because a workspace may hold a file of any name and could set PATH for
// nobody but itself.
type Tools struct {
	// The tools as the distribution installs them. Env finds a configured
	// command in the box's PATH.
	Ruff, Mypy, Ty, Python, Node, Env, Shellcheck, Gofmt string
	// The node that starts fastest, for what is none of the workspace's: the project's own scripts, and pyright.
	OwnNode string
	// The directory of the packages of npm, and one of them.
	Packages, Pyright string
	// The project's own scripts, which the image carries. Go runs a command of Go
	// with its caches and variables.
	Syntax, Tests, Trace, Types, Plugins, Links, Go string
	// Those for JavaScript and TypeScript, and what biome goes by where the
	// workspace says nothing.
	Script, NodeReporter, VitestFaults, MochaReport, NodeLines, NodeLinesReport, ConfigLoads, Biome string
}

// Path is the search path by which `env node` finds the node of t, "" where the image's own does.
func (t Tools) Path() string {
	if t.Node == "" || t.Node == Toolchain.Node {
		return ""
	}
	return path.Dir(t.Node) + ":/usr/local/bin:/usr/bin:/bin"
}

// Toolchain is the layout of the image.
var Toolchain = Tools{
	Ruff: "/usr/bin/ruff", Mypy: "/usr/bin/mypy", Ty: "/usr/bin/ty", Python: "/usr/bin/python3",
	Node: "/usr/bin/node", Env: "/usr/bin/env", Shellcheck: "/usr/bin/shellcheck",
	Gofmt:    "/usr/lib/go-1.26/bin/gofmt",
	OwnNode:  "/usr/lib/agent/npm/node24/bin/node",
	Packages: "/usr/lib/agent/npm", Pyright: "/usr/lib/agent/npm/pyright/index.js",
	Syntax: "/agent/syntax.py", Tests: "/agent/run_tests.py", Trace: "/agent/trace_plan.py", Types: "/agent/types_cache.py", Plugins: "/agent/run_mypy.py", Links: "/agent/links.py",
	Go:     "/usr/lib/agent/go/run",
	Script: "/agent/typescript.cjs", NodeReporter: "/agent/node_reporter.mjs", VitestFaults: "/agent/vitest_faults.mjs", MochaReport: "/agent/node_modules/mocha_report.cjs", Biome: "/agent/biome.json",
	NodeLines: "/agent/node_lines.cjs", NodeLinesReport: "/agent/node_lines_report.cjs", ConfigLoads: "/agent/config_loads.cjs",
}
