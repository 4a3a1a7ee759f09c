package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/sandbox"
	"agent/sandbox/workspace"
)

// The planted files. Each gate must find its fault and must leave the sound
// files alone, or nothing that it says in this image counts. The faults of
// syntax come last, since no other tool could work next to them.
var (
	// The faults of lint, types, smoke and tests, which parse.
	plantedPrograms = map[string]string{
		"sound.py":         "\"\"\"A sound file.\"\"\"\n\n\ndef double(n: int) -> int:\n    return 2 * n\n\n\nprint(double(21))\n",
		"undefined.py":     "def area(r):\n    return pi * r * r\n",
		"caller.py":        "from sound import double\n\ntotal = double(\"21\")\n",
		"crash.py":         "def start():\n    raise LookupError(\"planted\")\n\n\nstart()\n",
		"test_planted.py":  "def test_true():\n    assert True\n\n\ndef test_false():\n    assert not True\n",
		"unassigned.sh":    "#!/bin/sh\necho \"$planted\"\n",
		"control/clean.sh": "#!/bin/sh\nname=$1\necho \"$name\"\n",
		"control/clean.js": "const answer = 42;\nconsole.log(answer);\n",
	}
	// One fault a language, each of which every parser of it refuses.
	plantedSyntax = map[string]string{
		"bad.py":   "def f(:\n    pass\n",
		"bad.json": "{\"a\": 1,}\n",
		"bad.toml": "a = [1\n",
		"bad.css":  "a { color: red;\n",
		"bad.js":   "const = 1;\n",
		"bad.mjs":  "export const = 1;\n",
		"bad.sh":   "if true; then\n",
	}
	// What a parser that is too strict or too old stumbles over.
	plantedSound = map[string]string{
		"good.py":   "def f():\n    pass\n",
		"good.json": "{\"a\": [1, null]}\n",
		"good.toml": "a = [1]\n",
		"good.css":  "@media print { a:hover { color: red } }\n",
		"good.js":   "const one = 1;\n",
		"good.mjs":  "import a from \"./b.mjs\";\nexport const two = await a;\n",
		"good.sh":   "if true; then :; fi\n",
	}
)

// plant makes a changeset of new files. The sets have no path in common.
func plant(files ...map[string]string) workspace.Changeset {
	var cs workspace.Changeset
	for _, set := range files {
		for p, text := range set {
			cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: p, After: []byte(text), Mode: 0o644})
		}
	}
	sortChanges(cs.Changes)
	return cs
}

// proof finds out whether every gate works in this toolchain image: from the
// cache, or on the planted files in a box of the bare image. It runs beside the
// candidate, so that the first run after a new image is hardly slower; the gates
// are judged when it is done. Only a full proof is kept.
func (s *session) proof(ctx context.Context) {
	proved := false
	ok, err := s.store.load(ctx, s.store.proofKey(), &proved)
	if err != nil {
		s.results.note(fmt.Sprintf("proof not read from the cache: %v", err))
	}
	if ok && proved {
		s.results.proven(map[string]string{})
		return
	}
	reasons := map[string]string{}
	err = s.withBox(ctx, s.req.Toolchain, "proof", func(box *sandbox.Box) {
		reasons = prove(ctx, s.bench(box, view{}, entry{}))
	})
	if err != nil {
		for _, c := range allChecks() {
			reasons[c.name] = fmt.Sprintf("not proved on planted faults: %v", err)
		}
	}
	s.results.proven(reasons)
	if len(reasons) == 0 && ctx.Err() == nil {
		if err := s.store.save(ctx, s.store.proofKey(), true); err != nil {
			s.results.note(fmt.Sprintf("proof not kept: %v", err))
		}
	}
}

// prove runs every gate on the planted files in an empty box. It returns, for
// each gate that did not do as it must, the reason.
func prove(ctx context.Context, b bench) map[string]string {
	reasons := map[string]string{}
	programs, syntax := plant(plantedPrograms), plant(plantedSyntax, plantedSound)
	// The workspace's own program and variables must not reach the planted ones.
	b.smoke = Smoke{}
	b.view = newView(&workspace.Manifest{}, programs)
	if err := b.box.Apply(ctx, programs); err != nil {
		for _, c := range allChecks() {
			reasons[c.name] = fmt.Sprintf("not proved: plant faults: %v", err)
		}
		return reasons
	}
	steps := []struct {
		name string
		do   func(context.Context, bench) error
	}{
		{checkFormat, proveFormat},
		{checkRuff, proveLint},
		{checkShell, proveShell},
		{checkMypy, proveTypes},
		{checkPytest, proveTests},
		{checkProgram, proveSmoke},
		{checkSyntax, proveSyntax},
	}
	for _, step := range steps {
		if step.name == checkSyntax {
			// Only now: mypy and pytest would not get past the broken files.
			if err := b.box.Apply(ctx, syntax); err != nil {
				reasons[checkSyntax] = fmt.Sprintf("not proved: plant faults: %v", err)
				break
			}
			b.view = newView(&workspace.Manifest{}, syntax)
		}
		if err := step.do(ctx, b); err != nil {
			reasons[step.name] = fmt.Sprintf("did not prove itself on planted faults: %v; rebuild the toolchain with: agent images build", err)
		}
	}
	return reasons
}

// judgedBy turns an outcome that is no judgement into an error.
func judgedBy(out outcome) error {
	if out.Verdict != "" {
		return errors.New(out.Detail)
	}
	// In a box with nothing but planted files there is nobody else to blame.
	if out.Blocked != "" {
		return errors.New(out.Blocked)
	}
	return nil
}

// exactly checks that the findings are in the wanted files and of the wanted
// rules, and that none of these is missing. So a gate that reports everything
// proves itself as little as one that reports nothing.
func exactly(found []Finding, want map[string]string) error {
	var got []string
	seen := map[string]bool{}
	for _, f := range found {
		if rule, ok := want[f.File]; !ok || rule != f.Rule {
			return fmt.Errorf("it reports %s in %s, where there is no such fault", f.Rule, f.File)
		}
		seen[f.File] = true
		got = append(got, f.File)
	}
	if len(seen) != len(want) {
		return fmt.Errorf("it sees faults in %q only, of %d planted", got, len(want))
	}
	return nil
}

// proveFormat wants a file formatted with its line endings kept, and a formatted
// one left alone.
func proveFormat(ctx context.Context, b bench) error {
	for text, want := range map[string]string{"x   =  [ 1,2 ]\r\n": "x = [1, 2]\r\n", "x = 1\n": "x = 1\n"} {
		got, out := b.format(ctx, "planted.py", []byte(text))
		if out.Verdict != "" {
			return errors.New(out.Detail)
		}
		if string(got) != want {
			return fmt.Errorf("ruff format makes %q of %q", got, text)
		}
	}
	return nil
}

// proveLint wants the undefined name and nothing else.
func proveLint(ctx context.Context, b bench) error {
	out := runLint(ctx, b)
	if err := judgedBy(out); err != nil {
		return err
	}
	return exactly(out.Findings, map[string]string{"undefined.py": "F821"})
}

// proveShell wants the variable that nobody assigns and nothing else.
func proveShell(ctx context.Context, b bench) error {
	out := runShell(ctx, b)
	if err := judgedBy(out); err != nil {
		return err
	}
	return exactly(out.Findings, map[string]string{"unassigned.sh": "SC2154"})
}

// proveTypes wants the wrong argument in the caller, whose declaration is in
// another file.
func proveTypes(ctx context.Context, b bench) error {
	out := runTypes(ctx, b)
	if err := judgedBy(out); err != nil {
		return err
	}
	return exactly(out.Findings, map[string]string{"caller.py": "arg-type", "undefined.py": "name-defined"})
}

// proveTests wants one test passed and one failed, which a runner that only looks
// at the exit status cannot tell.
func proveTests(ctx context.Context, b bench) error {
	out := runTests(ctx, b)
	if err := judgedBy(out); err != nil {
		return err
	}
	got := map[string]string{}
	for _, t := range out.Tests {
		// The module is known; what counts is the test in it.
		_, name, _ := strings.Cut(t.ID, "::")
		got[name] = t.Outcome
	}
	if len(got) != 2 || got["test_true"] != "passed" || got["test_false"] != "failed" {
		return fmt.Errorf("the planted tests end as %v", got)
	}
	return nil
}

// proveSmoke starts a program that crashes and one that does not.
func proveSmoke(ctx context.Context, b bench) error {
	for file, want := range map[string]Verdict{"crash.py": Fail, "sound.py": Pass, "control/clean.js": Pass} {
		b.entry = startFile(b.view, b.tools, file)
		out := runSmoke(ctx, b)
		if out.Verdict != "" {
			return errors.New(out.Detail)
		}
		g := judgeSmoke(outcome{}, out, diff{})
		if g.Verdict != want {
			return fmt.Errorf("the start of %s is judged %s: %s", file, g.Verdict, g.Detail)
		}
		// A report without its place would be of no use to whoever must mend it.
		if want == Fail && (g.Findings[0].File != file || g.Findings[0].Line != 2) {
			return fmt.Errorf("the crash of %s is placed at %s:%d", file, g.Findings[0].File, g.Findings[0].Line)
		}
	}
	return nil
}

// proveSyntax wants one fault in each language, and none in the sound file beside
// each.
func proveSyntax(ctx context.Context, b bench) error {
	out := runSyntax(ctx, b, work, touched(b.view))
	if err := judgedBy(out); err != nil {
		return err
	}
	want := map[string]string{}
	for file, rule := range map[string]string{
		"bad.py": "python", "bad.json": "json", "bad.toml": "toml", "bad.css": "css",
		"bad.js": "javascript", "bad.mjs": "javascript", "bad.sh": "shell",
	} {
		want[file] = rule + "-syntax"
	}
	return exactly(out.Findings, want)
}
