-- Names that stood in several checks and views are rows of one table each, which these
-- refer to. A test keeps the rows equal to the constants of the program.

create table state (
    name   text    primary key,
    place  integer not null unique,
    final  boolean not null,
    failed boolean not null check (final or not failed)
);
comment on table state is
    'States of a run, in the order in which it may go through them. A run that has ended is in a final one; in a failed one '
    'it left nothing in the workspace.';
insert into state values
    ('queued',            1,  false, false),
    ('analyzing',         2,  false, false),
    ('planning',          3,  false, false),
    ('proposing',         4,  false, false),
    ('verifying',         5,  false, false),
    ('awaiting_approval', 6,  false, false),
    ('promoting',         7,  false, false),
    ('promoted',          8,  true,  false),
    ('done',              9,  true,  false),
    ('rejected',          10, true,  true),
    ('conflict',          11, true,  true),
    ('failed',            12, true,  true),
    ('cancelled',         13, true,  true);

create table verdict (name text primary key);
comment on table verdict is 'Verdicts of gates, candidates and runs.';
insert into verdict values
    ('pass'), ('fail'), ('policy'), ('timeout'), ('oom'), ('infra'), ('conflict'), ('cancelled'), ('budget');

create table call_error (name text primary key);
comment on table call_error is 'Kinds of error that a request to a model ends with.';
insert into call_error values
    ('quota'), ('rate_limit'), ('auth'), ('balance'), ('network'), ('refused'), ('overloaded'), ('malformed'), ('truncated'),
    ('missing'), ('invalid'), ('unknown'), ('cancelled');

-- What refers to these tables is planned by how small they are.
analyze state, verdict, call_error;

alter table run
    drop constraint run_state_check, drop constraint run_verdict_check, drop constraint run_ended_check,
    add constraint run_state_known foreign key (state) references state,
    add constraint run_verdict_known foreign key (verdict) references verdict;
alter table run_state
    drop constraint run_state_state_check, add constraint run_state_state_known foreign key (state) references state;
alter table candidate
    drop constraint candidate_verdict_check, add constraint candidate_verdict_known foreign key (verdict) references verdict;
alter table gate
    drop constraint gate_verdict_check, add constraint gate_verdict_known foreign key (verdict) references verdict;
alter table model_call
    drop constraint model_call_kind_check, add constraint model_call_kind_known foreign key (kind) references call_error;
-- A request that was cancelled says nothing of its key.
alter table model_key
    drop constraint model_key_reason_check, drop constraint model_key_retired_check,
    add constraint model_key_reason_known foreign key (reason) references call_error,
    add constraint model_key_retired_known foreign key (retired) references call_error,
    add constraint model_key_check check (reason <> 'cancelled' and retired <> 'cancelled');

-- A late writer is harmless: the token never falls, a run ends in a final state, and one
-- that has ended stays as it is.
create or replace function run_guard() returns trigger language plpgsql set search_path = {{.schema}}, pg_temp as $$
begin
    if new.ended is not null and exists (select from state where name = new.state and not final) then
        raise exception 'run % may not end as %', new.id, new.state using errcode = 'check_violation';
    end if;
    if tg_op = 'UPDATE' then
        if new.token < old.token then
            raise exception 'fencing token of run % may not fall', old.id using errcode = 'check_violation';
        end if;
        if old.ended is not null and new.state <> old.state then
            raise exception 'run % ended as %', old.id, old.state using errcode = 'check_violation';
        end if;
    end if;
    return new;
end $$;
drop trigger run_guard on run;
create trigger run_guard before insert or update on run for each row execute function run_guard();

-- An outer join is left out of the plan where nobody asks for promoted.
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
    ), '') end as unproven
from run r left join state s on s.name = r.state left join promotion p on p.run = r.id;

create or replace view v_history as
select p.run, r.workspace, p.at, r.intent, p.approved_by, f.files,
    array_to_string(f.paths[1:3], ', ') || case when f.files > 3 then format(' and %s more', f.files - 3) else '' end as path,
    coalesce(d.diff, '') as diff
from promotion p join run r on r.id = p.run join state s on s.name = r.state
cross join lateral (
    select count(*) as files, array_agg(f.path order by f.path collate "C") as paths from promotion_file f where f.run = p.run
) f
left join lateral (
    select c.diff from candidate c
    where c.run = p.run and not exists (
        select from (select * from promotion_file where run = p.run) a
            full join (select * from candidate_file where run = p.run and candidate = c.n) b using (path)
        where (a.op, a.from_path, a.mode, a.after_sha256) is distinct from (b.op, b.from_path, b.mode, b.after_sha256))
    order by c.n desc limit 1
) d on true
where p.status = 'committed' and p.undo_of is null and not s.failed
    and not exists (select from promotion u where u.undo_of = p.run and u.status = 'committed');

create or replace view v_funnel_daily as
select (r.created at time zone 'UTC')::date as day,
    count(*) as runs,
    count(*) filter (where exists (select from candidate c where c.run = r.id)) as tried,
    count(*) filter (where exists (select from candidate c where c.run = r.id and c.verdict = 'pass')) as passed,
    count(*) filter (where v.promoted) as promoted,
    count(*) filter (where v.undone_by is not null) as undone,
    count(*) filter (where s.failed) as ended_badly,
    count(*) filter (where r.ended is null) as under_way,
    (count(*) filter (where v.promoted) / count(*)::numeric)::numeric(6, 4) as promoted_share
from run r join state s on s.name = r.state join v_runs v on v.run = r.id left join promotion p on p.run = r.id
where p.undo_of is null
group by 1;

create or replace view v_failure_taxonomy as
select r.state, r.verdict, r.error_kind, g.gate,
    count(*) as runs,
    (count(*) / sum(count(*)) over ())::numeric(6, 4) as share,
    max(r.ended) as last,
    (array_agg(r.id order by r.ended desc, r.id desc))[1] as last_run
from run r join state s on s.name = r.state
left join lateral (
    select (select g.name from gate g where g.run = c.run and g.candidate = c.n and g.verdict <> 'pass' order by g.n limit 1) as gate
    from candidate c where c.run = r.id order by c.n desc limit 1
) g on true
where s.failed
group by r.state, r.verdict, r.error_kind, g.gate;

create or replace view v_reviews as
select p.run, r.workspace, p.at as promoted, r.intent, p.approved_by, p.undo_of,
    (select min(u.run) from promotion u where u.undo_of = p.run and u.status = 'committed') as undone_by,
    case when p.undo_of is not null then 'undo' when r.patch is not null then 'patch' else (
        select string_agg(distinct c.vendor || '/' || c.model, ', ') from model_call c
        where c.run in (r.id, r.iteration) and c.purpose in ('PP', 'IF', 'ALF', 'FRE', 'PIR', 'PCF') and c.ended is not null and c.kind is null
    ) end as model,
    (select (sum(c.cost) / 1000000.0)::numeric(20, 6) from model_call c where c.run in (r.id, r.iteration) and c.priced) as cost,
    v.id as review, v.reviewer, v.verdict, nullif(v.comment, '') as comment, v.at
from promotion p join run r on r.id = p.run join state s on s.name = r.state left join review v on v.run = p.run
where p.status = 'committed' and not s.failed;

{{ template "shared/reader.sql" . }}
