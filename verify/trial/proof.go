package trial

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/policy/testform"
)

// A proof is what a rewritten test was seen to do on the program as it was, the better the
// higher.
type proof int

const (
	// Nothing is in its place, or it came to no end.
	absent proof = iota
	// It passes with either program.
	accepting
	// It needs a name that only the patched program has, so nothing was measured. Whether it
	// asserts as much is left to its text, see testform.Known.
	unloaded
	// It passes with either program, and fails on every mutant that the test failed on and on every one of what
	// the patch writes.
	asStrong
	// It fails: it proves what the patch changes.
	pinned
)

// said is how each proof is told; pinned and unloaded quote the message.
var said = map[proof]string{
	absent:    "and nothing in its place was seen to fail on the program as it was",
	accepting: "and as it is now it passes on the program as it was too",
	unloaded:  "and as it is now it does not run on the program as it was: %s",
	asStrong:  "and as it is now it passes on the program as it was too, and fails on all the mutants that it failed on",
	pinned:    "and as it is now it fails on the program as it was: %s",
}

// results are those of the second run by the ID of the test, or of what was not collected; empty
// where it came to no judgement.
func (t *Trial) results() map[string]check.TestResult {
	list := map[string]check.TestResult{}
	if t.New != nil && t.New.Verdict == "" {
		for _, r := range t.New.Tests {
			list[r.ID] = r
		}
	}
	return list
}

// proofOf is the best proof of the tests in the place of a rewritten one, and what it said. A
// test that has another name vouches for one that is gone, and for no other.
func (t *Trial) proofOf(x rewriting, results map[string]check.TestResult, used map[string]bool) (best proof, why string) {
	by := ""
	for _, id := range x.now {
		if p, text := proofBy(id, results); !used[id] && p > best {
			best, why, by = p, text, id
		}
	}
	if by != x.id {
		used[by] = true
	}
	return best, why
}

// proofBy is the proof of one test.
func proofBy(id string, results map[string]check.TestResult) (proof, string) {
	r, ran := results[id]
	file, _, _ := strings.Cut(id, "::")
	if !ran {
		// Its file, or its package, did not load.
		if r = results[file]; !r.Bad() {
			r = results[path.Dir(file)]
		}
		if r.Bad() {
			return unloaded, r.Message
		}
		return absent, ""
	}
	switch {
	case r.Outcome == "passed":
		return accepting, ""
	case r.Bad() && otherNames.MatchString(r.Message):
		return unloaded, r.Message
	case r.Outcome == "failed":
		return pinned, r.Message
	}
	return absent, ""
}

// maxHolds bounds the holds of rewritten tests: who has seen ten has seen enough.
const maxHolds = 10

// holds tells of rewritten tests, of each file once for each proof. A test that was seen to
// prove what the patch changes, or of which only the text can tell, does not block: unless less
// of the tests is kept than was rewritten, since nothing but the patch then says what the program is to do.
func holds(list []rewriting, kept int) (told []policy.Hold) {
	most := len(list) > kept
	for len(list) > 0 {
		first, all := list[0], len(list)
		list = slices.DeleteFunc(list, func(x rewriting) bool {
			return x.file() == first.file() && x.proof == first.proof && slices.Equal(x.aids, first.aids)
		})
		h := policy.Hold{Path: first.file(), Kind: policy.ChangedTest, Block: most || first.blocks(), Reason: first.reason()}
		if n := all - len(list) - 1; n > 0 {
			h.Reason += fmt.Sprintf("; the same of %s in this file", plural(n))
		}
		if most {
			h.Reason += "; of the tests that were there more expect something else now than pass as they were"
		}
		told = append(told, h)
	}
	// Those that block are what is decided on.
	slices.SortStableFunc(told, func(a, b policy.Hold) int {
		switch {
		case a.Block == b.Block:
			return 0
		case a.Block:
			return -1
		}
		return 1
	})
	return told[:min(len(told), maxHolds)]
}

// plural counts more tests.
func plural(n int) string {
	if n == 1 {
		return "1 more test"
	}
	return fmt.Sprintf("%d more tests", n)
}

// blocks reports whether a rewritten test proves less than the one that was there, for all that is known.
func (x rewriting) blocks() bool {
	return len(x.aids) > 0 || x.proof < unloaded || x.proof == unloaded && !testform.Known(x.file())
}

// mostSaid is the most that is shown of a test's message, in bytes.
const mostSaid = 200

// reason is the sentence about a rewritten test.
func (x rewriting) reason() string {
	text := said[x.proof]
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, brief(x.why))
	}
	if len(x.aids) > 0 {
		text += fmt.Sprintf("; it passes only with what the patch makes of %s, and no mutants show that it proves as much so", check.Shorten(strings.Join(x.aids, ", ")))
	}
	return fmt.Sprintf("%s expects something else now: as it was it fails on the patched program (%s), %s", check.Shorten(x.id), brief(x.was.Message), text)
}

// brief is the beginning of a message.
func brief(message string) string {
	message = check.Shorten(message)
	if len(message) <= mostSaid {
		return message
	}
	return strings.ToValidUTF8(message[:mostSaid], "") + " …"
}
