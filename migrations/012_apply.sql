-- A run that applies what an earlier one proved names that: whose words the change is, and
-- what it cost, is told by the run that found it.

alter table run add column applies text references run;
create index run_applies on run (applies) where applies is not null;
-- The end of a name is what tells runs of one day apart; people type it.
create index run_suffix on run (reverse(id) collate "C");

create or replace view v_runs as
select r.id as run,
    r.state,
    r.verdict,
    r.workspace,
    r.intent,
    r.started,
    r.ended,
    greatest(extract(epoch from coalesce(r.ended, statement_timestamp()) - r.created), 0)::numeric(12, 3) as seconds,
    r.exit_code,
    nullif(concat_ws(': ', r.error_kind, r.error_message), '') as error,
    r.error_next as next_step,
    r.snapshot,
    r.owner,
    r.beat as heartbeat,
    (select count(*) from candidate c where c.run = r.id) as candidates,
    coalesce(p.status = 'committed' and not s.failed, false) as promoted,
    (select min(u.run) from promotion u where u.undo_of = r.id and u.status = 'committed') as undone_by,
    r.runtime,
    case when jsonb_typeof(r.unproven) = 'array' then coalesce((
        select string_agg(u ->> 'reason', '; ' order by n) from jsonb_array_elements(r.unproven) with ordinality e (u, n)
    ), '') end as unproven,
    r.applies,
    (select min(a.id) from run a join promotion q on q.run = a.id join state t on t.name = a.state
        where a.applies = r.id and q.status = 'committed' and not t.failed
            and not exists (select from promotion u where u.undo_of = a.id and u.status = 'committed')) as applied_by,
    case when r.state = 'rejected' and exists (
            select from event e where e.run = r.id and e.kind = 'approval' and e.subject in ('unattended', 'leave') and e.detail ? 'candidate')
        and not exists (
            select from run a join promotion q on q.run = a.id join state t on t.name = a.state
            where a.applies = r.id and q.status = 'committed' and not t.failed)
        then 'awaiting_approval' end as outcome
from run r left join state s on s.name = r.state left join promotion p on p.run = r.id;
comment on column v_runs.applies is 'Run whose proven change this one was to apply, null for none';
comment on column v_runs.applied_by is 'Later run that applied the change of this one, null while none has or after that was undone';
comment on column v_runs.outcome is 'awaiting_approval where a change passed, nobody approved it and it was not applied later; null otherwise';

create or replace view v_reviews as
select p.run, r.workspace, p.at as promoted, r.intent, p.approved_by, p.undo_of,
    (select min(u.run) from promotion u where u.undo_of = p.run and u.status = 'committed') as undone_by,
    case when p.undo_of is not null then 'undo' when o.patch is not null then 'patch' else (
        select string_agg(distinct c.vendor || '/' || c.model, ', ') from model_call c
        where c.run in (o.id, o.iteration) and c.purpose in ('PP', 'IF', 'ALF', 'FRE', 'PIR', 'PCF') and c.ended is not null and c.kind is null
    ) end as model,
    (select (sum(c.cost) / 1000000.0)::numeric(20, 6) from model_call c where c.run in (o.id, o.iteration) and c.priced) as cost,
    v.id as review, v.reviewer, v.verdict, nullif(v.comment, '') as comment, v.at
from promotion p join run r on r.id = p.run join run o on o.id = coalesce(r.applies, r.id) join state s on s.name = r.state
    left join review v on v.run = p.run
where p.status = 'committed' and not s.failed;

-- A person's edit and an undo are versions of a memory as a merge is.
comment on column v_memory.iteration is 'Number of the version, from 1';
comment on column v_memory.run is 'Run whose work was merged, or that undid one; edit or clear for a person''s own change';

{{ template "shared/reader.sql" . }}
