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

// A proof is what a rewritten test was seen to do on the program as it was. A higher proof is better.
type proof int

const (
	// Nothing replaces it, or the replacement did not finish.
	absent proof = iota
	// It passes with either program.
	accepting
	// It needs a name that only the patched program has, so nothing was measured. Only its text can tell whether it
	// asserts as much; see testform.Known.
	unloaded
	// It passes with either program, and fails on every mutant on which the old test failed and on every mutant of what the patch writes.
	asStrong
	// It fails: it proves what the patch changes.
	pinned
)

// said describes each proof; pinned and unloaded quote the message.
var said = map[proof]string{
	absent:    "and nothing in its place was seen to fail on the unpatched program",
	accepting: "and its new version passes on the unpatched program too",
	unloaded:  "and its new version does not run on the unpatched program: %s",
	asStrong:  "and its new version passes on the unpatched program too, and fails on all the mutants that the old one failed on",
	pinned:    "and its new version fails on the unpatched program: %s",
}

// results returns the results of the second run by the ID of the test, or of what was not collected. It is empty if
// the run came to no judgement.
func (t *Trial) results() map[string]check.TestResult {
	list := map[string]check.TestResult{}
	if t.New != nil && t.New.Verdict == "" {
		for _, r := range t.New.Tests {
			list[r.ID] = r
		}
	}
	return list
}

// proofOf returns the best proof among the tests that replace a rewritten one, and its message. A test with another
// name vouches for only one test that is gone.
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

// proofBy returns the proof of one test and its message.
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

// maxHolds bounds the holds of rewritten tests: a person who has seen ten has seen enough.
const maxHolds = 10

// holds returns the holds of rewritten tests, one for each proof in each file. A test that was seen to prove what the
// patch changes, or that only its text can judge, does not block. If fewer tests were kept than rewritten, all of
// them block, since then only the patch says what the program is meant to do.
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
			h.Reason += "; more of the existing tests now expect something else than pass unchanged"
		}
		told = append(told, h)
	}
	// Blocking holds come first, since they are what is decided on.
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

// plural counts additional tests.
func plural(n int) string {
	if n == 1 {
		return "1 more test"
	}
	return fmt.Sprintf("%d more tests", n)
}

// blocks reports whether a rewritten test, as far as is known, proves less than the one that was there.
func (x rewriting) blocks() bool {
	return len(x.aids) > 0 || x.proof < unloaded || x.proof == unloaded && !testform.Known(x.file())
}

// mostSaid bounds how much of a test's message is shown, in bytes.
const mostSaid = 200

// reason returns the sentence about a rewritten test.
func (x rewriting) reason() string {
	text := said[x.proof]
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, brief(x.why))
	}
	if len(x.aids) > 0 {
		text += fmt.Sprintf("; it passes only with the patch's version of %s, and no mutants show that it proves as much with it", check.Shorten(strings.Join(x.aids, ", ")))
	}
	return fmt.Sprintf("%s expects something else now: its old version fails on the patched program (%s), %s", check.Shorten(x.id), brief(x.was.Message), text)
}

// brief returns the beginning of a message.
func brief(message string) string {
	message = check.Shorten(message)
	if len(message) <= mostSaid {
		return message
	}
	return strings.ToValidUTF8(message[:mostSaid], "") + " …"
}
