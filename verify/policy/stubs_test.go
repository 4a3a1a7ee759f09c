package policy

import (
	"testing"

	"agent/verify/verifytest"
)

func TestAStubThatHidesAModuleIsHeld(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"stock.py": "def price() -> int:\n    return \"x\"\n", "shop/__init__.py": "", "shop/till.py": "", "src/depot/__init__.py": "", "src/depot/row.py": "",
		"web/a.js": "", "web/b.ts": "", "web/c.tsx": "", "web/d.mjs": "", "web/e/index.js": "", "api.py": "", "old.py": "", "old.pyi": "", "shop/api.py": "",
		"mypy.ini": "[mypy]\nmypy_path = $MYPY_CONFIG_FILE_DIR/types:more\n", "app/pyrightconfig.json": `{"stubPath": "hints"}`, "native.so": "",
	}
	base := verifytest.Scan(t, files)
	for p, want := range map[string]bool{
		"stock.pyi": true, "shop/__init__.pyi": true, "shop/till.pyi": true, "shop.pyi": true, "src/depot/row.pyi": true, "__builtins__.pyi": true,
		"typings/stock.pyi": true, "typings/shop/till.pyi": true, "typings/shop/__init__.pyi": true, "stubs/depot/row.pyi": true,
		"shop-stubs/till.pyi": true, "depot-stubs/row.pyi": true, "vendor/shop-stubs/__init__.pyi": true,
		"types/stock.pyi": true, "more/depot/row.pyi": true, "app/hints/shop/till.pyi": true,
		"web/a.d.ts": true, "web/b.d.ts": true, "web/c.d.ts": true, "web/d.d.mts": true, "web/e.d.ts": true,

		// A stub of something installed or compiled, and a stub that was there before.
		"typings/requests/__init__.pyi": false, "typings/requests/api.pyi": false, "requests-stubs/api.pyi": false, "types/requests/stock.pyi": false,
		"typings/shop/other.pyi": false, "native.pyi": false, "old.pyi": false, "stubs/till.pyi": false,
		"web/global.d.ts": false, "web/types/a.d.ts": false, "env.d.ts": false, "web/d.d.ts": false, "notes/stock.pyi": false, "new.py": false, "stock.pyc.txt": false,
	} {
		holds := toolHolds(base, verifytest.Change(t, base, map[string]string{p: "x: int\n"}))
		if held := len(holds) == 1 && holds[0].Path == p && holds[0].Kind == "weaker-type" && holds[0].Block; held != want || !want && len(holds) > 0 {
			t.Errorf("%s: %+v", p, holds)
		}
	}
	// A module and its stub in one patch hide just as much.
	if holds := toolHolds(base, verifytest.Change(t, base, map[string]string{"fresh.py": "", "fresh.pyi": ""})); len(holds) != 1 || holds[0].Path != "fresh.pyi" {
		t.Errorf("both at once: %+v", holds)
	}
}
