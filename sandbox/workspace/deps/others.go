package deps

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// listSetup lists what a setup.cfg installs, including what it needs to build the program.
// (setuptools.pypa.io/en/latest/userguide/declarative_config)
func listSetup(text []byte) (packages, error) {
	sections, err := Sections(text)
	if err != nil {
		return nil, err
	}
	found := packages{}
	lists := []string{sections["options"]["install_requires"], sections["options"]["setup_requires"], sections["options"]["tests_require"]}
	for _, extra := range sections["options.extras_require"] {
		lists = append(lists, extra)
	}
	for _, list := range lists {
		if !strings.Contains(list, "\n") {
			list = strings.ReplaceAll(list, ";", "\n") // in a list of lines this begins a marker
		}
		for _, line := range Requirements([]byte(list)) {
			found.addRequirement(line)
		}
	}
	return found, nil
}

// A crates is a table of crates in a Cargo.toml, each with a version or a table that contains one.
// (doc.rust-lang.org/cargo/reference/specifying-dependencies.html)
type crates map[string]any

// crateLists are the lists of crates in one table.
type crateLists struct {
	Needs crates `toml:"dependencies"`
	Dev   crates `toml:"dev-dependencies"`
	Build crates `toml:"build-dependencies"`
}

// listCargo lists a Cargo.toml.
func listCargo(text []byte) (packages, error) {
	var doc struct {
		crateLists
		Target    map[string]crateLists `toml:"target"`
		Workspace crateLists            `toml:"workspace"`
	}
	if err := toml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	found := packages{}
	all := []crateLists{doc.crateLists, doc.Workspace}
	for _, lists := range doc.Target {
		all = append(all, lists)
	}
	for _, lists := range all {
		for _, list := range []crates{lists.Needs, lists.Dev, lists.Build} {
			found.addTables(list)
		}
	}
	return found, nil
}

// listPipfile lists a Pipfile (pipenv.pypa.io/en/latest/pipfile.html).
func listPipfile(text []byte) (packages, error) {
	var doc struct {
		Packages map[string]any `toml:"packages"`
		Dev      map[string]any `toml:"dev-packages"`
	}
	if err := toml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	found := packages{}
	found.addTables(doc.Packages)
	found.addTables(doc.Dev)
	return found, nil
}

// addTables records packages by name, each with a version or with a table that has a "version".
func (p packages) addTables(list map[string]any) {
	for name, value := range list {
		if table, ok := value.(map[string]any); ok && table["version"] != nil {
			value = table["version"]
		}
		p.add(name, fmt.Sprint(value))
	}
}

// listComposer lists a composer.json (getcomposer.org/doc/04-schema.md).
func listComposer(text []byte) (packages, error) {
	var doc struct {
		Require map[string]string `json:"require"`
		Dev     map[string]string `json:"require-dev"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	found := packages{}
	for _, list := range []map[string]string{doc.Require, doc.Dev} {
		for name, version := range list {
			found.add(name, version)
		}
	}
	return found, nil
}

// listComposerLock lists a composer.lock.
func listComposerLock(text []byte) (packages, error) {
	type one struct{ Name, Version string }
	var doc struct {
		Packages []one `json:"packages"`
		Dev      []one `json:"packages-dev"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	found := packages{}
	for _, list := range [][]one{doc.Packages, doc.Dev} {
		for _, p := range list {
			found.add(p.Name, p.Version)
		}
	}
	return found, nil
}
