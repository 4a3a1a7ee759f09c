package repair_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"agent/images"
	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/check"
	"agent/verify/repair"
	"agent/verify/verifytest"
)

// A trial is a patch to a workspace that configures its linters.
type trial struct {
	files, patch map[string]string
	// want has the files after the repair, which what describes; nil if there is no repair.
	want map[string]string
	what string
	rule string // found before the repair
	// packages says that the workspace brings a linter of its own.
	packages bool
}

// TestLintersRepairWhatTheyFind has real linters repair their findings in a patch, in real boxes; the repaired patch passes.
func TestLintersRepairWhatTheyFind(t *testing.T) {
	t.Parallel()
	// No other test has this version, since the first one to end would remove what both have installed.
	const eslint = `{"private": true, "devDependencies": {"eslint": "9.36.0"}, "scripts": {"lint": "eslint ."}}`
	for name, c := range map[string]trial{
		"ruff": {
			files: map[string]string{"ruff.toml": "[lint]\nselect = [\"E\", \"F\", \"UP\"]\n", "a.py": "import os\n\nx = 1\n"},
			patch: map[string]string{"a.py": "import os\n\nimport sys\n\nx = 2\n\n\ndef f(a):\n    return a == None\n", "b.py": "# -*- coding: utf-8 -*-\ny = 1\n"},
			rule:  "E711",
		},
		"ruff, in lines of the patch": {
			files: map[string]string{"ruff.toml": "[lint]\nselect = [\"F\", \"UP\"]\n", "a.py": "import os\n\nx = 1\n"},
			patch: map[string]string{"a.py": "import os\nimport sys\n\nx = 2\n", "b.py": "# -*- coding: utf-8 -*-\ny = 1\n"},
			want:  map[string]string{"a.py": "import os\n\nx = 2\n", "b.py": "y = 1\n"}, what: "ruff repaired F401, UP009 by itself", rule: "F401",
		},
		"ruff, in a line of before": {
			files: map[string]string{"ruff.toml": "[lint]\nselect = [\"F\"]\n", "a.py": "import os\n\nprint(os.name)\n"},
			patch: map[string]string{"a.py": "import os\n\nprint(1)\n"}, rule: "F401",
		},
		"biome": {
			files: map[string]string{"biome.json": `{"linter": {"rules": {"style": {"useConst": "error"}}}}`, "a.js": "export let was = 1;\n"},
			patch: map[string]string{"a.js": "export let was = 1;\nlet now = 2;\nconsole.log(now);\n"},
			want:  map[string]string{"a.js": "export let was = 1;\nconst now = 2;\nconsole.log(now);\n"}, what: "biome repaired style/useConst by itself", rule: "style/useConst",
		},
		"eslint": {
			files: map[string]string{
				"package.json": eslint, "eslint.config.cjs": "module.exports = [{ rules: { 'prefer-const': 'error' } }];\n", "sum.js": "let was = 1;\nconsole.log(was);\n",
			},
			patch:    map[string]string{"sum.js": "let was = 1;\nconsole.log(was);\nlet now = 2;\nconsole.log(now);\n"},
			want:     map[string]string{"sum.js": "let was = 1;\nconsole.log(was);\nconst now = 2;\nconsole.log(now);\n"},
			what:     "eslint repaired prefer-const by itself",
			rule:     "prefer-const",
			packages: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c trial) run(t *testing.T) {
	l, base := verifytest.Open(t), verifytest.Scan(t, c.files)
	image := l.Toolchain
	if c.packages {
		var err error
		if image, err = l.Builder.Install(t.Context(), image, dependencies.Read(map[string][]byte{"package.json": []byte(c.files["package.json"])})); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Engine.RemoveImage(context.WithoutCancel(t.Context()), image.ID); err != nil {
				t.Error(err)
			}
		})
	}
	snapshot := l.Snapshot(t, image, base)
	req := request(l, snapshot, base)
	req.Changeset = verifytest.Change(t, base, c.patch)
	judge := func() verify.Report {
		report, err := (&verify.Verifier{Boxes: l.Engine, Cache: l.Cache}).Verify(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	before := judge()
	rules := map[string]bool{}
	for _, g := range before.Gates {
		for _, f := range g.Findings {
			rules[f.Rule] = true
		}
	}
	if before.Verdict != check.Fail || !rules[c.rule] {
		t.Fatalf("before: %s, %+v", before.Verdict, before.Gates)
	}
	req.Changeset = before.Changeset
	cs, what, err := (&repair.Repairer{Boxes: l.Engine}).Repair(t.Context(), req, before.Gates)
	if err != nil || what != c.what {
		t.Fatalf("%q, %v for the findings of %v", what, err, rules)
	}
	if what == "" {
		return
	}
	got := map[string]string{}
	for _, ch := range cs.Changes {
		got[ch.Path] = string(ch.After)
	}
	if !maps.Equal(got, c.want) {
		t.Errorf("it makes %q", got)
	}
	for _, ch := range before.Changeset.Changes {
		if strings.Contains(c.want[ch.Path], string(ch.After)) {
			t.Errorf("the candidate of before was changed: %q", ch.After)
		}
	}
	req.Changeset = cs
	if after := judge(); after.Verdict != check.Pass {
		t.Errorf("what it made: %s, %+v", after.Verdict, after.Gates)
	}
}

// request returns the request to judge a changeset to base.
func request(l *verifytest.Lab, snapshot images.Image, base *workspace.Manifest) verify.Request {
	return verify.Request{
		Run: "repair-test", Lease: time.Now().Add(10 * time.Minute), Snapshot: snapshot.ID, Installed: snapshot.Installed, Toolchain: l.Toolchain.ID,
		Versions: l.Toolchain.Versions, Base: base,
	}
}
