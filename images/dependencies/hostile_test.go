package dependencies

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"testing"
)

// Whatever a file contains, each line for pip is a name with versions. pip ends lines not only at "\n", and after a
// requirement it accepts options that decide how a package is built.
func TestNoRequirementSmugglesAnOption(t *testing.T) {
	t.Parallel()
	toml := func(line string) string {
		return fmt.Sprintf("[project]\ndependencies = [%s]\n", quoted(line))
	}
	for _, line := range []string{
		"evil==1 --global-option=x", "evil==1\t--config-settings=x=y", "evil>1; python_version > '3' --no-binary=:all:", "evil==1 -C x=y",
		"evil==1\r--no-binary=:all:", "evil==1\n--pre", "evil==1\v--pre", "evil==1\f--pre", "evil==1\x1c--pre", "evil==1\u0085--pre", "evil==1\u2028--pre",
		"evil==1 \n --pre", "evil==${HOME}", "evil[x]==$HOME", "evil==1\x00", "evil==1\u202e2", "evil==1\u00a02", "evil==1 --hash=md5:0", "evil==1 --hash=sha256:0g",
	} {
		version := strings.TrimPrefix(strings.Replace(line, "[x]", "", 1), "evil")
		locked := strings.TrimPrefix(version, "==")
		for name, files := range map[string]map[string][]byte{
			"pyproject.toml": texts("pyproject.toml", toml(line)),
			"Pipfile.lock":   texts("Pipfile.lock", fmt.Sprintf(`{"default":{"evil":{"version":%s}}}`, quoted(version))),
			"uv.lock":        texts("pyproject.toml", toml("a"), "uv.lock", fmt.Sprintf("[[package]]\nname = \"evil\"\nversion = %s\n", quoted(locked))),
		} {
			d := Read(files)
			for file, text := range d.held() {
				if strings.Contains(text, "evil") || strings.Contains(text, "--") {
					t.Errorf("%s with %q: %s is %q", name, line, file, text)
				}
			}
			if name != "uv.lock" && (len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "it is not a name with versions: ask for a version in an index")) {
				t.Errorf("%s with %q is noted as %q", name, line, d.Notes)
			}
		}
	}
}

// quoted returns text as a JSON string, which is also valid TOML.
func quoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < ' ' || r > '~' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// To pip each of these line ends separates two lines: the option is noted, and the rest is installed.
func TestEveryLineOfARequirementsFileIsOneForPipToo(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085", "\u2028", "\u2029"} {
		d := Read(texts("requirements.txt", "\ufeffa==1"+end+"--no-binary=:all:"+end+"b # c"+end+"d"))
		if got := d.held()[requirementsFile]; got != "a==1\nb\nd\n" || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], `"--no-binary" is left out`) {
			t.Errorf("ended by %q: %q, %q", end, got, d.Notes)
		}
	}
}

func TestRequirementsThatPeopleWriteAreTaken(t *testing.T) {
	t.Parallel()
	digest := "--hash=sha256:" + strings.Repeat("0", 64)
	for line, want := range map[string]string{
		"a":                        "a",
		"A.b_c-d":                  "A.b_c-d",
		"a>=1,<2":                  "a>=1,<2",
		"a >= 1.0, != 1.5":         "a >= 1.0, != 1.5",
		"a (>=1)":                  "a (>=1)",
		"a[x, y] ~= 1.0":           "a[x, y] ~= 1.0",
		"a==1.0-1":                 "a==1.0-1",
		"a===1.0+local":            "a===1.0+local",
		"a==1.*":                   "a==1.*",
		"a; sys_platform == 'x-y'": "a; sys_platform == 'x-y'",
		"a==1\t" + digest:          "a==1\t" + digest,
		"a==1 " + digest + " " + strings.Replace(digest, "256", "512", 1): "a==1 " + digest + " " + strings.Replace(digest, "256", "512", 1),
	} {
		d := Read(texts("requirements.txt", line+"\n"))
		if got := d.held()[requirementsFile]; got != want+"\n" || len(d.Notes) > 0 {
			t.Errorf("%q: %q, %q", line, got, d.Notes)
		}
	}
}

// uv compares names by the rules of PEP 503: the index has a different package with that name.
func TestAPackageFromElsewhereIsKnownByEverySpelling(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"my-x", "My.X", "my_x", "my__x", "MY-._x"} {
		d := Read(texts("pyproject.toml", "[project]\ndependencies = ['"+name+">=1']\n[tool.uv.sources]\nmy-x = {url = 'https://evil.example/x.whl'}\n"))
		if !d.Empty() || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "does not come from an index") {
			t.Errorf("%s: %q, %q", name, d.held(), d.Notes)
		}
	}
}

func TestAddressesInLockFilesOfPnpm(t *testing.T) {
	t.Parallel()
	for text, note := range map[string]string{
		"packages:\n  node@1.0.0:\n    resolution: {type: binary, url: 'http://evil/x', integrity: a}\n":                 "does not come from",
		"packages:\n  node@1.0.0:\n    resolution: {type: variations, variants: [{resolution: {url: 'http://evil'}}]}\n": "does not come from",
		"packages:\n  'x@https://evil/x':\n    version: 1.0.0\n":                                                         "does not come from",
		"packages:\n  x@1.0.0:\n    resolution: {gitHosted: true}\n":                                                     "does not come from",
		"patchedDependencies:\n  x: {path: p, hash: a}\n":                                                                `without the workspace's patch of "x"`,
		"a: [\n":         "pnpm-lock.yaml",
		"a: 1\n\tb: 2\n": "pnpm-lock.yaml",
		"a: &a [*a]\n":   "it has an alias",
		"packages:\n  a@1.0.0:\n    dependencies:\n      url: 0.11.4\n":                                "",
		"packages:\n  a@1.0.0:\n    deprecated: see https://example.org\n":                             "",
		"packages:\n  a@file:p:\n    resolution: {directory: p, type: directory, tarball: 'file:p'}\n": "",
	} {
		d := Read(texts("package.json", numberPackage, "pnpm-lock.yaml", text))
		unlocked := note == "does not come from"
		if got := strings.Join(d.Notes, "\n"); !strings.Contains(got, note) || note == "" && got != "" || unlocked != strings.Contains(got, "pnpm-lock.yaml is not used, and versions come from package.json") {
			t.Errorf("%q: noted %q, want %q", text, got, note)
		}
		want := map[bool]string{true: "[pnpm-unlocked .]", false: "[pnpm .]"}[unlocked]
		if note == "pnpm-lock.yaml" || note == "it has an alias" {
			want = "[]"
		}
		if got := fmt.Sprint(d.Steps()); got != want {
			t.Errorf("%q: steps %s, want %s", text, got, want)
		}
		for name, content := range d.held() {
			if strings.Contains(content, "evil") || strings.Contains(content, "patchedDependencies") || unlocked && path.Base(name) == "pnpm-lock.yaml" {
				t.Errorf("%q: pnpm is given %s: %s", text, name, content)
			}
		}
	}
}

// The form of package-lock.json has changed three times; an address is found in every place.
func TestAddressesInLockFilesOfNpm(t *testing.T) {
	t.Parallel()
	const here = "https://registry.npmjs.org/x/-/x-1.0.0.tgz"
	deep := func(entry string) string {
		return `{"dependencies":{"a":{"version":"1.0.0","dependencies":{"x":` + entry + `}}}}`
	}
	for text, note := range map[string]string{
		deep(`{"version":"1.0.0","resolved":"` + here + `"}`):                                    "",
		deep(`{"version":"1.0.0","resolved":"file:x.tgz"}`):                                      "",
		deep(`{"version":"1.0.0","resolved":7,"link":"true"}`):                                   "",
		deep(`{"version":"1.0.0","resolved":"git+ssh://git@evil/x"}`):                            "does not come from",
		deep(`{"version":"1.0.0","resolved":"` + here + `?x=1"}`):                                "does not come from",
		deep(`{"version":"1.0.0","resolved":""}`):                                                "does not come from",
		deep(`{"version":"http://evil/x.tgz"}`):                                                  "does not come from",
		deep(`"http://evil/x.tgz"`):                                                              "does not come from",
		deep(`[{"resolved":"http://evil/x.tgz"}]`):                                               "does not come from",
		`{"packages":{"node_modules/a":{"version":"1","peerDependencies":{"x":"git+ssh://e"}}}}`: "",
		`{"more":[[{"resolved":"http://evil/x.tgz"}]]}`:                                          "does not come from",
		`{"packages":[]}`:    "",
		`[]`:                 "package-lock.json",
		`{} {}`:              "package-lock.json",
		"":                   "package-lock.json",
		"\xff\xfe{\x00}\x00": "package-lock.json",
	} {
		d := Read(texts("package.json", numberPackage, "package-lock.json", text))
		want := map[string]string{"": "[npm .]", "does not come from": "[npm-unlocked .]"}[note]
		if got := strings.Join(d.Notes, "\n"); !strings.Contains(got, note) || note == "" && got != "" || fmt.Sprint(d.Steps()) != cmp.Or(want, "[]") {
			t.Errorf("%s: noted %q, want %q; steps %s", text, got, note, d.Steps())
		}
		if lock := d.held()["node/package-lock.json"]; note == "does not come from" && lock != "" || strings.Contains(lock, "evil") || strings.Contains(lock, "npmjs.org") {
			t.Errorf("%s: npm is given %s", text, lock)
		}
	}
}
