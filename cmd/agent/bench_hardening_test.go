//go:build bench

package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/guest"
)

// hardWork is the work of the gates of a small workspace, twice.
const hardWork = `cd /work && for i in 1 2; do
	python3 -m pytest -q -p no:cacheprovider >/dev/null && mypy --cache-dir /tmp/mypy$i shop >/dev/null && ruff check --no-cache -q . || exit 1
done`

// benchHardening times a whole box with the work of some gates against a container with the same image and processors
// and nothing of the baseline: every system call, the capabilities that an engine grants, root, a network, a writable
// root. They alternate, so that both meet the same machine.
func benchHardening(t *testing.T) {
	ctx := t.Context()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	_, image := freeze(t, engine, "testdata/example")
	source, err := filepath.Abs("testdata/example")
	if err != nil {
		t.Fatal(err)
	}
	hardened := func() {
		box, err := engine.Start(ctx, sandbox.Spec{Image: image, Run: "bench", Purpose: "bench", Lease: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		res, err := box.Run(ctx, guest.Command{Args: []string{"/bin/sh", "-c", hardWork}, Dir: "/work", Timeout: 5 * time.Minute})
		if err != nil || res.Exit != 0 {
			t.Fatalf("the work in a box: %+v, %v", res, err)
		}
		if err := box.Close(); err != nil {
			t.Fatal(err)
		}
	}
	plain := func() {
		cmd := exec.Command(
			"docker", "run", "--rm", "--cpus", "2", "--security-opt", "seccomp=unconfined", "--user", "0:0",
			"--tmpfs", "/work:exec", "--tmpfs", "/tmp", "-v", source+":/source:ro", "--entrypoint", "/bin/sh", image, "-c", "cp -a /source/. /work && "+hardWork,
		)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the work in a plain container: %v\n%s", err, out)
		}
	}
	var figures, references []time.Duration
	for n := range 6 {
		figure, reference := median(t, 1, hardened), median(t, 1, plain)
		if n > 0 { // the first round reads the image from disk
			figures, references = append(figures, figure), append(references, reference)
		}
	}
	figure, reference := middle(figures), middle(references)
	row("hardening: a box with the work of some gates; against a plain container", figure, reference, "≤ 1.05", figure <= reference*105/100)
	if err := engine.RemoveImage(ctx, image); err != nil {
		t.Error(err)
	}
}
