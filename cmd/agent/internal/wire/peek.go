package wire

import (
	"context"
	"errors"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/query"
	"agent/sandbox"
)

// Peek lets look query the record, for tasks that must be quick and change nothing, such as the completion of a word:
// it builds, starts, migrates and settles nothing.
func Peek(ctx context.Context, set config.Settings, look func(query.Runner) error) error {
	url := set["database_url"].Text
	if url == "" {
		engine, err := sandbox.Connect(ctx)
		if err != nil {
			return err
		}
		defer engine.Close() // idle connections: nothing to lose
		if url, err = engine.PostgresRunning(ctx); err != nil {
			return err
		}
	}
	if url == "" {
		return errors.New("the agent's own Postgres is not running")
	}
	db, err := database.OpenAsIs(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close()
	return look(query.New(db))
}
