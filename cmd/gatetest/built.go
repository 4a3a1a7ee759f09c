package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// other is the workspace that replaces the original one while a gate is at work.
var other = map[string]string{"README.md": "Another directory.\n"}

// moved returns the path that the original workspace is moved to.
func (p place) moved() string { return filepath.Join(p.dir, "moved") }

// instants are the times at which something happens to a workspace: while it is read, while it is judged, and late.
var instants = []time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second, 6 * time.Second}

// builtCases returns the cases that need many files or an intervention while the gate is at work.
func builtCases() ([]*hostileCase, error) {
	base, err := readBase("python")
	if err != nil {
		return nil, err
	}
	honest := changed(base["work"], base["honest"])
	with := func(files map[string]string) change {
		all := maps.Clone(base["honest"])
		maps.Copy(all, files)
		return changed(base["work"], all)
	}
	deep := func(levels int) change {
		return with(map[string]string{strings.Repeat("d/", levels) + "notes.md": "Deep.\n"})
	}
	list := []*hostileCase{
		{
			name: "workspace-replaced", mustNot: "written to the other directory", mayWrite: true,
			variants: at(honest, func(p place) error {
				if err := os.Rename(p.work(), p.moved()); err != nil {
					return err
				}
				return p.lay(p.work(), other)
			}),
		},
		{
			name: "workspace-replaced-by-link", mustNot: "written through the link", mayWrite: true,
			variants: at(honest, func(p place) error {
				if err := os.Rename(p.work(), p.moved()); err != nil {
					return err
				}
				if err := p.lay(filepath.Join(p.dir, "other"), other); err != nil {
					return err
				}
				return os.Symlink(filepath.Join(p.dir, "other"), p.work())
			}),
		},
		{
			name: "deep-directories", mustNot: "a crash, a hang or half a patch", mayWrite: true,
			variants: []variant{{name: "100", change: deep(100)}, {name: "1000", change: deep(1000)}, {name: "1900", change: deep(1900)}},
		},
		{
			name: "many-gates", mustNot: "written without a person",
			variants: []variant{{name: "500", change: with(map[string]string{"agent.toml": gates(500)})}},
		},
	}
	for _, c := range list {
		c.work, c.honest = base["work"], honest
	}
	return list, nil
}

// at returns variants of one harmless change, one for each instant at which something happens to the workspace.
func at(c change, meddle func(place) error) (list []variant) {
	for _, after := range instants {
		list = append(list, variant{name: after.String(), change: c, meddle: meddle, after: after})
	}
	return list
}

// gates returns a configuration of n gates.
func gates(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "[[gate]]\nname = \"g%d\"\ncommand = \"true\"\nwhen = \"always\"\n\n", i)
	}
	return strings.TrimSuffix(text.String(), "\n")
}
