package calls

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/llm"
	"agent/orchestrator/store/database"
)

// Keys holds the states of the keys to vendors' models. It contains identifiers and never a secret.
type Keys struct{ db *database.DB }

// Keys returns the states of the keys with which the requests were made.
func (j Journal) Keys() Keys { return Keys(j) }

// Load implements [llm.KeyStates]: it lists the known keys of a vendor, by identifier.
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

// Save implements [llm.KeyStates]: it merges s into what is known about its key, by the rule of [llm.KeyState.Merge]. Merging twice is
// the same as merging once, so a retry does no harm.
func (k Keys) Save(ctx context.Context, s llm.KeyState) error {
	return k.db.Do(ctx, "record key "+s.Key+" of "+s.Vendor, func(ctx context.Context) error {
		// One statement, so that two processes cannot both merge into what they read. greatest ignores null, which stands for never.
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

// ForgetKey removes what is known about a key, so that a retired or resting key is used again. It is for a person who has fixed the
// cause. An unknown key is not an error.
func (j Journal) ForgetKey(ctx context.Context, vendor, id string) error {
	return j.db.Do(ctx, "forget key "+id+" of "+vendor, func(ctx context.Context) error {
		_, err := j.db.Pool.Exec(ctx, `delete from model_key where vendor = @vendor and key_id = @key`,
			pgx.NamedArgs{"vendor": database.Clean(vendor), "key": database.Clean(id)})
		return err
	})
}

// unlessNever returns t in the form of the database, where null stands for never.
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
