package calls

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/llm"
	"agent/orchestrator/store/database"
)

// Keys are the states of the keys to vendors' models. They hold identifiers
// and never a secret.
type Keys struct{ db *database.DB }

// Keys returns the states of the keys that the requests were made with.
func (j Journal) Keys() Keys { return Keys(j) }

// Load implements [llm.KeyStates]: it lists the keys of a vendor that are
// known, by identifier.
func (k Keys) Load(ctx context.Context, vendor string) ([]llm.KeyState, error) {
	var list []llm.KeyState
	err := k.db.Do(ctx, "read the keys of "+vendor, func(ctx context.Context) error {
		rows, err := k.db.Pool.Query(ctx, `
			select vendor, key_id, used, until, coalesce(reason, ''), coalesce(retired, '')
			from model_key where vendor = @vendor order by key_id`, pgx.NamedArgs{"vendor": database.Clean(vendor)})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s llm.KeyState, err error) {
			var used, until *time.Time
			err = row.Scan(&s.Vendor, &s.Key, &used, &until, &s.Reason, &s.Retired)
			s.Used, s.Until = orNever(used), orNever(until)
			return s, err
		})
		return err
	})
	return list, err
}

// Save implements [llm.KeyStates]: it merges s into what is known of its key,
// by the rule of [llm.KeyState.Merge]. Merging twice is merging once, so a
// retry does no harm.
func (k Keys) Save(ctx context.Context, s llm.KeyState) error {
	return k.db.Do(ctx, "record key "+s.Key+" of "+s.Vendor, func(ctx context.Context) error {
		// One statement, so that two processes cannot both merge into what
		// they read. greatest passes over null, which stands for never.
		_, err := k.db.Pool.Exec(ctx, `
			insert into model_key as k (vendor, key_id, used, until, reason, retired)
			values (@vendor, @key, @used, @until, nullif(@reason, ''), nullif(@retired, ''))
			on conflict (vendor, key_id) do update set
				used = greatest(k.used, excluded.used),
				until = greatest(k.until, excluded.until),
				reason = case
					when (coalesce(excluded.until, '-infinity'), coalesce(excluded.reason, ''))
						> (coalesce(k.until, '-infinity'), coalesce(k.reason, ''))
					then excluded.reason else k.reason end,
				retired = greatest(k.retired, excluded.retired)`,
			pgx.NamedArgs{
				"vendor": database.Clean(s.Vendor), "key": database.Clean(s.Key), "used": unlessNever(s.Used), "until": unlessNever(s.Until),
				"reason": string(s.Reason), "retired": string(s.Retired),
			})
		return err
	})
}

// ForgetKey removes what is known of a key, so that one which was retired or
// rests is used again. It is for a person who has put the cause right. A key
// that nobody knows is no error.
func (j Journal) ForgetKey(ctx context.Context, vendor, id string) error {
	return j.db.Do(ctx, "forget key "+id+" of "+vendor, func(ctx context.Context) error {
		_, err := j.db.Pool.Exec(ctx, `delete from model_key where vendor = @vendor and key_id = @key`,
			pgx.NamedArgs{"vendor": database.Clean(vendor), "key": database.Clean(id)})
		return err
	})
}

// unlessNever returns t for the database, in which null stands for never.
func unlessNever(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// orNever is the reverse of unlessNever.
func orNever(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
