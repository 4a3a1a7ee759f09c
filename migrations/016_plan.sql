-- Goals larger than one edit: plans, their tasks, and every try at one.

create table plan_state (name text primary key, place integer not null unique, final boolean not null);
comment on table plan_state is 'States of a plan, in the order of its life. Nothing can be done with one in a final state.';
insert into plan_state values
    ('drafted', 1, false), ('building', 2, false), ('paused', 3, false), ('awaiting', 4, false), ('failed', 5, false),
    ('delivered', 6, true), ('dropped', 7, true);
create table task_state (name text primary key, place integer not null unique);
comment on table task_state is 'States of a task of a plan, in the order of its life.';
insert into task_state values
    ('waiting', 1), ('running', 2), ('held', 3), ('done', 4), ('failed', 5), ('blocked', 6), ('replaced', 7);
analyze plan_state, task_state;

create table plan (
    id        bigint      generated always as identity primary key,
    op        uuid        not null unique, -- names the attempt to record it, so that a retry finds it
    workspace text        not null,
    goal      text        not null,
    summary   text        not null,
    state     text        not null references plan_state,
    owner     text        not null, -- the process that works on it, '' for none
    wanted    text        not null constraint plan_wanted_check check (wanted in ('', 'pause', 'cancel')),
    why       text        not null, -- why it stands where it stands
    rounds    integer     not null constraint plan_rounds_check check (rounds >= 0), -- reviews after which something was mended
    replanned integer     not null constraint plan_replanned_check check (replanned >= 0),
    review    json,
    run       text, -- the run that delivered it, or waits for an approval
    created   timestamptz not null default clock_timestamp(),
    begun     timestamptz,
    ended     timestamptz
);
create index plan_workspace on plan (workspace, id);

create table plan_task (
    plan       bigint  not null references plan on delete cascade,
    n          integer not null constraint plan_task_n_check check (n > 0),
    title      text    not null,
    goal       text    not null,
    files      json    not null,
    creates    json    not null,
    depends_on json    not null,
    role       text    not null,
    message    text    not null,
    accept     json    not null,
    state      text    not null references task_state,
    why        text    not null,
    tries      integer not null constraint plan_task_tries_check check (tries >= 0),
    landed     integer constraint plan_task_landed_check check (landed > 0), -- its place among those that are done
    run        text, -- the run whose candidate is part of the whole, or that failed last
    primary key (plan, n),
    unique (plan, landed)
);

-- Requests to models are recorded under the name of a try, as they are under that of an iteration of a loop.
create table plan_attempt (
    id       text        primary key check (length(id) between 1 and 64),
    plan     bigint      not null references plan on delete cascade,
    task     integer     not null, -- 0 for the plan as a whole
    kind     text        not null constraint plan_attempt_kind_check check (kind in ('plan', 'task', 'land', 'review', 'deliver')),
    role     text        not null,
    try      integer     not null constraint plan_attempt_try_check check (try >= 0),
    fence    text        not null,
    recorded json, -- what the run set out to do, so that one that is carried on asks the same
    landed   integer     not null, -- how many tasks were done when it began
    run      text,
    outcome  text        not null, -- '' while it goes on
    why      text        not null,
    started  timestamptz not null,
    ended    timestamptz
);
create index plan_attempt_plan on plan_attempt (plan, task, try);
create index plan_attempt_run on plan_attempt (run) where run is not null;

create or replace view v_model_calls as
select c.id as call,
    coalesce(r.id, i.run, a.run) as run,
    coalesce(i.id, r.iteration) as iteration,
    c.step, c.attempt, c.purpose, c.template, c.vendor, c.model,
    nullif(c.key_id, '') as key_id,
    c.tokens_in, c.tokens_out, c.tokens_cached,
    c.tokens_reason as tokens_reasoned,
    c.in_estimated or c.out_estimated as estimated,
    case when c.priced then (c.cost / 1000000.0)::numeric(20, 6) end as cost,
    (c.duration / 1000000.0)::numeric(14, 6) as seconds,
    c.kind as error_kind,
    c.detail, c.begun, c.ended
from model_call c left join run r on r.id = c.run left join iteration i on i.id = c.run left join plan_attempt a on a.id = c.run;
comment on column v_model_calls.run is 'Run that asked; of a request that an iteration, or a try at a task of a plan, made, the last run of it';

create view v_plans as
select p.id as plan, p.workspace, p.goal, nullif(p.summary, '') as summary, p.state, nullif(p.why, '') as why,
    (select count(*) from plan_task t where t.plan = p.id and t.state <> 'replaced') as tasks,
    (select count(*) from plan_task t where t.plan = p.id and t.state = 'done') as done,
    (select count(*) from plan_task t where t.plan = p.id and t.state in ('failed', 'blocked', 'held')) as stuck,
    (select count(*) from plan_attempt a where a.plan = p.id and a.kind = 'task') as tries,
    p.replanned, p.rounds as review_rounds, p.run, m.requests, m.tokens, m.cost,
    p.created, p.begun, p.ended, nullif(p.owner, '') as owner
from plan p cross join lateral (
    select count(*) as requests, coalesce(sum(c.tokens_in + c.tokens_out), 0)::bigint as tokens, (sum(c.cost) filter (where c.priced) / 1000000.0)::numeric(20, 6) as cost
    from plan_attempt a join model_call c on c.run = a.id where a.plan = p.id
) m;
comment on view v_plans is 'Which goals were planned, how far is each, and what did it cost? One row for each plan.';
comment on column v_plans.plan is 'Number of the plan, as `agent plan show` takes it';
comment on column v_plans.workspace is 'Directory that it is for';
comment on column v_plans.goal is 'What it is to reach';
comment on column v_plans.summary is 'What the planner said of it, null for nothing';
comment on column v_plans.state is 'drafted, building, paused, awaiting, failed, delivered or dropped';
comment on column v_plans.why is 'Why it stands there, null for no reason';
comment on column v_plans.tasks is 'How many tasks it has, without those that others took the place of';
comment on column v_plans.done is 'How many of them are done';
comment on column v_plans.stuck is 'How many of them failed, wait for one that did, or are held';
comment on column v_plans.tries is 'How often a task of it was begun';
comment on column v_plans.replanned is 'How often a part of it was planned anew';
comment on column v_plans.review_rounds is 'After how many reviews something was mended';
comment on column v_plans.run is 'Run that delivered it, or that waits for an approval; null before';
comment on column v_plans.requests is 'Requests to models for it';
comment on column v_plans.tokens is 'Tokens of these, in and out';
comment on column v_plans.cost is 'Of the requests whose price is known, null for none';
comment on column v_plans.created is 'When it was made';
comment on column v_plans.begun is 'When it was carried out first, null before';
comment on column v_plans.ended is 'When it was delivered or dropped, null before';
comment on column v_plans.owner is 'Process that works on it, null for none';

create view v_tasks as
select t.plan, t.n as task, t.title, t.role, t.state, nullif(t.why, '') as why,
    (select string_agg(d.value, ' ' order by d.n) from json_array_elements_text(t.depends_on) with ordinality d (value, n)) as depends_on,
    (select string_agg(f.value, ' ' order by f.n) from json_array_elements_text(t.files) with ordinality f (value, n)) as files,
    (select string_agg(f.value, ' ' order by f.n) from json_array_elements_text(t.creates) with ordinality f (value, n)) as creates,
    t.tries, t.landed, t.run, m.requests, m.tokens, m.cost,
    (select min(a.started) from plan_attempt a where a.plan = t.plan and a.task = t.n) as started,
    (select max(a.ended) from plan_attempt a where a.plan = t.plan and a.task = t.n) as ended
from plan_task t cross join lateral (
    select count(c.id) as requests, coalesce(sum(c.tokens_in + c.tokens_out), 0)::bigint as tokens, (sum(c.cost) filter (where c.priced) / 1000000.0)::numeric(20, 6) as cost
    from plan_attempt a join model_call c on c.run = a.id where a.plan = t.plan and a.task = t.n
) m;
comment on view v_tasks is 'Which tasks has a plan, and what came of each? One row for each task.';
comment on column v_tasks.plan is 'Plan that it belongs to';
comment on column v_tasks.task is 'Its number there';
comment on column v_tasks.title is 'What it is, in a few words';
comment on column v_tasks.role is 'Role that carries it out';
comment on column v_tasks.state is 'waiting, running, held, done, failed, blocked or replaced';
comment on column v_tasks.why is 'Why it is held, failed, blocked or replaced; null otherwise';
comment on column v_tasks.depends_on is 'Numbers of the tasks that have to be done before, null for none';
comment on column v_tasks.files is 'Files that it changes, null for none';
comment on column v_tasks.creates is 'Files that it creates, null for none';
comment on column v_tasks.tries is 'How often it was begun';
comment on column v_tasks.landed is 'Its place among those that are done, null before';
comment on column v_tasks.run is 'Run whose change is part of the whole, or that failed last; null before';
comment on column v_tasks.requests is 'Requests to models for it';
comment on column v_tasks.tokens is 'Tokens of these, in and out';
comment on column v_tasks.cost is 'Of the requests whose price is known, null for none';
comment on column v_tasks.started is 'When it was begun first, null before';
comment on column v_tasks.ended is 'When its last try ended, null before';

create view v_plan_progress as
select a.plan, a.task, a.kind, a.role, a.try, a.id as attempt, a.run, nullif(a.outcome, '') as outcome, nullif(a.why, '') as why, a.landed as done_before,
    a.started, a.ended, extract(epoch from coalesce(a.ended, statement_timestamp()) - a.started)::numeric(14, 3) as seconds
from plan_attempt a;
comment on view v_plan_progress is 'What was done for a plan, in which order, and what came of it? One row for each try at a task, and for each plan, merge, review and delivery.';
comment on column v_plan_progress.plan is 'Plan that it was done for';
comment on column v_plan_progress.task is 'Task that it was a try at, 0 for the plan as a whole';
comment on column v_plan_progress.kind is 'plan, task, land (a change merged and judged again), review or deliver';
comment on column v_plan_progress.role is 'Role that was at it';
comment on column v_plan_progress.try is 'Number of the try, from 0';
comment on column v_plan_progress.attempt is 'Name under which its requests to models are recorded';
comment on column v_plan_progress.run is 'Run that it was, null for none';
comment on column v_plan_progress.outcome is 'What came of it, null while it goes on';
comment on column v_plan_progress.why is 'Why, where it did not come through';
comment on column v_plan_progress.done_before is 'How many tasks were done when it began';
comment on column v_plan_progress.started is 'When it began';
comment on column v_plan_progress.ended is 'When it ended, null before';
comment on column v_plan_progress.seconds is 'How long it took, so far';

create view v_roles as
select a.role, count(*) as tries,
    count(*) filter (where a.outcome = 'passed') as passed,
    (100.0 * count(*) filter (where a.outcome = 'passed' and a.try = 0) / nullif(count(*) filter (where a.outcome <> '' and a.try = 0), 0))::numeric(5, 1) as first_try_percent,
    count(*) filter (where a.try > 0) as rework,
    sum(m.requests)::bigint as requests, sum(m.tokens_in)::bigint as tokens_in, sum(m.tokens_out)::bigint as tokens_out, sum(m.cost) as cost
from plan_attempt a cross join lateral (
    select count(c.id) as requests, coalesce(sum(c.tokens_in), 0) as tokens_in, coalesce(sum(c.tokens_out), 0) as tokens_out,
        (sum(c.cost) filter (where c.priced) / 1000000.0)::numeric(20, 6) as cost
    from model_call c where c.run = a.id
) m
where a.kind in ('plan', 'task', 'review')
group by a.role;
comment on view v_roles is 'What did each role do in plans, how often did it succeed at once, and what did it cost? One row for each role.';
comment on column v_roles.role is 'Name of the role';
comment on column v_roles.tries is 'How often it was at work';
comment on column v_roles.passed is 'How often with success';
comment on column v_roles.first_try_percent is 'Of its first tries that have ended, how many percent succeeded; null for none';
comment on column v_roles.rework is 'Tries after the first at the same thing';
comment on column v_roles.requests is 'Requests to models';
comment on column v_roles.tokens_in is 'Tokens of its questions';
comment on column v_roles.tokens_out is 'Tokens of the answers';
comment on column v_roles.cost is 'Of the requests whose price is known, null for none';

{{ template "shared/reader.sql" . }}
