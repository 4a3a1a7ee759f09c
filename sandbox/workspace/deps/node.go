package deps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace/lazyregexp"
)

// PackageLists are the fields of a package.json that list packages with their versions. The last one lists what others
// must supply.
var PackageLists = []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"}

// ReadPackage reads a package.json, or another JSON document written by a Node package manager: its fields by name,
// with numbers unconverted. If two fields have the same name, the last one counts, as everywhere.
func ReadPackage(text []byte) (map[string]any, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(whole))
	d.UseNumber()
	err := d.Decode(&fields)
	return fields, err
}

// listPackage lists what a package.json requires.
func listPackage(text []byte) (packages, error) {
	fields, err := ReadPackage(text)
	if err != nil {
		return nil, err
	}
	found := packages{}
	for _, name := range PackageLists {
		list, ok := fields[name].(map[string]any)
		if !ok && fields[name] != nil {
			return nil, errors.New(name + " is not a list of packages")
		}
		// A version may be an object in some dialects: it is shown as it is.
		for name, version := range list {
			found.add(name, fmt.Sprint(version))
		}
	}
	return found, nil
}

// An npmLock is a package-lock.json: packages by their place or, in old files, by their name, each with its own
// dependencies nested below it.
type npmLock struct {
	Packages     map[string]struct{ Name, Version string }
	Dependencies map[string]json.RawMessage
}

// listNpmLock reads either form of a package-lock.json.
func listNpmLock(text []byte) (packages, error) {
	var lock npmLock
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	found := packages{}
	for place, p := range lock.Packages {
		// "node_modules/a/node_modules/@s/b" is @s/b, in a version that only a sees. The workspace's own packages are
		// elsewhere.
		if i := strings.LastIndex(place, "node_modules/"); i >= 0 {
			found.add(place[i+len("node_modules/"):], p.Version)
		}
	}
	if len(lock.Packages) > 0 {
		return found, nil
	}
	// Only version 1 lacks this map. Version 2 has both, with the same information.
	return found, addOldNpm(lock.Dependencies, found, 0)
}

// addOldNpm descends into an old lock file, to a depth that none has.
//
// The depth is bounded because a model can write the file: each level is parsed again for the next one.
func addOldNpm(list map[string]json.RawMessage, found packages, depth int) error {
	if depth > 50 {
		return errors.New("packages are nested too deeply")
	}
	for name, text := range list {
		var p struct {
			Version      string
			Dependencies map[string]json.RawMessage
		}
		if err := json.Unmarshal(text, &p); err != nil {
			return err
		}
		found.add(name, p.Version)
		if err := addOldNpm(p.Dependencies, found, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// listPnpmLock reads the keys of packages: "/a/1.0.0", "/@s/a@1.0.0(peer)", "a@1.0.0".
func listPnpmLock(text []byte) (packages, error) {
	var lock struct {
		Packages map[string]yaml.Node `yaml:"packages"`
	}
	if err := yaml.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	found := packages{}
	for key := range lock.Packages {
		// The versions of its peers are in parentheses; a scope begins with the same sign that precedes the version.
		key, _, _ = strings.Cut(strings.TrimPrefix(key, "/"), "(")
		// The last sign, since a scope has one too. At the very beginning the sign is that of the scope, in a key of
		// the oldest form.
		i := strings.LastIndexByte(key, '@')
		if i <= 0 {
			i = strings.LastIndexByte(key, '/')
		}
		if i > 0 {
			found.add(key[:i], key[i+1:])
		}
	}
	return found, nil
}

// yarnVersion matches the version in a block of a yarn.lock, old or new.
var yarnVersion = lazyregexp.New(`^  "?version"?:? "?([^"\s]+)"?`)

// listYarnLock reads blocks that begin with a line like `"@s/a@^1", "@s/a@^2":`.
func listYarnLock(text []byte) (packages, error) {
	found, name := packages{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if m := yarnVersion.FindStringSubmatch(line); m != nil {
			found.add(name, m[1])
		} else if line != "" && !strings.ContainsAny(line[:1], " #") {
			// The line lists the ranges that one version satisfies; the name is the same in all of them.
			first, _, _ := strings.Cut(strings.Trim(line, `":`), ",")
			name = first
			if i := strings.Index(first[min(1, len(first)):], "@"); i >= 0 {
				// The index does not count the first character, which may be the sign of a scope.
				name = first[:i+1]
			}
			if name == "__metadata" {
				name = ""
			}
		}
	}
	return found, nil
}
