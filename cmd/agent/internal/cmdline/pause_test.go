package cmdline

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPauseEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	if err := Pause(ctx, time.Nanosecond); err != nil {
		t.Error(err)
	}
	cancel()
	if err := Pause(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
