package dependencies

import (
	"bytes"
	"testing"
)

// fuzzedNames lists manifests and lock files that Read knows.
var fuzzedNames = []string{
	"package.json", "package-lock.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock", ".npmrc", "requirements.txt", "pyproject.toml",
	"poetry.lock", "uv.lock", "Pipfile", "Pipfile.lock", "setup.cfg", "setup.py", "tox.toml", "hatch.toml", "noxfile.py", "go.mod", "go.sum", "tox.ini", ".github/workflows/ci.yml",
}

// FuzzRead reads any two files as manifests and lock files. An image is built from the result, so it is the same each
// time, and at most a few times as large as the files.
func FuzzRead(f *testing.F) {
	f.Add(uint8(0), uint8(1), []byte(`{"dependencies":{"a":"1","b":"git+ssh://x/y"},"workspaces":["p/*"],"scripts":{"postinstall":"x"}}`),
		[]byte(`{"lockfileVersion":3,"packages":{"":{"dependencies":{"a":"1"}},"node_modules/a":{"version":"1.0.0","resolved":"http://x/a.tgz"}}}`))
	f.Add(uint8(0), uint8(2), []byte(`{"dependencies":{"a":"1"}}`), []byte("lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      a:\n        specifier: 1\n        version: 1.0.0\npackages:\n  a@1.0.0:\n    resolution: {integrity: x}\n"))
	f.Add(uint8(0), uint8(4), []byte(`{"dependencies":{"a":"1"}}`), []byte("# yarn lockfile v1\n\na@1:\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#x\"\n"))
	f.Add(uint8(6), uint8(7), []byte("a==1\n-r b.txt\n-e .\n--index-url http://x\nb @ git+https://x/y\n"), []byte("[project]\ndependencies = [\"a\"]\n[dependency-groups]\ntest = [\"b\", {include-group = \"test\"}]\n"))
	f.Add(uint8(7), uint8(8), []byte("[tool.poetry.dependencies]\na = {version = \"1\", git = \"x\"}\n"), []byte("[[package]]\nname = \"a\"\nversion = \"1\"\n"))
	f.Add(uint8(10), uint8(11), []byte("[packages]\na = \"*\"\n"), []byte(`{"default":{"a":{"version":"==1"}}}`))
	f.Add(uint8(13), uint8(14), []byte("module a\nrequire b.com/b v1.0.0\nreplace b.com/b => ../b\n"), []byte("b.com/b v1.0.0 h1:x=\n"))
	f.Add(uint8(2), uint8(3), []byte("a: &a [*a]\n"), []byte("packages:\n- '**'\n"))
	f.Fuzz(func(t *testing.T, one, two uint8, first, second []byte) {
		files := func() map[string][]byte {
			return map[string][]byte{
				fuzzedNames[int(one)%len(fuzzedNames)]: bytes.Clone(first),
				fuzzedNames[int(two)%len(fuzzedNames)]: bytes.Clone(second),
			}
		}
		set := Read(files())
		if !set.Equal(Read(files())) {
			t.Error("the same files give two sets")
		}
		total := 0
		for name, content := range set.Files() {
			total += len(content)
			if name == "" || name[0] == '/' || bytes.Contains([]byte(name), []byte("..")) {
				t.Errorf("a file called %q", name)
			}
		}
		// JSON and YAML are indented and quoted when they are written again.
		if most := 64*(len(first)+len(second)) + 64<<10; total > most {
			t.Errorf("%d bytes out of %d", total, len(first)+len(second))
		}
	})
}
