package verify

import (
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/typecache"
	"agent/verify/verifytest"
)

// A row belongs to one workspace and one image, and is used only after checks that run no code of the workspace.
func TestTypesAreKeptApart(t *testing.T) {
	t.Parallel()
	cache := verifytest.NewMemory()
	base := check.NewView(verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"}), workspace.Changeset{})
	other := check.NewView(verifytest.Scan(t, map[string]string{"a.py": "x = 1\n"}), workspace.Changeset{})
	row := func(cache Cache, toolchain string, base check.View) *typecache.Row {
		return Request{}.types(newStore(cache, toolchain, check.Toolchain, Config{}), base)
	}
	key := row(cache, "one", base).Key
	if key == row(cache, "two", base).Key || key == row(cache, "one", other).Key {
		t.Errorf("the key %s is that of another image or workspace too", key)
	}
	if row(nil, "one", base) != nil {
		t.Error("a types cache with nothing to keep it in")
	}
	s, _ := offline(base.Base, cache, workspace.Changeset{})
	if s.warm(check.Bench{}, []check.Check{python.Ruff, shell.Shellcheck}).Known == nil {
		t.Error("cold behind linters that run nothing of the workspace")
	}
	if s.warm(check.Bench{}, []check.Check{python.Ruff, python.Pytest}).Known != nil {
		t.Error("warm behind the workspace's own code")
	}
}
