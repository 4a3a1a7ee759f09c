package sandbox

import (
	"context"
	"testing"
)

// contextOf returns a context for clean-up, when the test's own has ended.
func contextOf(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }
