package python

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/python/modules"
	"agent/verify/python/requires"
)

// A typePromise describes how a project checks its own types.
type typePromise struct {
	// flags and targets are the project's own flags, and the files, packages and modules that it passes. Without any
	// targets, the configuration says what is checked.
	flags, targets []string
	// everything says that mypy checks all files, and functions without annotations too, so nothing else is left to look
	// for.
	everything bool
	// blind says that missing libraries are allowed, so mypy does not tell which ones are missing.
	blind bool
	// hooks are pre-commit hooks: a file counts if one of them covers it; nil means all files.
	hooks []command
}

// mypyPromise returns how a root uses mypy. uses is false if neither configuration nor a command of its definitions names
// mypy.
func mypyPromise(v check.View, root string) (p typePromise, uses bool) {
	base := check.OnBase(v.Base)
	called := slices.DeleteFunc(slices.Clone(commandsOf(v, root)), func(c command) bool { return c.Tool != MypyName })
	ownConfig := configured(base, root, mypyConfig, "mypy")
	if !ownConfig && len(called) == 0 {
		return p, false
	}
	files, thorough := mypySettings(base, root)
	for i, c := range called {
		flags, targets := mypyArguments(base, root, c.Args)
		switch {
		case c.Files != nil || c.Exclude != nil:
			p.hooks = append(p.hooks, c)
		case len(targets) > 0:
			p.targets = append(p.targets, targets...)
		}
		// A flag that one command leaves out is not promised for the files that it checks.
		if i > 0 {
			flags = slices.DeleteFunc(flags, func(f string) bool { return !slices.Contains(p.flags, f) })
		}
		p.flags = flags
	}
	slices.Sort(p.targets)
	all := slices.Compact(p.targets)
	// A target that several commands give, by itself and within a directory, would be two modules of one name.
	p.targets = slices.DeleteFunc(slices.Clone(all), func(t string) bool {
		return slices.ContainsFunc(all, func(above string) bool { return above != t && check.Below(t, above) })
	})
	if len(p.targets) > 0 {
		p.hooks = nil
	}
	if len(p.targets) == 0 && !files {
		p.targets = []string{"."}
	}
	p.blind = slices.Contains(p.flags, "--ignore-missing-imports") || slices.ContainsFunc(mypyConfig, func(name string) bool {
		return configured(base, root, []string{name}, "mypy") && strings.Contains(base.Text(path.Join(root, name)), "ignore_missing_imports")
	})
	p.everything = slices.Contains(p.targets, ".") && len(p.hooks) == 0 &&
		(thorough || slices.Contains(p.flags, "--strict") || slices.Contains(p.flags, "--check-untyped-defs"))
	return p, true
}

// covers reports whether the project's hooks check a file.
func (p typePromise) covers(file string) bool {
	return len(p.hooks) == 0 || slices.ContainsFunc(p.hooks, func(c command) bool {
		return (c.Files == nil || c.Files.MatchString(file)) && (c.Exclude == nil || !c.Exclude.MatchString(file))
	})
}

var (
	// promisedFlag matches the options of mypy that say how strict it is. Others only say
	// how it prints and where it keeps things, or would run or install something.
	promisedFlag = lazyregexp.New(`^--(?:strict(?:-[\w-]+)?|(?:no-)?check-untyped-defs|ignore-missing-imports|(?:dis)?allow-[\w-]+|(?:no-)?warn-[\w-]+|` +
		`no-(?:implicit|strict)-[\w-]+|(?:no-)?implicit-(?:optional|reexport)|follow-imports=\w+|(?:dis|en)able-error-code=[\w-]+|` +
		`python-version=[\d.]+|platform=\w+|exclude=.+|scripts-are-modules|local-partial-types|extra-checks)$`)
	// mypyValued lists the options of mypy that take the next word as their value.
	mypyValued = strings.Fields(`--follow-imports --disable-error-code --enable-error-code --python-version --platform --exclude --config-file
		--cache-dir --python-executable --junit-xml --html-report --txt-report --xml-report --any-exprs-report --linecount-report
		--cobertura-xml-report --shadow-file --custom-typeshed-dir --timeout`)
)

// mypyArguments separates the flags and the targets of one command. It leaves out a target that the base does not have.
func mypyArguments(base check.View, root string, args []string) (flags, targets []string) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		// mypy takes an option and its value as one word or as two.
		if slices.Contains(mypyValued, word) && i+1 < len(args) {
			i++
			word += "=" + args[i]
		}
		name := path.Clean(word)
		switch {
		case (word == "-p" || word == "-m") && i+1 < len(args):
			i++
			if file, ok := modules.File(base, root, args[i]); ok {
				targets = append(targets, within(root, strings.TrimSuffix(file, "/__init__.py")))
			}
		case strings.HasPrefix(word, "-"):
			if promisedFlag.MatchString(word) {
				flags = append(flags, word)
			}
		case name == "." || base.Has(path.Join(root, name)) || base.HasDir(path.Join(root, name)):
			targets = append(targets, name)
		}
	}
	return flags, targets
}

// within returns a path of the workspace relative to a root.
func within(root, p string) string {
	if root == "." {
		return p
	}
	return strings.TrimPrefix(p, root+"/")
}

var (
	// mypyFilesKey and mypyThorough match the INI settings that say what is checked, and that functions without annotations
	// are.
	mypyFilesKey = lazyregexp.New(`(?m)^(?:files|packages|modules)\s*[=:]`)
	mypyThorough = lazyregexp.New(`(?mi)^(?:strict|check_untyped_defs)\s*[=:]\s*(?:true|yes|on|1)\s*$`)
	mypySection  = lazyregexp.New(`(?ms)^\[mypy\]\s*$(.*?)(?:^\[|\z)`)
)

// mypySettings reports whether the configuration itself says what is checked, and whether functions without annotations are.
func mypySettings(base check.View, root string) (files, thorough bool) {
	for _, name := range mypyConfig {
		p := path.Join(root, name)
		if !configured(base, root, []string{name}, "mypy") {
			continue
		}
		text, err := base.Read(p)
		if err != nil {
			return false, false
		}
		if path.Ext(name) != ".toml" {
			if section := mypySection.Find(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))); section != nil {
				return mypyFilesKey.Match(section), mypyThorough.Match(section)
			}
			return false, false
		}
		var file struct {
			Tool struct {
				Mypy map[string]any `toml:"mypy"`
			} `toml:"tool"`
		}
		if toml.Unmarshal(text, &file) != nil {
			return false, false
		}
		set := file.Tool.Mypy
		return set["files"] != nil || set["packages"] != nil || set["modules"] != nil, set["strict"] == true || set["check_untyped_defs"] == true
	}
	return false, false
}

// AsksBase reports whether a changeset alters what decides how a check of Python runs. Where pytest runs, and what the
// project promises about itself, is read from the base.
func AsksBase(name string, cs workspace.Changeset) bool {
	return slices.ContainsFunc(cs.Changes, func(c workspace.Change) bool {
		return slices.ContainsFunc([]string{c.Path, check.OldPath(c)}, func(p string) bool {
			return name == PytestName && ProjectMarks[path.Base(p)] != nil ||
				slices.Contains([]string{PytestName, MypyName, RuffName, PyrightName, TyName}, name) && saysPromise(p)
		})
	})
}

// saysPromise reports whether a file may say what the project promises about itself. A check under the old file has not
// judged what the patch makes of that file.
func saysPromise(p string) bool {
	_, read := definition(p)
	return read != nil || pinnedFiles.MatchString(p) || requires.In(p)
}

// asksForWarnings reports whether a command of a root makes a tool's warnings count. Without that, the tool exits with
// warnings as it does with nothing to report.
func asksForWarnings(v check.View, root, tool, option string) bool {
	return slices.ContainsFunc(commandsOf(v, root), func(c command) bool { return c.Tool == tool && slices.Contains(c.Args, option) })
}

// errorsAlone leaves out warnings unless the project asks for them, and clears the mark of the rest.
func errorsAlone(found []check.Finding, warnings bool) []check.Finding {
	if !warnings {
		found = slices.DeleteFunc(found, func(f check.Finding) bool { return f.Unasked })
	}
	for i := range found {
		found[i].Unasked = false
	}
	return found
}
