package smoke

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/verify/check"
)

// guess reports whether only its main guard makes e, the program of the base, a program. Such a file lies in a directory, as
// do tools, examples and parts of a library that end with a demonstration, and nothing that says how the project is used
// names it.
func guess(base check.View, e check.Entry) (bool, error) {
	dir := path.Dir(e.Path)
	if path.Ext(e.Path) != ".py" || path.Base(e.Path) == "__main__.py" || dir == "." || dir == "src" {
		return false, nil
	}
	named, err := base.First(check.Search{What: "declaration of the program", Among: declares, Order: shallower, Match: starts(e).Match})
	if err != nil {
		return false, fmt.Errorf("look for what declares the program: %w", err)
	}
	return named == "", nil
}

// declares reports whether the file at p may say how the project is used, built or started. Such a file lies at the top or
// in a directory with a leading dot, as those of CI have, or is a README, or builds an image or a project below the top.
func declares(p string) bool {
	name := path.Base(p)
	switch {
	case !strings.Contains(p, "/"):
		return path.Ext(p) != ".py" || name == "setup.py" || name == "noxfile.py" || name == "tasks.py"
	case strings.HasPrefix(p, "."), strings.HasPrefix(name, "README"), strings.Contains(name, "Dockerfile"), strings.Contains(name, "compose."):
		return true
	}
	return name == "pyproject.toml" || name == "setup.cfg" || name == "setup.py"
}

// starts matches what starts a file: its path, the option -m with its module, or its module with a function, as in entry
// points. The name of a module alone does not count, since documentation lists modules.
func starts(e check.Entry) *regexp.Regexp {
	text := `(?m)(?:^|[^\w.-])` + regexp.QuoteMeta(strings.TrimPrefix(e.Path, "src/")) + `\b`
	if i := slices.Index(e.Args, "-m"); i >= 0 {
		module := regexp.QuoteMeta(e.Args[i+1])
		text += `|-m[\s"',]+` + module + `\b|\b` + module + `\s*:\s*\w`
	}
	return regexp.MustCompile(text)
}
