// Package python holds Python's checks: ruff, mypy, pyright, ty and pytest. It owns their
// commands, the reading of what they print, the directories from which each is run, the
// plugins that run inside mypy and pytest, and what mypy may know from an earlier box. It
// executes no code of the workspace but in pytest and in mypy's plugins.
package python

// The names of Python's checks.
const (
	RuffName    = "ruff"
	MypyName    = "mypy"
	PyrightName = "pyright"
	TyName      = "ty"
	PytestName  = "pytest"
)
