-- Task files that are carried out loop after loop, as plans of one task a loop, and plans that are carried out again from their record.

alter table plan add column loop json; -- what a task file says besides its goal; null for a plan of tasks
alter table plan add column ending text not null default ''; -- why a loop ended, '' for none
alter table plan add column replays bigint references plan; -- the plan whose answers it takes

alter table plan_attempt drop constraint plan_attempt_kind_check;
alter table plan_attempt add constraint plan_attempt_kind_check check (kind in ('plan', 'begin', 'task', 'land', 'accept', 'review', 'deliver'));

create or replace view v_plans as
select p.id as plan, p.workspace, p.goal, nullif(p.summary, '') as summary, p.state, nullif(p.why, '') as why,
    (select count(*) from plan_task t where t.plan = p.id and t.state <> 'replaced') as tasks,
    (select count(*) from plan_task t where t.plan = p.id and t.state = 'done') as done,
    (select count(*) from plan_task t where t.plan = p.id and t.state in ('failed', 'blocked', 'held')) as stuck,
    (select count(*) from plan_attempt a where a.plan = p.id and a.kind = 'task') as tries,
    p.replanned, p.rounds as review_rounds, p.run, m.requests, m.tokens, m.cost,
    p.created, p.begun, p.ended, nullif(p.owner, '') as owner,
    p.loop ->> 'file' as task_file, p.loop ->> 'sha256' as task_sha256, (p.loop -> 'limits' ->> 'loops')::integer as loops, nullif(p.ending, '') as ending, p.replays
from plan p cross join lateral (
    select count(*) as requests, coalesce(sum(c.tokens_in + c.tokens_out), 0)::bigint as tokens, (sum(c.cost) filter (where c.priced) / 1000000.0)::numeric(20, 6) as cost
    from plan_attempt a join model_call c on c.run = a.id where a.plan = p.id
) m;
comment on column v_plans.task_file is 'Task file that it carries out loop after loop, null for a plan of tasks';
comment on column v_plans.task_sha256 is 'SHA-256 of the text of that file which counts, null for a plan of tasks';
comment on column v_plans.loops is 'How many loops it may have, null for a plan of tasks';
comment on column v_plans.ending is 'Why its loops ended: accepted, no progress, or the limit that was reached; null before, and for a plan of tasks';
comment on column v_plans.replays is 'Plan whose answers it takes, null for none';
comment on column v_plan_progress.kind is 'plan, begin (the tasks as they were begun with), task, land (a change merged and judged again), accept (the acceptance of a loop), review or deliver';

-- What delivers a plan was asked for under the names of its tries.
create or replace view v_reviews as
select p.run, r.workspace, p.at as promoted, r.intent, p.approved_by, p.undo_of,
    (select min(u.run) from promotion u where u.undo_of = p.run and u.status = 'committed') as undone_by,
    case when p.undo_of is not null then 'undo' when o.patch is not null then 'patch' else (
        select string_agg(distinct c.vendor || '/' || c.model, ', ') from model_call c
        where (c.run in (o.id, o.iteration) or c.run in (select w.id from plan_attempt d join plan_attempt w on w.plan = d.plan and w.kind = 'task' where d.id = o.iteration and d.kind = 'deliver'))
            and c.purpose in ('PP', 'IF', 'ALF', 'FRE', 'PIR', 'PCF', 'CF') and c.ended is not null and c.kind is null
    ) end as model,
    (select (sum(c.cost) / 1000000.0)::numeric(20, 6) from model_call c
        where c.priced and (c.run in (o.id, o.iteration) or c.run in (select w.id from plan_attempt d join plan_attempt w on w.plan = d.plan where d.id = o.iteration and d.kind = 'deliver'))) as cost,
    v.id as review, v.reviewer, v.verdict, nullif(v.comment, '') as comment, v.at
from promotion p join run r on r.id = p.run join run o on o.id = coalesce(r.applies, r.id) join state s on s.name = r.state
    left join review v on v.run = p.run
where p.status = 'committed' and not s.failed;

{{ template "shared/reader.sql" . }}
