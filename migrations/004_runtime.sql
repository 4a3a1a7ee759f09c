-- A box may have a kernel of its own: how far a run's programs were kept apart from the
-- host is part of what was proved.

alter table run add column runtime text; -- null: the engine's own choice

create or replace view v_runs as
select r.id as run,
    r.state,
    r.verdict,
    r.workspace,
    r.intent,
    r.started,
    r.ended,
    greatest(extract(epoch from coalesce(r.ended, clock_timestamp()) - r.created), 0)::numeric(12, 3) as seconds,
    r.exit_code,
    nullif(concat_ws(': ', r.error_kind, r.error_message), '') as error,
    r.error_next as next_step,
    r.snapshot,
    r.owner,
    r.beat as heartbeat,
    (select count(*) from candidate c where c.run = r.id) as candidates,
    coalesce(p.status = 'committed' and r.state not in ('rejected', 'conflict', 'failed', 'cancelled'), false) as promoted,
    (select min(u.run) from promotion u where u.undo_of = r.id and u.status = 'committed') as undone_by,
    r.runtime
from run r left join promotion p on p.run = r.id;
comment on column v_runs.runtime is 'Runtime of the engine that the boxes were asked to have, such as runsc; null for its default';
