package main

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed cases bases
var archives embed.FS

// A hostileCase is a workspace with patches that no gate may write and one that every gate must write.
type hostileCase struct {
	name string
	// mustNot says what must not happen to the hostile patches.
	mustNot string
	// mayWrite says that a gate may write the hostile patches if nothing else comes of it: the hostile part is what they do.
	mayWrite bool
	work     map[string]string
	variants []variant
	honest   change
}

// A variant is one form of the same attack.
type variant struct {
	name string
	change
	// meddle, if not nil, changes the workspace once the gate has been at work for the duration after.
	meddle func(p place) error
	after  time.Duration
}

// A change is a patch and the resulting files. A patch that is spelled out, because files cannot express it, has none.
type change struct {
	diff  string
	files map[string]string // the workspace's files with the patch applied; nil if unknown
}

// A trial is one patch of a case.
type trial struct {
	of *hostileCase
	variant
	isHonest bool
}

func (t trial) name() string { return t.of.name + "/" + t.variant.name }

func (t trial) mustNot() string {
	if t.isHonest {
		return "refused"
	}
	return t.of.mustNot
}

// trials returns the variants of c and its honest twin.
func (c *hostileCase) trials() (list []trial) {
	for _, v := range c.variants {
		list = append(list, trial{of: c, variant: v})
	}
	return append(list, trial{of: c, variant: variant{name: "honest", change: c.honest}, isHonest: true})
}

// deleted is the suffix of a file's name in an archive if the patch deletes that file.
const deleted = ".deleted"

// allCases reads the archives and adds the cases that no archive can hold.
func allCases() ([]*hostileCase, error) {
	names, err := fs.Glob(archives, "cases/*.txtar")
	if err != nil {
		return nil, err
	}
	var list []*hostileCase
	for _, name := range names {
		c, err := readCase(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, c)
	}
	more, err := builtCases()
	if err != nil {
		return nil, err
	}
	return append(list, more...), nil
}

// readCase reads an archive: a comment of fields ("must not: …", "on: BASE", "with: broken", "may: be written"), and
// files below work/, honest/ and the name of each variant. NAME.diff is a variant that is spelled out as a patch.
func readCase(name string) (*hostileCase, error) {
	text, err := archives.ReadFile(name)
	if err != nil {
		return nil, err
	}
	archive := txtar.Parse(text)
	c := &hostileCase{name: strings.TrimSuffix(path.Base(name), ".txtar")}
	on, broken := "python", false
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case key == "must not":
			c.mustNot = value
		case key == "on":
			on = value
		case key == "with" && value == "broken":
			broken = true
		case key == "may" && value == "be written":
			c.mayWrite = true
		case key != "" && key != "rows":
			return nil, fmt.Errorf("%q is no field", line)
		}
	}
	base, err := readBase(on)
	if err != nil {
		return nil, err
	}
	parts, order := sections(archive)
	c.work = base["work"]
	maps.Copy(c.work, parts["work"])
	for _, part := range order {
		switch {
		case part == "work":
		case part == "honest":
			c.honest = changed(c.work, parts[part])
		case strings.HasSuffix(part, ".diff"):
			c.variants = append(c.variants, variant{name: strings.TrimSuffix(part, ".diff"), change: change{diff: parts[part][""]}})
		default:
			files := parts[part]
			if broken {
				files = maps.Clone(base["broken"])
				maps.Copy(files, parts[part])
			}
			c.variants = append(c.variants, variant{name: part, change: changed(c.work, files)})
		}
	}
	if c.honest.diff == "" {
		c.honest = changed(c.work, base["honest"])
	}
	if c.mustNot == "" || len(c.variants) == 0 {
		return nil, fmt.Errorf("it says not what must not happen, or has no variant")
	}
	return c, nil
}

// readBase reads a workspace that several cases share.
func readBase(name string) (map[string]map[string]string, error) {
	text, err := archives.ReadFile("bases/" + name + ".txtar")
	if err != nil {
		return nil, err
	}
	parts, _ := sections(txtar.Parse(text))
	return parts, nil
}

// sections groups the files of an archive by the first part of their names, in the order of the archive.
func sections(a *txtar.Archive) (parts map[string]map[string]string, order []string) {
	parts = map[string]map[string]string{}
	for _, f := range a.Files {
		part, name, _ := strings.Cut(f.Name, "/")
		if parts[part] == nil {
			parts[part] = map[string]string{}
			order = append(order, part)
		}
		parts[part][name] = string(f.Data)
	}
	return parts, order
}

// changed returns the change that lays files over work, with the patch as git writes it.
func changed(work, files map[string]string) change {
	c := change{files: maps.Clone(work)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, gone := files[name], ""
		head := ""
		if base, ok := strings.CutSuffix(name, deleted); ok {
			name, text, gone = base, "", deleted
			delete(c.files, name)
		} else {
			c.files[name] = text
		}
		old, there := work[name]
		from, to := "a/"+name, "b/"+name
		switch {
		case gone != "":
			head, to = "deleted file mode 100644\n", "/dev/null"
		case !there:
			head, from = "new file mode 100644\n", "/dev/null"
		}
		c.diff += fmt.Sprintf("diff --git a/%s b/%s\n%s%s", name, name, head, udiff.Unified(from, to, old, text))
	}
	return c
}
