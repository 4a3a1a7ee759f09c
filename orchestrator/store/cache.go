package store

import (
	"context"
	"errors"

	"agent/orchestrator/store/database"

	"github.com/jackc/pgx/v5"
)

// Load returns what Save kept under key; ok is false for an unknown key. The caller puts everything that the value depends on into the
// key: entries never go stale, they only fall out of use.
func (db *DB) Load(ctx context.Context, key string) (data []byte, ok bool, err error) {
	err = db.db.Do(ctx, "read the cache", func(ctx context.Context) error {
		// An entry in use is marked once a day: a mark on each read would make every read a write.
		err := db.db.Pool.QueryRow(ctx, `
			with mark as (
				update cache set used = clock_timestamp() where key = @key and used < clock_timestamp() - interval '1 day'
			)
			select data from cache where key = @key`, pgx.NamedArgs{"key": database.Clean(key)}).Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return data, ok, err
}

// Save keeps data under key, replacing what was there, and drops what nobody has read for a month: the cache grows no larger than a
// month's work. It does not wait for the disk: a database that crashes forgets the last moment of what can be found out again, and
// nothing of the record.
func (db *DB) Save(ctx context.Context, key string, data []byte) error {
	if data == nil {
		data = []byte{} // nil would be null
	}
	return db.db.Do(ctx, "write the cache", func(ctx context.Context) error {
		_, err := db.db.Pool.Exec(ctx, `
			with stale as (
				delete from cache where used < clock_timestamp() - interval '30 days' and key <> @key
			), unhurried as (
				select set_config('synchronous_commit', 'off', true)
			)
			insert into cache (key, data) select @key, @data from unhurried
			on conflict (key) do update set data = excluded.data, used = clock_timestamp()`,
			pgx.NamedArgs{"key": database.Clean(key), "data": data})
		return err
	})
}
