package term

import (
	"os"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// TestMain starts the clock with which the highlighter bounds its expressions, for longer than any test takes. Started
// in a bubble of testing/synctest, it would outlive the bubble, and the bubble's test would panic.
func TestMain(m *testing.M) {
	warm := regexp2.MustCompile("x")
	warm.MatchTimeout = time.Hour
	if _, err := warm.MatchString("x"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
