package deps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/sandbox/workspace/lazyregexp"
)

// nameSigns matches what one "-" stands for in a Python name.
var nameSigns = lazyregexp.New(`[-_.]+`)

// PythonName returns a Python name in its normalised form: names that differ only in case, or in runs of "-", "_" and
// ".", are the same (PEP 503).
func PythonName(name string) string {
	return nameSigns.ReplaceAllString(strings.ToLower(name), "-")
}

// requirementComment matches what is not part of a line. In an address no space precedes a "#".
var requirementComment = lazyregexp.New(`(^|\s)#.*$`)

// lineEnds replaces what ends a line for pip, as in str.splitlines.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n",
	"\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Requirements reads the lines of a requirements file as pip does: it joins continued lines, and omits comments and
// empty lines. A line is a requirement or begins with an option.
func Requirements(text []byte) []string {
	whole := lineEnds.Replace(strings.TrimPrefix(string(text), "\ufeff"))
	var lines []string
	var joined strings.Builder
	// The empty line ends a last line that would be continued.
	for line := range strings.Lines(whole + "\n\n") {
		part, continued := strings.CutSuffix(strings.TrimRight(line, "\n"), "\\")
		comment := strings.HasPrefix(strings.TrimSpace(part), "#")
		if comment {
			joined.WriteByte(' ')
		}
		joined.WriteString(part)
		if continued && !comment {
			continue
		}
		if r := strings.TrimSpace(requirementComment.ReplaceAllString(joined.String(), "")); r != "" {
			lines = append(lines, r)
		}
		joined.Reset()
	}
	return lines
}

// requirementName splits a Python requirement into its name and the rest.
var requirementName = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(.*)$`)

// addRequirement records one requirement.
func (p packages) addRequirement(line string) {
	// Digests identify a version, but only versions are shown.
	line, _, _ = strings.Cut(line, " --hash")
	line = strings.TrimSpace(line)
	m := requirementName.FindStringSubmatch(line)
	if m == nil { // a path, for example of an archive
		p.add(line, "")
		return
	}
	p.add(PythonName(m[1]), strings.TrimPrefix(strings.TrimSpace(m[2]), "=="))
}

// listRequirements lists a requirements file. Options count too: one may name another index.
func listRequirements(text []byte) (packages, error) {
	found := packages{}
	for _, line := range Requirements(text) {
		if strings.HasPrefix(line, "-") {
			found.add(line, "")
			continue
		}
		found.addRequirement(line)
	}
	return found, nil
}

// A Pyproject is what a pyproject.toml requires, in the standard notation and in those of Poetry, uv and PDM. A string
// in it is a requirement (PEP 508), except for Poetry's versions.
type Pyproject struct {
	Build struct {
		Requires []string `toml:"requires"`
	} `toml:"build-system"`
	Project struct {
		Name         string              `toml:"name"`
		Dependencies []string            `toml:"dependencies"`
		Optional     map[string][]string `toml:"optional-dependencies"`
	} `toml:"project"`
	// An entry that is not a string includes another group.
	Groups map[string][]any `toml:"dependency-groups"`
	Tool   struct {
		Poetry struct {
			Dependencies map[string]any `toml:"dependencies"`
			Dev          map[string]any `toml:"dev-dependencies"`
			Group        map[string]struct {
				Dependencies map[string]any `toml:"dependencies"`
			} `toml:"group"`
		} `toml:"poetry"`
		UV struct {
			Sources map[string]any `toml:"sources"`
			Dev     []string       `toml:"dev-dependencies"`
		} `toml:"uv"`
		PDM struct {
			Dev map[string][]string `toml:"dev-dependencies"`
		} `toml:"pdm"`
		// Tables of tools that run tests, which vary widely.
		Hatch any `toml:"hatch"`
		Tox   any `toml:"tox"`
	} `toml:"tool"`
}

// ReadPyproject reads a pyproject.toml.
func ReadPyproject(text []byte) (doc Pyproject, err error) {
	err = toml.Unmarshal(text, &doc)
	return doc, err
}

// listPyproject lists what a pyproject.toml requires, including what it needs to build.
func listPyproject(text []byte) (packages, error) {
	doc, err := ReadPyproject(text)
	if err != nil {
		return nil, err
	}
	found := packages{}
	// What builds a package runs on the machine that installs it, so it counts as much as what is imported.
	lines := slices.Concat(doc.Build.Requires, doc.Project.Dependencies)
	for _, list := range doc.Project.Optional {
		lines = append(lines, list...)
	}
	for _, list := range doc.Groups {
		for _, item := range list {
			// The other kind of entry includes a group that is itself listed here.
			if line, ok := item.(string); ok {
				lines = append(lines, line)
			}
		}
	}
	lines = append(lines, doc.Tool.UV.Dev...)
	for _, list := range doc.Tool.PDM.Dev {
		lines = append(lines, list...)
	}
	for _, line := range lines {
		found.addRequirement(line)
	}
	poetry := []map[string]any{doc.Tool.Poetry.Dependencies, doc.Tool.Poetry.Dev}
	for _, group := range doc.Tool.Poetry.Group {
		poetry = append(poetry, group.Dependencies)
	}
	for _, list := range poetry {
		for name, version := range list {
			found.add(name, fmt.Sprint(version))
		}
	}
	return found, nil
}

// A Locked is a package in a lock file, in one version.
type Locked struct{ Name, Version string }

// ReadLocked reads the lock files that list [[package]], as written by Poetry, uv, PDM and Cargo. It does not read
// where a package comes from, which each of them records differently.
func ReadLocked(text []byte) ([]Locked, error) {
	var lock struct{ Package []Locked }
	err := toml.Unmarshal(text, &lock)
	return lock.Package, err
}

// listLocked lists such a lock file.
func listLocked(text []byte) (packages, error) {
	list, err := ReadLocked(text)
	if err != nil {
		return nil, err
	}
	found := packages{}
	for _, p := range list {
		found.add(p.Name, p.Version)
	}
	return found, nil
}
