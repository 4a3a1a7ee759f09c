package near

import (
	"fmt"
	"slices"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

// Files finds the tests that the patch changes, that name what it changes, or that are named after it or are next to it.
func TestFilesThatAPatchIsAbout(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{
		"package.json":  `{"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "1"}}`,
		"shop/price.py": "x = 1\n", "shop/__init__.py": "", "shop/stock.py": "", "tests/test_price.py": "import other\n", "tests/test_all.py": "from shop import (\n    price,\n)\n",
		"tests/test_stock.py": "from shop.stock import x\n", "tests/conftest.py": "from shop import price\n", "tests/test_word.py": "# the price\nx = 'import price'\n",
		"src/cart.ts": "", "src/cart.test.ts": "import {a} from '.'\n", "src/sum.test.ts": "import {b} from './cart'\n", "src/other.test.ts": "import {b} from './carts'\n",
		"a/a.go": "package a\n", "a/a_test.go": "package a\n", "b/b_test.go": "package b\n\nimport (\n\t\"m/a\"\n)\n", "c/c_test.go": "package c\n\nimport \"m/b\"\n",
	})
	for _, c := range []struct {
		files map[string]string
		want  []string
	}{
		{map[string]string{"shop/price.py": "x = 2\n"}, []string{"tests/test_price.py", "tests/test_all.py"}},
		{map[string]string{"shop/price.py": "x = 2\n", "tests/test_stock.py": "x = 1\n", "tests/test_new.py": ""}, []string{"tests/test_new.py", "tests/test_stock.py", "tests/test_price.py", "tests/test_all.py"}},
		{map[string]string{"src/cart.ts": "x\n"}, []string{"src/cart.test.ts", "src/sum.test.ts"}},
		{map[string]string{"a/a.go": "package a\n\nvar x int\n"}, []string{"a/a_test.go", "b/b_test.go"}},
		{map[string]string{"README.md": "x\n"}, nil},
	} {
		cs := verifytest.Change(t, base, c.files)
		if got := Files(check.NewView(base, cs), cs); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.files, got, c.want)
		}
	}
	gone := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Delete, Path: "tests/test_all.py", Before: []byte("x"), Mode: 0o644}}}
	if got := Files(check.NewView(base, gone), gone); !slices.Equal(got, []string{"tests/test_all.py"}) {
		t.Errorf("a test that is gone, and ran before: %q", got)
	}
	moved := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: "tests/test_all.py", Path: "tests/test_some.py", Before: []byte("x"), After: []byte("x"), Mode: 0o644}}}
	if got := Files(check.NewView(base, moved), moved); !slices.Equal(got, []string{"tests/test_some.py", "tests/test_all.py"}) {
		t.Errorf("a test that moved: %q", got)
	}
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	for all, want := range map[int]int{3: 3, 10: 4, 60: 12, 6 * Most: Most} {
		files := map[string]string{"price.py": "x = 1\n"}
		for i := range all {
			files[fmt.Sprintf("test_%d.py", i)] = "import price\n"
		}
		base := verifytest.Scan(t, files)
		cs := verifytest.Change(t, base, map[string]string{"price.py": "x = 2\n", "test_2.py": "import price  # now\n"})
		if got := Files(check.NewView(base, cs), cs); len(got) != want || got[0] != "test_2.py" {
			t.Errorf("of %d, %d: %q", all, len(got), got)
		}
	}
}
