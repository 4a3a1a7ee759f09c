// Package python implements the checks of Python: ruff, mypy, pyright, ty and pytest. It owns their commands, the reading of
// their output, the directories from which each runs, the plugins that run inside mypy and pytest, and what mypy may know
// from an earlier box. It executes code of the workspace only in pytest and in mypy's plugins.
package python

// These are the names of Python's checks.
const (
	RuffName    = "ruff"
	MypyName    = "mypy"
	PyrightName = "pyright"
	TyName      = "ty"
	PytestName  = "pytest"
)
