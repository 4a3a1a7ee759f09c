//go:build bench

package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/guest"
)

// TestBenchRunsc prints the row of the table for `make test-runsc`.
func TestBenchRunsc(t *testing.T) { benchRunsc(t) }

// benchRunsc times one box with its own kernel, from nothing to the answer of a command and the box's end, against one
// that shares the host's kernel.
func benchRunsc(t *testing.T) {
	ctx := t.Context()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	info, err := engine.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(info.Runtimes, "runsc") {
		fmt.Println("| the same box under runsc | the engine has no runsc: `make test-runsc` registers it | | | | |")
		return
	}
	ids, err := engine.ImagesLabelled(ctx, "agent.image=toolchain")
	if err != nil || len(ids) == 0 {
		t.Fatalf("no toolchain image: %v", err)
	}
	box := func(runtime string) func() {
		return func() {
			b, err := engine.Start(ctx, sandbox.Spec{Image: ids[0], Runtime: runtime, Run: "bench", Purpose: "bench", Lease: time.Now().Add(time.Minute)})
			if err != nil {
				t.Fatal(err)
			}
			if res, err := b.Run(ctx, guest.Command{Args: []string{"/bin/true"}}); err != nil || res.Exit != 0 {
				t.Fatalf("true: %+v, %v", res, err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	row("the same box under runsc; against runc", median(t, 9, box("runsc")), median(t, 9, box("")), "none", true)
}
