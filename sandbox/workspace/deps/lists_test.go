package deps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachKindOfFileListsItsPackages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, text, want string }{
		{"package.json", `{"dependencies":{"b":"1","a":"~2"},"peerDependencies":{"a":"^1"}}`, "added a ^1, ~2, added b 1"},
		{"package.json", `{"devDependencies":{"a":{"version":"1"}}}`, "added a map[version:1]"},
		{"package.json", `{"dependencies":null,"version":"1"}`, ""},
		{"package.json", `{"dependencies":["a"]}`, "what it lists cannot be read: dependencies is not a list of packages"},
		{"web/PACKAGE.JSON", `{"dependencies":{"a":"1"}}`, "added a 1"},
		{"package-lock.json", `{"packages":{"":{"version":"9"},"p/own":{"version":"8"},"node_modules/a/node_modules/@s/b":{"version":"1"},"node_modules/@s/b":{"version":"2"}}}`, "added @s/b 1, 2"},
		{"npm-shrinkwrap.json", `{"dependencies":{"a":{"version":"1","dependencies":{"b":{"version":"2"},"a":{"version":"3"}}}}}`, "added a 1, 3, added b 2"},
		{"package-lock.json", `{"dependencies":{"a":"1"}}`, "what it lists cannot be read: json: cannot unmarshal string"},
		{"pnpm-lock.yaml", "packages:\n  /a/1.0.0: {}\n  /@s/b@2.0.0(c@1.0.0)(d@2.0.0): {}\n  e@3.0.0: {}\n  '@f/4.0.0': {}\n  odd: {}\n", "added @f 4.0.0, added @s/b 2.0.0, added a 1.0.0, added e 3.0.0"},
		{"pnpm-lock.yaml", "packages: [a]\n", "what it lists cannot be read: yaml: unmarshal errors:"},
		{"yarn.lock", "# yarn lockfile v1\n\n\"@s/a@^1\", \"@s/a@^2\":\n  version \"1.0.0\"\n  resolved \"x\"\n\nb@1:\r\n  version \"2.0.0\"\r\n", "added @s/a 1.0.0, added b 2.0.0"},
		{"yarn.lock", "__metadata:\n  version: 8\n\n\"a@npm:^1\":\n  version: 1.0.0\n", "added a 1.0.0"},
		{"yarn.lock", "  version \"1\"\n\":\n  version \"2\"\n", ""},
		{"requirements.in", "-r more.txt\n--index-url http://x\nA_b==1\n", "added --index-url http://x, added -r more.txt, added a-b 1"},
		{"constraints-dev.txt", "a==1 --hash=sha256:00 --hash=sha256:01\n", "added a 1"},
		{"pyproject.toml", "[build-system]\nrequires = ['setuptools>=1']\n[project.optional-dependencies]\nx = ['b[c]>1']\n[dependency-groups]\ndev = ['d', {include-group = 'x'}]\n", "added b [c]>1, added d, added setuptools >=1"},
		{"pyproject.toml", "[tool.poetry.dependencies]\na = '^1'\n[tool.poetry.group.dev.dependencies]\nb = {version = '2'}\n", "added a ^1, added b map[version:2]"},
		{"pyproject.toml", "[project]\ndependencies = 'a'\n", "what it lists cannot be read: toml: "},
		{"uv.lock", "[[package]]\nname = 'a'\nversion = '1'\n[[package]]\nname = 'a'\nversion = '2'\n[[package]]\nversion = '3'\n", "added a 1, 2"},
		{"Cargo.lock", "[[package]]\nname = 'a'\nversion = '1'\n", "added a 1"},
		{"go.sum", "b v1 h1:x\nb v1/go.mod h1:x\nc v1\nd v1 h1:x more\n", "added b v1"},
		{"go.mod", "module a\ntool c.com/x\nrequire b.com/b v1.0.0\n", "added b.com/b v1.0.0, added tool c.com/x"},
		{"go.work.sum", "b v1 h1:x\nb v1/go.mod h1:x\n", "added b v1"},
		{"setup.cfg", "[options]\ninstall_requires =\n    a >=1, <2\n    # none\n    b; python_version < '3'\nsetup_requires = c;d\n[options.extras_require]\ntest = e[x]==1\n", "added a >=1, <2, added b ; python_version < '3', added c, added d, added e [x]==1"},
		{"setup.cfg", "[options\n", "what it lists cannot be read: "},
		{"Cargo.toml", "[dependencies]\na = '1'\n[workspace.dependencies]\nb = {version = '2', features = ['x']}\n[target.'cfg(unix)'.build-dependencies]\nc = {path = 'c'}\n[package]\nname = 'd'\n", "added a 1, added b 2, added c map[path:c]"},
		{"Cargo.toml", "[dependencies]\na\n", "what it lists cannot be read: toml: "},
		{"Pipfile", "[packages]\na = '*'\n[dev-packages]\nb = {version = '==1'}\n[requires]\npython_version = '3'\n", "added a *, added b ==1"},
		{"composer.json", `{"require":{"a/b":"^1"},"require-dev":{"c/d":"2"},"scripts":{}}`, "added a/b ^1, added c/d 2"},
		{"composer.lock", `{"packages":[{"name":"a/b","version":"1"}],"packages-dev":[{"name":"c/d","version":"2"}]}`, "added a/b 1, added c/d 2"},
		{"Gemfile.lock", "a (1)\n", ""},
		{"package.json.bak", `{"dependencies":{"a":"1"}}`, ""},
	} {
		got := Changes(c.file, nil, []byte(c.text))
		if strings.HasPrefix(c.want, "what") {
			got = got[:min(len(got), len(c.want))]
		}
		if got != c.want {
			t.Errorf("%s %q:\n%s\nwant\n%s", c.file, c.text, got, c.want)
		}
	}
}

// Neither removals nor a file that could not be read before hide anything new.
func TestChangesAreToldFromBothSides(t *testing.T) {
	t.Parallel()
	const one, two = `{"dependencies":{"a":"1","b":"1"}}`, `{"dependencies":{"a":"2","c":"1"}}`
	for _, c := range []struct{ before, after, want string }{
		{one, two, "updated a 1 → 2, removed b 1, added c 1"},
		{one, one, ""},
		{one, "", "removed a 1, removed b 1"},
		{" \n\t", one, "added a 1, added b 1"},
		{"{", one, "added a 1, added b 1"},
		{one, "{", "what it lists cannot be read: unexpected end of JSON input"},
		{"{", "{", "what it lists cannot be read: unexpected end of JSON input"},
	} {
		if got := Changes("package.json", []byte(c.before), []byte(c.after)); got != c.want {
			t.Errorf("%q to %q: %s, want %s", c.before, c.after, got, c.want)
		}
	}
}

func TestALongListIsCutAndAHostileNameIsShownPlain(t *testing.T) {
	t.Parallel()
	lines := func(n int) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "p%03d==1\n", i)
		}
		return []byte(b.String())
	}
	if got := Changes("requirements.txt", nil, lines(maxPackages)); strings.Contains(got, "more") || strings.Count(got, "added") != maxPackages {
		t.Error(got)
	}
	if got := Changes("requirements.txt", nil, lines(maxPackages+2)); !strings.HasSuffix(got, "added p019 1, and 2 more") {
		t.Error(got)
	}
	for name, want := range map[string]string{
		`a\u001b[2Jb`:              "added a�[2Jb 1",
		`a\u202eb\u0000\n`:         "added a�b�� 1",
		"\xff":                     "added � 1",
		strings.Repeat("é", 100):   "added " + strings.Repeat("é", 100) + " 1",
		strings.Repeat("é", 101):   "added " + strings.Repeat("é", 100) + "… 1",
		`a, added b 1 \u2192 evil`: "added a, added b 1 → evil 1",
	} {
		if got := Changes("package.json", nil, []byte(`{"dependencies":{"`+name+`":"1"}}`)); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// The reader parses each level of an old lock file again for the next level.
func TestAnOldLockFileIsReadToADepthThatNoneHas(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte {
		return []byte(strings.Repeat(`{"version":"1","dependencies":{"a":`, depth) + `{"version":"2"}` + strings.Repeat("}}", depth))
	}
	if got := Changes("package-lock.json", nil, nested(50)); got != "added a 1, 2" {
		t.Error(got)
	}
	if got := Changes("package-lock.json", nil, nested(60)); got != "what it lists cannot be read: packages are nested too deeply" {
		t.Error(got)
	}
}

// pip accepts more line ends than "\n", and a UTF-8 byte order mark at the start; it installs what follows them.
func TestNoEndOfALineHidesARequirement(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085", "\u2028", "\u2029"} {
		text := []byte("\ufeffa==1" + end + "# why" + end + "evil==2" + end)
		if diff := cmp.Diff([]string{"a==1", "evil==2"}, Requirements(text)); diff != "" {
			t.Errorf("ended by %q: %s", end, diff)
		}
		if got := Changes("requirements.txt", nil, text); got != "added a 1, added evil 2" {
			t.Errorf("ended by %q: %s", end, got)
		}
	}
	// An escaped line end does not end the line, whatever it is.
	if got := Requirements([]byte("a\\\r--pre\\\u2028b")); !slices.Equal(got, []string{"a--preb"}) {
		t.Errorf("%q", got)
	}
}

func TestARequirementWithoutANameIsTold(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"./evil.whl":           "added ./evil.whl",
		"/tmp/evil.whl # why":  "added /tmp/evil.whl",
		"../evil --hash=x":     "added ../evil",
		"git+https://e/x#a=b":  "added git +https://e/x#a=b",
		"https://e/x.whl":      "added https ://e/x.whl",
		"~/x":                  "added ~/x",
		"é==1":                 "added é==1",
		"My__x.y @ file:///x":  "added my-x-y @ file:///x",
		"-e git+https://e/x":   "added -e git+https://e/x",
		"  \t ":                "",
		"--hash=sha256:0":      "added --hash=sha256:0",
		"a ; x == 'y'   # # c": "added a ; x == 'y'",
	} {
		if got := Changes("requirements.txt", nil, []byte(line+"\n")); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
	if got := Changes("pyproject.toml", nil, []byte("[project]\ndependencies = ['./evil']\n")); got != "added ./evil" {
		t.Error(got)
	}
}

func TestSpellingsOfOneNameOfPythonAreOne(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "", "a": "a", "A.B": "a-b", "a_b": "a-b", "a__b": "a-b", "a-._-b": "a-b", "_a_": "-a-", "ÄB": "äb"} {
		if got := PythonName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if got := Changes("requirements.txt", []byte("My.x==1\n"), []byte("my__X==2\n")); got != "updated my-x 1 → 2" {
		t.Error(got)
	}
}
