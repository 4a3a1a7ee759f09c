package guest_test

import (
	"os"
	"testing"

	"agent/sandbox/boxtest"
)

func TestMain(m *testing.M) { os.Exit(boxtest.Main(m)) }
