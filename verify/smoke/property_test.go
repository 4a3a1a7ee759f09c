package smoke

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/verify/check"
	"agent/verify/checktest"
)

func TestParsersTakeAnythingWithoutTakingItForAPass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		end := readEnding(checktest.HostileResult(t))
		checktest.Inside(t, []check.Finding{end.Where, end.Told})
	})
}

func TestScannerOfQuotesTakesAnything(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{`"""`, `'''`, `"`, `'`, `\`, "#", "\n", "x", checktest.Guard, " "})
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(piece, 0, 15).Draw(t, "pieces"), "")
		hasMainGuard([]byte(body))
		// A guard after a complete docstring and a newline is always found.
		doc := strings.NewReplacer(`"`, "", `\`, "", "if", "").Replace(body)
		if !hasMainGuard([]byte("\"\"\"" + doc + "\"\"\"\n" + checktest.Guard)) {
			t.Fatalf("the guard after %q is not seen", doc)
		}
		// Inside a docstring it never is.
		if hasMainGuard([]byte("\"\"\"" + doc + "\n" + checktest.Guard + "\"\"\"\n")) {
			t.Fatalf("the guard inside %q is seen", doc)
		}
	})
}
