package verify

import (
	"bytes"
	"path"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// pyrightFiles and tyFiles are the files at the root that configure these two.
var (
	pyrightFiles = []string{"pyrightconfig.json", "pyproject.toml"}
	tyFiles      = []string{"ty.toml", "pyproject.toml"}
)

// typesApply makes the question whether a type checker of Python is the one that
// the project has chosen.
func typesApply(name string) func(v view) string {
	return func(v view) string {
		if reason := pythonApplies(v); reason != "" {
			return reason
		}
		if chosen := typeChecker(v); chosen != name {
			return "the workspace checks its types with " + chosen
		}
		return ""
	}
}

// typeChecker names the check of Python's types: mypy, unless the workspace
// configures another one and not mypy. The base decides, as it does on all
// configuration: a patch cannot choose who judges it.
func typeChecker(v view) string {
	base := view{base: v.base}
	switch {
	case configured(base, mypyConfig, "mypy"):
		return checkMypy
	case configured(base, pyrightFiles, "pyright"):
		return checkPyright
	case configured(base, tyFiles, "ty"):
		return checkTy
	}
	return checkMypy
}

// configured reports whether one of the files configures a tool: one of the
// tool's own does by being there, one that tools share by its table or section.
func configured(v view, files []string, tool string) bool {
	return slices.ContainsFunc(files, func(name string) bool {
		if !v.has(name) {
			return false
		}
		shared := name == "setup.cfg" || name == "pyproject.toml"
		if !shared {
			return true
		}
		// A file that cannot be read chooses nothing.
		text, err := v.read(name)
		if path.Ext(name) != ".toml" {
			return err == nil && bytes.Contains(append([]byte("\n"), text...), []byte("\n["+tool+"]"))
		}
		var file struct {
			Tool map[string]any `toml:"tool"`
		}
		return err == nil && toml.Unmarshal(text, &file) == nil && file.Tool[tool] != nil
	})
}
