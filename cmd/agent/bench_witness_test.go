//go:build bench

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/python"
)

// unwitnessed is a box that ignores writes, so that the same tests run without witnesses.
type unwitnessed struct{ check.Runner }

func (unwitnessed) Apply(context.Context, workspace.Changeset) error { return nil }

// benchWitness times the tests of workspaces with 400 pytest tests, and of one with 12 Go packages, with the witnesses
// among them, against the same tests in the same box without witnesses. They alternate. Half of the cost of witnesses
// is what pytest needs to report the first failing test, however long the other tests take.
func benchWitness(t *testing.T) {
	ctx := t.Context()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for _, c := range []struct {
		name  string
		check check.Check
		write func(dir string)
	}{
		{"witnesses: 400 tests of pytest, 3 ms each; against the same without", python.Pytest, func(dir string) { writePytests(t, dir, 1) }},
		{"witnesses: 400 tests of pytest, 12 ms each; against the same without", python.Pytest, func(dir string) { writePytests(t, dir, 4) }},
		{"witnesses: 12 packages of Go; against the same without", golang.Tests, func(dir string) {
			writeBench(t, dir, "go.mod", "module example.com/m\n\ngo 1.24\n")
			for i := range 12 {
				writeBench(t, dir, fmt.Sprintf("p%d/p.go", i), "package p\n\nimport (\n\t\"encoding/json\"\n\t\"net/http\"\n)\n\n// Sum is one.\nfunc Sum(list []int) (n int) {\n\tjson.Marshal(list)\n\tfor _, v := range list {\n\t\tn += v + http.StatusOK\n\t}\n\treturn n\n}\n")
				text := "package p\n\nimport \"testing\"\n"
				for n := range 8 {
					text += fmt.Sprintf("\nfunc TestSumOf%d(t *testing.T) {\n\tif got := Sum([]int{%d}); got != %d {\n\t\tt.Fatalf(\"got %%d\", got)\n\t}\n}\n", n, n, n+200)
				}
				writeBench(t, dir, fmt.Sprintf("p%d/p_test.go", i), text)
			}
		}},
	} {
		dir := t.TempDir()
		c.write(dir)
		base, image := freeze(t, engine, dir)
		once := func(without bool) time.Duration {
			box, err := engine.Start(ctx, sandbox.Spec{Image: image, Run: "bench", Purpose: "bench", Lease: time.Now().Add(time.Hour), Limits: sandbox.Limits{Tmp: 1 << 30}})
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			b := check.Bench{Box: box, Tools: check.Toolchain, View: check.OnBase(base), Timeout: 5 * time.Minute}
			if without {
				b.Box = unwitnessed{box}
			}
			started := time.Now()
			out := c.check.Run(ctx, b)
			took := time.Since(started)
			if out.Verdict != "" || out.Blocked != "" || len(out.Witnesses) == 0 || out.Witnesses[0].AsDrawn() == without {
				t.Fatalf("%+v", out)
			}
			return took
		}
		var figures, references []time.Duration
		for range 15 {
			figures, references = append(figures, once(false)), append(references, once(true))
		}
		// The least disturbed time of each counts: the difference is smaller than the noise of the machine.
		figure, reference := slices.Min(figures), slices.Min(references)
		row(c.name, figure, reference, "≤ 1.03", figure <= reference*103/100)
		if err := engine.RemoveImage(ctx, image); err != nil {
			t.Error(err)
		}
	}
}

// writePytests writes 400 tests in 40 files, each of which does one piece of work that many times.
func writePytests(t *testing.T, dir string, times int) {
	t.Helper()
	for i := range 40 {
		text := "import pytest\n"
		for n := range 10 {
			text += fmt.Sprintf("\n\ndef test_sum_of_%d():\n    with pytest.raises(ValueError):\n        int(\"x\")\n    for _ in range(%d):\n        assert sum(n * n for n in range(20000)) == 2666466670000\n", n, times)
		}
		writeBench(t, dir, fmt.Sprintf("tests/test_m%d.py", i), text)
	}
}

// writeBench writes one file of a workspace.
func writeBench(t *testing.T, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
