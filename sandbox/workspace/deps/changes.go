package deps

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
)

// maxPackages is how many changed packages a hold lists.
const maxPackages = 20

// listers read the packages of a file whose name, or name with its directory, matches the pattern, in the order of the
// list.
var listers = []struct {
	pattern string
	read    func(text []byte) (packages, error)
}{
	{"package.json", listPackage},
	{"package-lock.json", listNpmLock},
	{"npm-shrinkwrap.json", listNpmLock},
	{"pnpm-lock.yaml", listPnpmLock},
	{"yarn.lock", listYarnLock},
	{"*requirements*.txt", listRequirements},
	{"*requirements*.in", listRequirements},
	{"requirements/*.txt", listRequirements},
	{"requirements/*.in", listRequirements},
	{"constraints*.txt", listRequirements},
	{"pyproject.toml", listPyproject},
	{"poetry.lock", listLocked},
	{"uv.lock", listLocked},
	{"pdm.lock", listLocked},
	{"cargo.lock", listLocked},
	{"go.mod", listModule},
	{"go.sum", listSums},
	{"go.work.sum", listSums},
	{"setup.cfg", listSetup},
	{"cargo.toml", listCargo},
	{"pipfile", listPipfile},
	{"composer.json", listComposer},
	{"composer.lock", listComposerLock},
}

// Changes says, for people, which packages a change to the manifest or lock file name adds, updates and removes. It
// returns "" if there are none, or if it does not read that kind of file. before and after are its content; nil means
// no file.
func Changes(name string, before, after []byte) string {
	base := strings.ToLower(path.Base(name))
	below := path.Join(strings.ToLower(path.Base(path.Dir(name))), base)
	for _, r := range listers {
		of := base
		if strings.Contains(r.pattern, "/") {
			of = below
		}
		if ok, err := path.Match(r.pattern, of); !ok || err != nil {
			continue
		}
		old, err := readPackages(r.read, before)
		if err != nil {
			old = packages{} // whatever it was, report what is new
		}
		fresh, err := readPackages(r.read, after)
		if err != nil {
			// A file that only looks like a lock file is no reason for silence: the person should look at it all the
			// more.
			return "what it lists cannot be read: " + plain(err.Error())
		}
		return describePackages(old, fresh)
	}
	return ""
}

// readPackages reads a file that may not exist. An empty file lists nothing; some of the parsers would call it an
// error.
func readPackages(read func([]byte) (packages, error), text []byte) (packages, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return packages{}, nil
	}
	return read(text)
}

// describePackages describes the difference of two lists for people. It sorts by name, so that the same change always
// has the same text, whatever the order in the file.
func describePackages(old, fresh packages) string {
	all := maps.Clone(old)
	maps.Copy(all, fresh)
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := old[name]
		is, has := fresh[name]
		switch {
		// A name without a version, such as an option of pip, leaves no space at its end.
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

// plain makes hostile text fit for a line on a terminal: short, and without characters that move the cursor or reverse
// the direction of writing.
func plain(text string) string {
	// Names and versions are far shorter; longer text is not a name.
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
