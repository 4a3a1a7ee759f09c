// Package deps reads what manifests and lock files of package managers list: npm, pnpm,
// yarn, pip, Poetry, uv, PDM, Cargo and Go.
//
// What it says is for the eye of a person who approves and decides nothing. Nothing is
// installed, fetched or executed, and text that no manager would accept is an error in
// words, never a panic.
package deps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// maxPackages is how many changed packages a hold lists.
const maxPackages = 20

// packages is what a manifest or a lock file names: versions by name. Of a
// package that it has several times all versions are there, with commas.
//
// It is for the eye of a person who approves, and decides nothing: the hold is
// there whether these lists differ or not.
type packages map[string]string

// add notes one more version of a package.
func (p packages) add(name, version string) {
	if name == "" {
		return
	}
	// Sorted, so that both sides of a change give one text for one set.
	known := strings.Split(p[name], ", ")
	switch {
	case p[name] == "":
		p[name] = version
	case !slices.Contains(known, version):
		p[name] = strings.Join(slices.Sorted(slices.Values(append(known, version))), ", ")
	}
}

// packageReaders read the packages of a file by the pattern of its name, in
// the order of the list.
var packageReaders = []struct {
	pattern string
	read    func(text []byte) (packages, error)
}{
	{"package.json", readPackageJSON},
	{"package-lock.json", readNpmLock},
	{"npm-shrinkwrap.json", readNpmLock},
	{"pnpm-lock.yaml", readPnpmLock},
	{"yarn.lock", readYarnLock},
	{"requirements*.txt", readRequirements},
	{"requirements*.in", readRequirements},
	{"constraints*.txt", readRequirements},
	{"pyproject.toml", readPyproject},
	{"poetry.lock", readTOMLLock},
	{"uv.lock", readTOMLLock},
	{"pdm.lock", readTOMLLock},
	{"cargo.lock", readTOMLLock},
	{"go.mod", readGoMod},
	{"go.sum", readGoSum},
}

// Changes says which packages a change to the manifest or the lock file name
// adds, updates and removes, for people; "" when it does none of that, or the file is of a
// sort that is not read. before and after are its content; nil where there is no file.
func Changes(name string, before, after []byte) string {
	base := strings.ToLower(path.Base(name))
	for _, r := range packageReaders {
		if ok, err := path.Match(r.pattern, base); !ok || err != nil {
			continue
		}
		old, err := readPackages(r.read, before)
		if err != nil {
			old = packages{} // whatever it was, what is new is told
		}
		fresh, err := readPackages(r.read, after)
		if err != nil {
			// A file that only looks like a lock file is no reason to say
			// nothing: the person should look at it all the more.
			return "what it lists cannot be read: " + plain(err.Error())
		}
		return describePackages(old, fresh)
	}
	return ""
}

// readPackages reads a file that may not be there.
//
// An empty file lists nothing; some of the parsers would call it an error.
func readPackages(read func([]byte) (packages, error), text []byte) (packages, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return packages{}, nil
	}
	return read(text)
}

// describePackages tells the difference of two lists to people.
//
// In the order of the names, so that the same change has the same text each time,
// whatever the order in the file.
func describePackages(old, fresh packages) string {
	all := maps.Clone(old)
	maps.Copy(all, fresh)
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := old[name]
		is, has := fresh[name]
		switch {
		// A name without a version, as an option of pip has it, leaves no space
		// at its end.
		case !had:
			changes = append(changes, strings.TrimSpace("added "+plain(name)+" "+plain(is)))
		case !has:
			changes = append(changes, strings.TrimSpace("removed "+plain(name)+" "+plain(was)))
		case was != is:
			changes = append(changes, fmt.Sprintf("updated %s %s → %s", plain(name), plain(was), plain(is)))
		}
	}
	if more := len(changes) - maxPackages; more > 0 {
		changes = append(changes[:maxPackages], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(changes, ", ")
}

// plain is hostile text for a line on a terminal: without what moves the
// cursor or turns the direction of writing, and short.
func plain(text string) string {
	// Names and versions are far shorter; what is not is no name.
	const most = 100 // runes
	if text == "" {
		return ""
	}
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '�'
		}
		return r
	}, text))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// readPackageJSON reads the lists of a package.json.
func readPackageJSON(text []byte) (packages, error) {
	// Field by field: a script that is no text, or the like, is for others to
	// complain about.
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	found := packages{}
	for _, list := range []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"} {
		// A version may be an object in some dialects: it is shown as it stands.
		var entries map[string]any
		if doc[list] != nil && json.Unmarshal(doc[list], &entries) != nil {
			return nil, errors.New(list + " is no list of packages")
		}
		for name, version := range entries {
			found.add(name, fmt.Sprint(version))
		}
	}
	return found, nil
}

// An npmLock is a package-lock.json: packages by their place, or in old ones
// by their name, each with its own below it.
type npmLock struct {
	Packages     map[string]struct{ Name, Version string }
	Dependencies map[string]json.RawMessage
}

// readNpmLock reads either form of a package-lock.json.
func readNpmLock(text []byte) (packages, error) {
	var lock npmLock
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	found := packages{}
	for place, p := range lock.Packages {
		// "node_modules/a/node_modules/@s/b" is @s/b, in a version that only a
		// sees. The workspace's own packages lie elsewhere.
		if i := strings.LastIndex(place, "node_modules/"); i >= 0 {
			found.add(place[i+len("node_modules/"):], p.Version)
		}
	}
	if len(lock.Packages) > 0 {
		return found, nil
	}
	// Only version 1 has no such map. Version 2 has both, and the old one says
	// the same there.
	return found, readOldNpm(lock.Dependencies, found, 0)
}

// readOldNpm goes down an old lock file, to a depth that none has.
//
// The depth is bounded because the file is a model's to write: each level is
// parsed again for the next one.
func readOldNpm(list map[string]json.RawMessage, found packages, depth int) error {
	if depth > 50 {
		return errors.New("packages lie too deep in each other")
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
		if err := readOldNpm(p.Dependencies, found, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// readPnpmLock reads the keys of packages: "/a/1.0.0", "/@s/a@1.0.0(peer)",
// "a@1.0.0".
func readPnpmLock(text []byte) (packages, error) {
	var lock struct {
		Packages map[string]yaml.Node `yaml:"packages"`
	}
	if err := yaml.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	found := packages{}
	for key := range lock.Packages {
		// The versions of its peers stand in parentheses; a scope begins with
		// the sign that stands before the version too.
		key, _, _ = strings.Cut(strings.TrimPrefix(key, "/"), "(")
		// The last one, since a scope has it too. At the very beginning it is the
		// scope's own, of a key of the oldest form.
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

// yarnVersion is the version in a block of a yarn.lock, of either age.
var yarnVersion = regexp.MustCompile(`^  "?version"?:? "?([^"\s]+)"?`)

// readYarnLock reads blocks that a line like `"@s/a@^1", "@s/a@^2":` opens.
func readYarnLock(text []byte) (packages, error) {
	found, name := packages{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if m := yarnVersion.FindStringSubmatch(line); m != nil {
			found.add(name, m[1])
		} else if line != "" && !strings.ContainsAny(line[:1], " #") {
			// The ranges that one version serves are listed; the name is the same
			// in all of them.
			first, _, _ := strings.Cut(strings.Trim(line, `":`), ",")
			name = first
			if i := strings.Index(first[min(1, len(first)):], "@"); i >= 0 {
				// The index was counted without the first letter, which may be
				// the sign of a scope.
				name = first[:i+1]
			}
			if name == "__metadata" {
				name = ""
			}
		}
	}
	return found, nil
}

// requirementName splits a requirement of Python into its name and the rest.
var requirementName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(.*)$`)

// addRequirement notes one requirement. Python does not tell case, nor "-",
// "_" and "." in names apart (PEP 503).
func (p packages) addRequirement(line string) {
	// Digests say what a version is, and it is the versions that are shown.
	line, _, _ = strings.Cut(line, " --hash")
	m := requirementName.FindStringSubmatch(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "\\")))
	if m == nil {
		return
	}
	name := strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(m[1]))
	p.add(name, strings.TrimPrefix(strings.TrimSpace(m[2]), "=="))
}

// readRequirements reads a requirements file. Options count too: one may name
// another index.
func readRequirements(text []byte) (packages, error) {
	found := packages{}
	for line := range strings.Lines(string(text)) {
		// A "#" with a space before it begins a comment; in an address it stands
		// without.
		line, _, _ = strings.Cut(" "+line, " #")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "--hash") {
			found.add(line, "")
			continue
		}
		found.addRequirement(line)
	}
	return found, nil
}

// readPyproject reads the lists of a pyproject.toml, those of Poetry too.
func readPyproject(text []byte) (packages, error) {
	var doc struct {
		Build struct {
			Requires []string `toml:"requires"`
		} `toml:"build-system"`
		Project struct {
			Dependencies []string            `toml:"dependencies"`
			Optional     map[string][]string `toml:"optional-dependencies"`
		} `toml:"project"`
		Groups map[string][]any `toml:"dependency-groups"`
		Tool   struct {
			Poetry struct {
				Dependencies map[string]any `toml:"dependencies"`
				Group        map[string]struct {
					Dependencies map[string]any `toml:"dependencies"`
				} `toml:"group"`
			} `toml:"poetry"`
		} `toml:"tool"`
	}
	if err := toml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	found := packages{}
	// What builds a package runs on the machine that installs it, so it counts as
	// much as what is imported.
	lines := slices.Concat(doc.Build.Requires, doc.Project.Dependencies)
	for _, list := range doc.Project.Optional {
		lines = append(lines, list...)
	}
	for _, list := range doc.Groups {
		for _, item := range list {
			// The other sort of entry includes a group that is listed here
			// itself.
			if line, ok := item.(string); ok {
				lines = append(lines, line)
			}
		}
	}
	for _, line := range lines {
		found.addRequirement(line)
	}
	poetry := []map[string]any{doc.Tool.Poetry.Dependencies}
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

// readTOMLLock reads the lock files that list [[package]].
//
// Poetry, uv, pdm and Cargo agree on this much; where a package comes from each
// of them writes in its own way, and it is not shown.
func readTOMLLock(text []byte) (packages, error) {
	var lock struct {
		Package []struct{ Name, Version string }
	}
	if err := toml.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	found := packages{}
	for _, p := range lock.Package {
		found.add(p.Name, p.Version)
	}
	return found, nil
}

// readGoMod reads what a go.mod requires and what it puts in its place.
func readGoMod(text []byte) (packages, error) {
	found, block := packages{}, ""
	// Both forms of a directive: on one line, and in a block. What is no line of
	// a go.mod adds nothing, and Go will refuse the file.
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case words[0] == ")":
			block = ""
			continue
		case len(words) == 2 && words[1] == "(":
			block = words[0]
			continue
		case block == "":
			block, words = words[0], words[1:]
			found.addModule(block, words)
			block = ""
			continue
		}
		found.addModule(block, words)
	}
	return found, nil
}

// addModule notes one line of a go.mod.
func (p packages) addModule(directive string, words []string) {
	// What stands in for a module, and programs that are run with the module,
	// are as much a matter of trust as what is required.
	switch {
	case directive == "require" && len(words) == 2:
		p.add(words[0], words[1])
	case directive == "replace" && len(words) > 2, directive == "toolchain", directive == "tool":
		p.add(directive+" "+strings.Join(words, " "), "")
	}
}

// readGoSum reads which versions a go.sum has the content of.
//
// The lines of go.mod files alone are left out: what is compiled has one for its
// content, too.
func readGoSum(text []byte) (packages, error) {
	found := packages{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && !strings.HasSuffix(words[1], "/go.mod") {
			found.add(words[0], words[1])
		}
	}
	return found, nil
}
