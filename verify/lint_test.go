package verify

import (
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/python"
	"agent/verify/verifytest"
)

func TestARuleOfStyleIsAskedForOnlyByTheWorkspace(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"style.py": "x = 1\nimport os\n\nf = lambda x: x\nl = 1\nif l: print(os, f)\n",
		"wrong.py": "def f(a):\n    if a == None:\n        return b\n",
	}
	rules := func(base *workspace.Manifest, files map[string]string) string {
		t.Helper()
		out := python.RunRuff(t.Context(), checktest.NewBenchOn(t, verifytest.Open(t).Toolchain.ID, base, check.Plant(files), sandbox.Limits{}))
		if out.Verdict != "" || out.Blocked != "" {
			t.Fatalf("%+v", out)
		}
		var list []string
		for _, f := range out.Findings {
			list = append(list, f.Rule)
		}
		return strings.Join(list, " ")
	}
	if got := rules(&workspace.Manifest{}, files); got != "F821" {
		t.Errorf("by itself ruff finds %q", got)
	}
	if got := rules(verifytest.Scan(t, map[string]string{".github/workflows/lint.yml": "jobs:\n  lint:\n    steps:\n    - run: ruff check\n"}), files); got != "E711 F821" {
		t.Errorf("where the workspace runs it ruff finds %q", got)
	}
	// The base's configuration counts, and the box has it.
	config := map[string]string{"ruff.toml": "[lint]\nselect = [\"E4\", \"E7\"]\n"}
	files["ruff.toml"] = config["ruff.toml"]
	if got := rules(verifytest.Scan(t, config), files); got != "E402 E731 E741 E701 E711" {
		t.Errorf("as the workspace says ruff finds %q", got)
	}
}
