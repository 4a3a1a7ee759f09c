//go:build bench

package edit_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
)

// corpusEnv names the environment variable with the file of recorded cases, one JSON object per line.
const corpusEnv = "AGENT_EDIT_CASES"

// A recorded is one case of the corpus: blocks for a file, with what is known about the right answer.
type recorded struct {
	ID     string      `json:"id"`
	Path   string      `json:"path"`
	Label  string      `json:"label"`
	Expect string      `json:"expect"` // apply, refuse or either
	Before string      `json:"before"`
	Blocks [][2]string `json:"blocks"`
	Near   [2]int      `json:"near"` // lines of the intended place, from 0, end excluded; equal if there is none
}

// blocks returns the case's blocks in the engine's type.
func (c recorded) blocks() []edit.Block {
	out := make([]edit.Block, len(c.Blocks))
	for i, b := range c.Blocks {
		out[i] = edit.Block{Search: b[0], Replace: b[1]}
	}
	return out
}

// corpus reads the recorded cases. It fails if there are none, because numbers from an empty corpus would look good.
func corpus(t *testing.T) []recorded {
	t.Helper()
	f, err := os.Open(os.Getenv(corpusEnv))
	if err != nil {
		t.Fatalf("%s must name the recorded cases, unpacked: %v", corpusEnv, err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	var out []recorded
	for {
		var c recorded
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("case %d: %v", len(out)+1, err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		t.Fatal("no cases")
	}
	return out
}

// shows reports whether the text contains every line in [lo, hi) of the file that is not empty.
func shows(text string, file []string, lo, hi int) bool {
	for i := lo; i < min(hi, len(file)); i++ {
		if s := strings.TrimSuffix(file[i], "\r"); s != "" && !strings.Contains(text, s+"\n") {
			return false
		}
	}
	return true
}

// TestNearMissesAreShown counts the refusals that show the intended place, and measures how long refusals take. The share is a promise;
// the times are only logged.
func TestNearMissesAreShown(t *testing.T) {
	near, found, size, longest := 0, 0, 0, 0
	var took []time.Duration
	for _, c := range corpus(t) {
		start := time.Now()
		_, _, err := edit.ApplyBlocks(c.Path, []byte(c.Before), c.blocks())
		spent := time.Since(start)
		var r *problem.Refusal
		if !errors.As(err, &r) {
			continue
		}
		took, size = append(took, spent), size+len(c.Before)
		longest = max(longest, len(r.Error()))
		if c.Near[0] == c.Near[1] {
			continue
		}
		if near++; shows(r.Error(), strings.Split(c.Before, "\n"), c.Near[0], c.Near[1]) {
			found++
		} else {
			t.Logf("%s: lines %d to %d are not shown", c.ID, c.Near[0]+1, c.Near[1])
		}
	}
	slices.Sort(took)
	var all time.Duration
	for _, d := range took {
		all += d
	}
	t.Logf("%d of %d near misses are shown; the longest refusal has %d bytes", found, near, longest)
	t.Logf("%d refusals: p50 %v, p99 %v, most %v, %.0f MB/s", len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1], float64(size)/all.Seconds()/1e6)
	if 100*found < 95*near {
		t.Errorf("%d of %d near misses are shown, less than 95 %%", found, near)
	}
}

// TestTheRecordedRefusalsTeach follows the advice of every refusal of the corpus, and counts by label how often the next response is
// applied.
//
// It gives two figures. The first one, matching alone, asks whether the next response has its place, since that is how blocks for one
// file are judged. With the guards on the result, a change can be refused a second time: the scripted author cannot rewrite code. It
// sends its REPLACE at the advised place, or at one that it chose after it was told to read the file, and then follows that refusal too.
//
// Leaving a block out can leave others that do not work without it, so a third refusal can follow; mostTries bounds the chain.
func TestTheRecordedRefusalsTeach(t *testing.T) {
	type tally struct{ refused, matched, applied, later, left, nothing, read int }
	all := map[string]*tally{}
	for _, c := range corpus(t) {
		_, _, err := edit.ApplyBlocks(c.Path, []byte(c.Before), c.blocks())
		var r *problem.Refusal
		if c.Expect == "apply" || !errors.As(err, &r) {
			continue
		}
		n := all[c.Label]
		if n == nil {
			n = &tally{}
			all[c.Label] = n
		}
		n.refused++
		if strings.Contains(r.Error(), "read the file") {
			n.read++
		}
		author := c.reader()
		next, done, err := author.follow(r.Error())
		if err != nil {
			t.Errorf("%s: %v\n%.1500s", c.ID, err, r)
			continue
		}
		if done {
			n.nothing++
			continue
		}
		files := memory{text: map[string]string{c.Path: c.Before}}
		_, _, err = edit.Apply(files, []byte(next), c.Path)
		guarded := onlyGuarded(err)
		if err == nil || guarded {
			n.matched++
		}
		if guarded {
			left := false
			for tries := 2; onlyGuarded(err) && tries <= mostTries && !left; tries++ {
				if next, left, err = author.again(err.Error()); err == nil && !left {
					_, _, err = edit.Apply(files, []byte(next), c.Path)
				}
			}
			switch {
			case err == nil && left:
				n.left++
				continue
			case err == nil:
				n.later++
				continue
			}
		}
		if err != nil {
			t.Errorf("%s: %.1500s\nwas followed by\n%.1500s\nand refused: %.2600v", c.ID, r, next, err)
			continue
		}
		n.applied++
	}
	sum := tally{}
	for _, label := range slices.Sorted(maps.Keys(all)) {
		n := all[label]
		t.Logf("%-24s %3d refused: matching %3d, nothing to send %3d; with guards %3d applied, %2d at a later try, %2d left out then; %d had to read the file", label, n.refused, n.matched, n.nothing, n.applied, n.later, n.left, n.read)
		sum = tally{sum.refused + n.refused, sum.matched + n.matched, sum.applied + n.applied, sum.later + n.later, sum.left + n.left, sum.nothing + n.nothing, 0}
	}
	t.Logf("matching alone: of %d refused the next response has its place in %d, %d had nothing left to send", sum.refused, sum.matched, sum.nothing)
	t.Logf("with the guards on the result: %d applied at once, %d at a later try, %d left the change out then, %d had nothing left to send", sum.applied, sum.later, sum.left, sum.nothing)
}

// again follows the refusal of the last response.
func (r *reader) again(text string) (response string, done bool, err error) {
	r.meant = r.sent
	return r.follow(text)
}

// mostTries bounds how many responses follow one refusal.
const mostTries = 4

// onlyGuarded reports whether a response was refused by nothing but the guards on the result, which run after every block has found its
// place.
func onlyGuarded(err error) bool {
	var r *problem.Refusal
	return errors.As(err, &r) && !slices.ContainsFunc(r.Problems, func(p problem.Problem) bool {
		return !strings.HasPrefix(p.Reason, "the file would no longer parse") && !strings.HasPrefix(p.Reason, "the edit drops ")
	})
}

// reader returns the author of a case's blocks.
func (c recorded) reader() *reader {
	r := &reader{files: memory{text: map[string]string{c.Path: c.Before}}, form: "tags"}
	for _, b := range c.Blocks {
		r.meant = append(r.meant, intent{kind: "edit", path: c.Path, search: body(b[0]), replace: body(b[1])})
	}
	return r
}
