package sandbox

import (
	"context"
	"testing"
)

// contextOf returns a context for clean-up after the test's own context has ended.
func contextOf(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }
