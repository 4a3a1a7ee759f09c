package run

import "context"

// InLog returns a context in which everything is done for a run.
func InLog(ctx context.Context, l *Log, run string) context.Context { return l.of(ctx, run) }
