package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/mod/modfile"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"
)

// A manifest is one kind of file that states what a project needs.
type manifest struct {
	kind string
	// is recognizes the file by its base name in lower case.
	is func(base string) bool
	// wants lists what the file asks for; nil if that is not read here. An error says that the file cannot be read.
	wants func(text string) (wants []want, err error)
	// locks are the base names of its lock files.
	locks []string
}

// A want is one thing that a manifest asks for.
type want struct {
	name, version string
	// It is needed only to work on the project.
	develop bool
	// Why the version says nothing, "" if it does; status is the gravity of that.
	open   string
	status Status
}

// is returns a test for a set of names.
func is(names ...string) func(string) bool {
	return func(base string) bool { return slices.Contains(names, base) }
}

// manifests are the known kinds.
var manifests = []manifest{
	{"npm", is("package.json"), wantsNode, []string{"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"}},
	{"go", is("go.mod"), wantsGo, []string{"go.sum"}},
	{"python", is("pyproject.toml"), wantsPyproject, []string{"uv.lock", "poetry.lock", "pdm.lock"}},
	{"pip", requirementsFile.MatchString, wantsRequirements, nil},
	{"cargo", is("cargo.toml"), wantsCargo, []string{"cargo.lock"}},
	{"setuptools", is("setup.py", "setup.cfg", "pipfile"), nil, nil},
	{"ruby", is("gemfile"), nil, []string{"gemfile.lock"}},
	{"composer", is("composer.json"), wantsJSON, []string{"composer.lock"}},
	{"jvm", is("pom.xml", "build.gradle", "build.gradle.kts"), nil, nil},
	{"mix", is("mix.exs"), nil, []string{"mix.lock"}},
}

var requirementsFile = lazyregexp.New(`^(?:requirements[^/]*|constraints[^/]*|[^/]*requirements)\.txt$`)

// manifestOf returns the row of a file, or nil.
func manifestOf(p string) *manifest {
	base := strings.ToLower(path.Base(p))
	for i := range manifests {
		if manifests[i].is(base) {
			return &manifests[i]
		}
	}
	return nil
}

// manifestKind names the kind of a manifest, or returns "" for another file.
func manifestKind(p string) string {
	if m := manifestOf(p); m != nil {
		return m.kind
	}
	return ""
}

// lockKind names the kind of manifest to which a lock file belongs, or returns "" for another file.
func lockKind(p string) string {
	base := strings.ToLower(path.Base(p))
	for _, m := range manifests {
		if slices.Contains(m.locks, base) {
			return m.kind
		}
	}
	return ""
}

// manifests lists the paths of the project's own manifests.
func (f *Facts) manifests() []string {
	return f.texts(func(p string) bool { return manifestKind(p) != "" && !aside(p) })
}

// noManifests says that no file states what the project needs, at least none that is read here; "" if one does.
func noManifests(f *Facts) string {
	list := f.manifests()
	switch {
	case len(list) == 0:
		return "no manifest of packages"
	case !slices.ContainsFunc(list, func(p string) bool { return manifestOf(p).wants != nil }):
		return "only manifests that are not read here: " + strings.Join(list, ", ")
	}
	return ""
}

// reads calls visit with each manifest and what it asks for.
func (f *Facts) reads(visit func(p string, m *manifest, wants []want, err error)) {
	for _, p := range f.manifests() {
		if m := manifestOf(p); m.wants != nil {
			wants, err := m.wants(f.Text[p])
			slices.SortFunc(wants, func(a, b want) int {
				return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.version, b.version))
			})
			visit(p, m, wants, err)
		}
	}
}

// depsRead is the share of manifests that can be read.
func depsRead(f *Facts) value {
	all, bad := 0, []Detail{}
	var kinds []string
	f.reads(func(p string, m *manifest, _ []want, err error) {
		if all++; err != nil {
			bad = append(bad, Detail{Status: Fail, File: p, Line: yamlLine(err), Message: "it cannot be read: " + err.Error(), Next: "correct it; nothing can be installed from it"})
		}
		if !slices.Contains(kinds, m.kind) {
			kinds = append(kinds, m.kind)
		}
	})
	v := share(len(bad), all, bad)
	v.words = strings.Join(kinds, ", ")
	return v
}

// lock returns the path of a lock file for the manifest at p, which may lie in a directory above it, or "".
func (f *Facts) lock(p string, m *manifest) string {
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		for _, e := range f.Files {
			if path.Dir(e.Path) == dir && slices.Contains(m.locks, strings.ToLower(path.Base(e.Path))) {
				return e.Path
			}
		}
		if dir == "." {
			return ""
		}
	}
}

// depsLocked is the share of manifests with a lock file among those that should have one: Go modules, and applications
// of npm and Cargo. A library may do without, which is noted.
func depsLocked(f *Facts) value {
	var values mean
	var details []Detail
	f.reads(func(p string, m *manifest, wants []want, err error) {
		if err != nil {
			values.add(0)
		}
		if err != nil || len(wants) == 0 || len(m.locks) == 0 {
			return
		}
		d := Detail{File: p, Message: "its dependencies are not locked: two installations may differ", Next: "commit " + m.locks[0]}
		switch app := f.application(p, m.kind); {
		case m.kind == "go":
			d.Status, d.Message = Fail, "there is no go.sum, so nothing can be built"
			d.Next = "run go mod tidy"
		case app:
			d.Status = Warn
		default:
			d.Status = Note
		}
		locked := f.lock(p, m) != ""
		// Python libraries usually have no lock file.
		if !locked && (d.Status != Note || m.kind != "python") {
			details = append(details, d)
		}
		if d.Status != Note {
			values.add(boolScore(locked))
		}
	})
	return values.value(details)
}

// application reports whether a manifest belongs to a program, and not to something on which others build.
func (f *Facts) application(p, kind string) bool {
	switch kind {
	case "npm":
		fields, err := deps.ReadPackage([]byte(f.Text[p]))
		return err == nil && fields["private"] == true && fields["workspaces"] == nil
	case "cargo":
		return f.has(path.Join(path.Dir(p), "src/main.rs")) && !f.has(path.Join(path.Dir(p), "src/lib.rs"))
	}
	return false
}

// depsBounded is the mean over the manifests of the share of dependencies whose version restricts something. A dependency that any version
// fits is a warning if every installation fetches it, and a note if it is locked or only needed to work on the project.
func depsBounded(f *Facts) value {
	var values mean
	var details []Detail
	f.reads(func(p string, m *manifest, wants []want, err error) {
		locked, bad := len(m.locks) > 0 && f.lock(p, m) != "", 0
		for _, w := range wants {
			if w.open == "" {
				continue
			}
			d := Detail{Status: w.status, File: p, Line: lineOf(f.Text[p], w.name), Message: w.name + ": " + w.open, Next: "name a version, or a range with an upper bound"}
			if locked || w.develop {
				d.Status = Note
			}
			if d.Status != Note {
				bad++
			}
			details = append(details, d)
		}
		switch {
		case err != nil:
			values.add(0)
		case len(wants) == 0:
			values.add(1) // otherwise removing the last one would lower the score
		default:
			values.add(float64(len(wants)-bad) / float64(len(wants)))
		}
	})
	return values.value(details)
}

// depsAgree is the mean over the manifests of the share of their dependencies that their lock file has, for kinds that are read here.
func depsAgree(f *Facts) value {
	var values mean
	var bad []Detail
	f.reads(func(p string, m *manifest, wants []want, err error) {
		lock := f.lock(p, m)
		has := locked(strings.ToLower(path.Base(lock)), f.Text[lock])
		if err != nil {
			values.add(0)
		}
		if err != nil || len(wants) == 0 || lock == "" || has == nil || path.Dir(lock) != path.Dir(p) {
			return
		}
		before := len(bad)
		for _, w := range wants {
			if !has(w) {
				bad = append(bad, Detail{
					Status: Warn, File: p, Line: lineOf(f.Text[p], w.name), Message: w.name + " is not in " + path.Base(lock) + ": the two files are out of sync",
					Next: "run the package manager and commit both",
				})
			}
		}
		values.add(float64(len(wants)-len(bad)+before) / float64(len(wants)))
	})
	return values.value(bad)
}

// locked returns a function that reports whether a lock file has a dependency, or nil if the lock file is not read here.
func locked(base, text string) func(want) bool {
	names := map[string]bool{}
	switch base {
	case "go.sum":
		for l := range strings.Lines(text) {
			if words := strings.Fields(l); len(words) == 3 {
				names[words[0]+" "+strings.TrimSuffix(words[1], "/go.mod")] = true
			}
		}
		return func(w want) bool { return names[w.name+" "+w.version] }
	case "package-lock.json", "npm-shrinkwrap.json":
		var doc struct {
			Packages     map[string]json.RawMessage
			Dependencies map[string]json.RawMessage
		}
		if json.Unmarshal([]byte(text), &doc) != nil {
			return nil
		}
		return func(w want) bool {
			_, now := doc.Packages["node_modules/"+w.name]
			_, old := doc.Dependencies[w.name]
			return now || old || doc.Packages == nil && doc.Dependencies == nil
		}
	case "uv.lock", "poetry.lock", "pdm.lock":
		list, err := deps.ReadLocked([]byte(text))
		if err != nil {
			return nil
		}
		for _, l := range list {
			names[deps.PythonName(l.Name)] = true
		}
		return func(w want) bool { return names[deps.PythonName(w.name)] }
	}
	return nil
}

// lineOf returns the first line that contains a name, or 0.
func lineOf(text, name string) int {
	n := 0
	for l := range strings.Lines(text) {
		n++
		if strings.Contains(l, name) {
			return n
		}
	}
	return 0
}

// wantsJSON only checks whether the text can be read.
func wantsJSON(text string) ([]want, error) {
	_, err := deps.ReadPackage([]byte(text))
	return nil, err
}

// wantsNode reads a package.json.
func wantsNode(text string) (list []want, err error) {
	fields, err := deps.ReadPackage([]byte(text))
	if err != nil {
		return nil, err
	}
	for _, group := range []string{"dependencies", "devDependencies"} {
		wanted, _ := fields[group].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			version := fmt.Sprint(wanted[name])
			w := want{name: name, version: version, develop: group == "devDependencies", status: Warn}
			switch v := strings.TrimSpace(version); {
			case v == "" || v == "*" || v == "x" || v == "latest" || v == ">=0":
				w.open = fmt.Sprintf("%q allows any version", v)
			case strings.HasPrefix(v, "http://"):
				w.open = "it is fetched without encryption"
			}
			list = append(list, w)
		}
	}
	return list, nil
}

// wantsGo reads a go.mod. go.sum does not have what a replacement in the workspace stands for.
func wantsGo(text string) (list []want, err error) {
	m, err := modfile.ParseLax("go.mod", []byte(text), nil)
	if err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	for line := range strings.Lines(text) {
		if at, _, ok := strings.Cut(line, "=>"); ok {
			words := strings.Fields(at)
			if len(words) > 0 && words[0] == "replace" {
				words = words[1:]
			}
			if len(words) > 0 {
				replaced[words[0]] = true
			}
		}
	}
	for _, r := range m.Require {
		if !replaced[r.Mod.Path] {
			list = append(list, want{name: r.Mod.Path, version: r.Mod.Version})
		}
	}
	return list, nil
}

// wantsRequirements reads a file for pip. A missing version is common if people only work on the project.
func wantsRequirements(text string) (list []want, err error) {
	for _, l := range deps.Requirements([]byte(text)) {
		if strings.HasPrefix(l, "-") || strings.HasPrefix(l, ".") || strings.Contains(l, "://") {
			continue
		}
		list = append(list, requirement(l))
	}
	return list, nil
}

var requirementHead = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)`)

// requirement reads one Python requirement (PEP 508).
func requirement(l string) want {
	m := requirementHead.FindStringSubmatch(l)
	if m == nil {
		return want{name: l, version: l}
	}
	w := want{name: m[1], version: strings.TrimSpace(m[2]), status: Note}
	if w.version == "" {
		w.open = "any version is allowed"
	}
	return w
}

// wantsPyproject reads the project's own needs from a pyproject.toml.
func wantsPyproject(text string) (list []want, err error) {
	doc, err := deps.ReadPyproject([]byte(text))
	if err != nil {
		return nil, err
	}
	for _, l := range doc.Project.Dependencies {
		list = append(list, requirement(l))
	}
	for name, version := range doc.Tool.Poetry.Dependencies {
		if name == "python" {
			continue
		}
		w := want{name: name, version: versionIn(version), status: Warn}
		if w.version == "*" {
			w.open = `"*" allows any version`
		}
		list = append(list, w)
	}
	return list, nil
}

// versionIn returns the version from the entry of a dependency for Cargo and poetry, which may be a table.
func versionIn(wanted any) string {
	if table, ok := wanted.(map[string]any); ok && table["version"] != nil {
		wanted = table["version"]
	}
	return fmt.Sprint(wanted)
}

// wantsCargo reads a Cargo.toml.
func wantsCargo(text string) (list []want, err error) {
	var doc struct {
		Dependencies map[string]any
	}
	if err := toml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	for name, version := range doc.Dependencies {
		w := want{name: name, version: versionIn(version), status: Warn}
		if w.version == "*" {
			w.open = `"*" allows any version`
		}
		list = append(list, w)
	}
	return list, nil
}
