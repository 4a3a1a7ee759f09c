package pull_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"agent/orchestrator/pull"
)

func TestALogIsCutToWhatMatters(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "2026-01-02T03:04:05.0000000Z step %d\n", i)
		if i == 100 || i == 101 || i == 400 {
			long.WriteString("2026-01-02T03:04:05.0000000Z \x1b[31mAssertionError\x1b[0m: 3 != 4\n")
		}
	}
	got, err := pull.CutLog(strings.NewReader(long.String()))
	if err != nil {
		t.Fatal(err)
	}
	want := "step 98\nstep 99\nstep 100\nAssertionError: 3 != 4\nstep 101\nAssertionError: 3 != 4\n…\nstep 398\nstep 399\nstep 400\nAssertionError: 3 != 4\n…\nstep 940\n"
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "step 999") || strings.Count(got, "\n") != 12+59 {
		t.Errorf("%d lines:\n%s", strings.Count(got, "\n"), got)
	}
	for log, want := range map[string]string{
		"": "", "one": "one", "one\ntwo\n": "one\ntwo", "a\nFAILED b\nc\n": "a\nFAILED b\nc", "FAILED b": "FAILED b", "\n\n": "",
		strings.Repeat("x", 1<<20) + "\nend": strings.Repeat("x", 400) + "\nend", "a\u202eb\x00c\xff": "ab c?",
	} {
		if got, err := pull.CutLog(strings.NewReader(log)); err != nil || got != want {
			t.Errorf("%.40q: %.60q %v", log, got, err)
		}
	}
	broken := io.MultiReader(strings.NewReader("one\n"), iotest.ErrReader(errors.New("reset")))
	if _, err := pull.CutLog(broken); err == nil {
		t.Error("a log that broke off is whole")
	}
}

// A log may be larger than memory.
func TestAHugeLogIsReadInBoundedMemory(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	go func() {
		block := []byte(strings.Repeat("error: nothing but noise\n", 4096))
		for range 200 << 20 / len(block) {
			if _, err := w.Write(block); err != nil {
				break
			}
		}
		fmt.Fprintln(w, "the end")
		w.Close()
	}()
	got, err := pull.CutLog(r)
	if err != nil || len(got) > 20<<10 || !strings.HasSuffix(got, "the end") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// FuzzCutLog reads an arbitrary log: what is kept is bounded and contains no terminal controls.
func FuzzCutLog(f *testing.F) {
	f.Add([]byte("2026-01-02T03:04:05Z \x1b[31merror\x1b[0m\n\xff\n"))
	f.Add([]byte(strings.Repeat("failed\n", 500)))
	f.Fuzz(func(t *testing.T, log []byte) {
		got, err := pull.CutLog(strings.NewReader(string(log)))
		if err != nil || len(got) > 200*1300 || strings.ContainsAny(got, "\x1b\x00\u202e") {
			t.Errorf("%d bytes of %q, %v", len(got), log, err)
		}
	})
}
