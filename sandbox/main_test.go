package sandbox_test

import (
	"fmt"
	"os"
	"testing"

	"agent/sandbox/boxtest"
)

func TestMain(m *testing.M) {
	if image := os.Getenv(ownerImage); image != "" {
		if err := beOwner(image); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(boxtest.Main(m))
}
