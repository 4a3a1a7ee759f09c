package sandbox_test

import (
	"testing"

	"agent/sandbox/boxtest"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// BenchmarkBox measures the stages of a box's life: what a run costs besides its gates.
func BenchmarkBox(b *testing.B) {
	engine := boxtest.Engine(b)
	spec := boxtest.Spec(b)
	changes := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "main.py", After: []byte("print('bye')\n"), Mode: 0o644},
	}}
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			box, err := engine.Start(b.Context(), spec)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := box.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
	b.Run("close", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			box, err := engine.Start(b.Context(), spec)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if err := box.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	box := boxtest.Start(b, engine, spec)
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			if err := box.Apply(b.Context(), changes); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("run", func(b *testing.B) {
		for b.Loop() {
			boxtest.RunCommand(b, box, guest.Command{Args: []string{boxtest.Probe, "exit", "0"}})
		}
	})
}
