package bots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/serve/bot"
	"agent/orchestrator/store/database"
)

// A Queue holds the jobs. It is a [bot.Queue].
type Queue struct{ db *database.DB }

// New returns the jobs of a database.
func New(db *database.DB) Queue { return Queue{db} }

var _ bot.Queue = Queue{}

// turn lets only one process at a time count or take jobs, so that what it reads is still true when it decides.
const turn = `select pg_advisory_xact_lock(hashtext(current_schema() || '.bot_job'))`

// columns are the columns of a job, in the order of scan.
const columns = `id, host, repository, event, coalesce(delivery, ''), asked_by, word, number, is_pull, coalesce(act, ''), state, why, tries, token, at`

func scan(row pgx.CollectableRow) (j bot.Job, err error) {
	err = row.Scan(&j.ID, &j.Host, &j.Repository, &j.Event, &j.Delivery, &j.By, &j.Word, &j.Number, &j.Pull, &j.Act, &j.State, &j.Why, &j.Tries, &j.Token, &j.Queued)
	return j, err
}

// Ask implements [bot.Queue].
func (q Queue) Ask(ctx context.Context, a bot.Ask) (fresh bool, err error) {
	err = q.db.Do(ctx, "record what was asked", func(ctx context.Context) error {
		tag, err := q.db.Pool.Exec(ctx, `
			insert into bot_job (host, repository, event, delivery, asked_by, word, number, is_pull)
			values (@host, @repository, @event, nullif(@delivery, ''), @by, @word, @number, @pull) on conflict do nothing`,
			pgx.NamedArgs{
				"host": a.Host, "repository": database.Clean(a.Repository), "event": database.Clean(a.Event), "delivery": database.Clean(a.Delivery), "by": database.Clean(a.By),
				"word": database.Clean(a.Word), "number": a.Number, "pull": a.Pull,
			})
		fresh = err == nil && tag.RowsAffected() > 0
		return err
	})
	return fresh, err
}

// maxAsked bounds how many jobs are decided on at once.
const maxAsked = 100

// Asked implements [bot.Queue].
func (q Queue) Asked(ctx context.Context, host string, repositories []string) (list []bot.Job, err error) {
	err = q.db.Do(ctx, "read what was asked", func(ctx context.Context) error {
		rows, err := q.db.Pool.Query(ctx, `select `+columns+` from bot_job where host = @host and repository = any(@repositories) and state = 'asked' order by id limit @most`,
			pgx.NamedArgs{"host": host, "repositories": repositories, "most": maxAsked})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scan)
		return err
	})
	return list, err
}

// Decide implements [bot.Queue]. It tells a person at most once an hour that a limit is reached.
func (q Queue) Decide(ctx context.Context, id int64, act bot.Act, why string, tell bool, l bot.Limits) (state bot.State, err error) {
	err = q.db.Transact(ctx, fmt.Sprintf("decide on job %d", id), func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, turn); err != nil {
			return err
		}
		reached := why
		if why == "" {
			if reached, err = over(ctx, tx, id, l); err != nil {
				return err
			}
		}
		state = bot.Queued
		if reached != "" {
			state = bot.Refused
		}
		if why == "" && reached != "" {
			if err := tx.QueryRow(ctx, `
				select not exists (select from bot_job o join bot_job j on (o.host, o.asked_by) = (j.host, j.asked_by) where j.id = @id and o.state = 'refused' and o.act is not null
					and o.at > clock_timestamp() - interval '1 hour')`, pgx.NamedArgs{"id": id}).Scan(&tell); err != nil {
				return err
			}
		}
		tag, err := tx.Exec(ctx, `
			update bot_job set act = nullif(@act, ''), state = @state, why = @why, decided = clock_timestamp(), answered = @state = 'refused' and not @tell,
				ended = case when @state = 'refused' then clock_timestamp() end
			where id = @id and state = 'asked'`,
			pgx.NamedArgs{"id": id, "act": string(act), "state": string(state), "why": database.Clean(reached), "tell": tell})
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		return tx.QueryRow(ctx, `select state from bot_job where id = @id`, pgx.NamedArgs{"id": id}).Scan(&state)
	})
	return state, err
}

// over says which limit a job would exceed, "" for none. Refused jobs do not count.
func over(ctx context.Context, tx pgx.Tx, id int64, l bot.Limits) (string, error) {
	var n [4]int
	err := tx.QueryRow(ctx, `
		select count(*) filter (where o.asked_by = j.asked_by and o.decided > clock_timestamp() - interval '1 hour'), count(*) filter (where o.asked_by = j.asked_by),
			count(*) filter (where o.repository = j.repository and o.decided > clock_timestamp() - interval '1 hour'), count(*) filter (where o.repository = j.repository)
		from bot_job j join bot_job o on o.host = j.host and o.id <> j.id and o.decided > clock_timestamp() - interval '1 day' and o.state <> 'refused' and o.act <> 'stop'
		where j.id = @id`, pgx.NamedArgs{"id": id}).Scan(&n[0], &n[1], &n[2], &n[3])
	for i, limit := range []struct {
		most int
		of   string
	}{{l.PersonHour, "for one person in an hour"}, {l.PersonDay, "for one person in a day"}, {l.RepositoryHour, "for one repository in an hour"}, {l.RepositoryDay, "for one repository in a day"}} {
		if err == nil && n[i] >= limit.most {
			return fmt.Sprintf("no more than %d jobs are accepted %s", limit.most, limit.of), nil
		}
	}
	return "", err
}

// Stop implements [bot.Queue]. It also stops what was asked for in an issue when called for the pull request that was opened for it.
func (q Queue) Stop(ctx context.Context, by bot.Job) (stopped int, err error) {
	err = q.db.Do(ctx, fmt.Sprintf("stop the jobs for %s %d", by.Repository, by.Number), func(ctx context.Context) error {
		tag, err := q.db.Pool.Exec(ctx, `
			update bot_job j set stop = true, state = case when state = 'running' then state else 'stopped' end, why = case when state = 'running' then why else 'somebody asked for it to stop' end,
				ended = case when state = 'running' then ended else clock_timestamp() end
			where host = @host and repository = @repository and state in ('queued', 'running', 'asked') and id < @id and word <> 'stop'
				and (number = @number and is_pull = @pull
					or act = 'run' and exists (select from integration n where (n.host, n.repository, n.issue) = (j.host, j.repository, j.number) and n.number = @number and @pull))`,
			pgx.NamedArgs{"host": by.Host, "repository": by.Repository, "number": by.Number, "pull": by.Pull, "id": by.ID})
		stopped = int(tag.RowsAffected())
		return err
	})
	return stopped, err
}

// Take implements [bot.Queue]. A worker has one job: any other that it owns was left over when the record did not answer.
func (q Queue) Take(ctx context.Context, host string, repositories []string, owner string, dead func(owner string, beat time.Time) bool) (j bot.Job, err error) {
	err = q.db.Transact(ctx, "take a job", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, turn); err != nil {
			return err
		}
		args := pgx.NamedArgs{"host": host, "repositories": repositories, "owner": database.Clean(owner)}
		rows, err := tx.Query(ctx, `select id, owner, beat from bot_job where host = @host and repository = any(@repositories) and owner <> '' and not answered`, args)
		if err != nil {
			return err
		}
		gone := []int64{}
		var id int64
		var by string
		var beat time.Time
		if _, err := pgx.ForEachRow(rows, []any{&id, &by, &beat}, func() error {
			if dead(by, beat) {
				gone = append(gone, id)
			}
			return nil
		}); err != nil {
			return err
		}
		args["gone"] = gone
		rows, err = tx.Query(ctx, `
			update bot_job j set owner = @owner, token = token + 1, beat = clock_timestamp(),
				state = case when state = 'queued' then 'running' else state end, begun = coalesce(begun, clock_timestamp()), tries = tries + case when state in ('queued', 'running') then 1 else 0 end
			where id = (
				select id from bot_job c
				where host = @host and repository = any(@repositories) and not answered and state <> 'asked' and after <= clock_timestamp() and (owner in ('', @owner) or id = any(@gone))
					and not exists (select from bot_job o where (o.host, o.repository) = (c.host, c.repository) and o.id <> c.id and o.state = 'running' and o.owner <> @owner and o.id <> all(@gone))
				order by id limit 1)
			returning `+columns, args)
		if err != nil {
			return err
		}
		j, err = pgx.CollectExactlyOneRow(rows, scan)
		if errors.Is(err, pgx.ErrNoRows) {
			return bot.ErrNone
		}
		return err
	})
	return j, err
}

// Beat implements [bot.Queue].
func (q Queue) Beat(ctx context.Context, j bot.Job) (stop bool, err error) {
	err = q.db.Do(ctx, fmt.Sprintf("keep job %d", j.ID), func(ctx context.Context) error {
		err := q.db.Pool.QueryRow(ctx, `update bot_job set beat = clock_timestamp() where (id, token) = (@id, @token) returning stop`, pgx.NamedArgs{"id": j.ID, "token": j.Token}).Scan(&stop)
		if errors.Is(err, pgx.ErrNoRows) {
			return run.ErrFenced
		}
		return err
	})
	return stop, err
}

// Put implements [bot.Queue]. A job that ends keeps its worker until it is answered.
func (q Queue) Put(ctx context.Context, j bot.Job, p bot.Put) error {
	return q.db.Do(ctx, fmt.Sprintf("record the state of job %d", j.ID), func(ctx context.Context) error {
		tag, err := q.db.Pool.Exec(ctx, `
			update bot_job set state = @state, why = @why, answered = @answered, act = coalesce(act, nullif(@act, '')), decided = coalesce(decided, clock_timestamp()),
				owner = case when @ended and not @answered then owner else '' end, after = clock_timestamp() + @after,
				tries = tries - case when @free and owner <> '' then 1 else 0 end, ended = case when @ended then coalesce(ended, clock_timestamp()) end
			where (id, token) = (@id, @token)`,
			pgx.NamedArgs{
				"id": j.ID, "token": j.Token, "state": string(p.State), "why": database.Clean(p.Why), "answered": p.Answered, "act": string(j.Act), "ended": p.State.Ended(),
				"after": p.After, "free": p.Free,
			})
		if err == nil && tag.RowsAffected() == 0 {
			err = run.ErrFenced
		}
		return err
	})
}
