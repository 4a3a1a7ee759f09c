package check

import "path"

// Tools has the paths of the gates' programs in the toolchain image. They are absolute, because a workspace may hold a
// file of any name, and its PATH must affect only itself.
type Tools struct {
	// These are the tools as the distribution installs them. Env finds a configured command in the box's PATH.
	Ruff, Mypy, Ty, Python, Node, Env, Shellcheck, Gofmt string
	// OwnNode is the node that starts fastest, for programs that are not the workspace's: the agent's own scripts, and pyright.
	OwnNode string
	// Packages is the directory of the npm packages, Pyright one of them.
	Packages, Pyright string
	// These are the agent's own scripts in the image. Go runs a go command with its caches and variables.
	Syntax, Tests, Trace, Types, Plugins, Links, Go string
	// These are the scripts for JavaScript and TypeScript, and the configuration that biome uses if the workspace has
	// none.
	Script, NodeReporter, VitestFaults, MochaReport, NodeLines, NodeLinesReport, ConfigLoads, Biome string
}

// Path returns the search path on which `env node` finds the node of t, or "" if that is the image's own.
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
