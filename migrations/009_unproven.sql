-- What no gate judged is told beside what the gates found: a run in which no test ran is
-- no run whose tests passed.

-- Lists of {gate, kind, reason, part}; [] where all was judged, null in rows of before and
-- where nothing came to be judged.
alter table candidate add column unproven jsonb;
-- Of the candidate that decided the run.
alter table run add column unproven jsonb;

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
    coalesce(p.status = 'committed' and r.state not in ('rejected', 'conflict', 'failed', 'cancelled'), false) as promoted,
    (select min(u.run) from promotion u where u.undo_of = r.id and u.status = 'committed') as undone_by,
    r.runtime,
    case when jsonb_typeof(r.unproven) = 'array' then coalesce((
        select string_agg(u ->> 'reason', '; ' order by n) from jsonb_array_elements(r.unproven) with ordinality e (u, n)
    ), '') end as unproven
from run r left join promotion p on p.run = r.id;
comment on column v_runs.unproven is 'What no gate judged of what was promoted or tried last, a sentence each, such as that no test ran; empty when all was judged, null when it is not known. v_unproven lists it';

create or replace view v_candidates as
select c.run, c.n, c.verdict,
    (select count(*) from candidate_file f where f.run = c.run and f.candidate = c.n) as files,
    (select count(*) from gate g where g.run = c.run and g.candidate = c.n) as gates,
    (select g.name from gate g where g.run = c.run and g.candidate = c.n and g.verdict <> 'pass' order by g.n limit 1) as stopped_by,
    case when jsonb_typeof(c.holds) = 'array' then jsonb_array_length(c.holds) else 0 end as holds,
    nullif(c.thought, '') as thought,
    c.digest, c.diff, c.at,
    case when jsonb_typeof(c.unproven) = 'array' then jsonb_array_length(c.unproven) end as unproven
from candidate c;
comment on column v_candidates.unproven is 'How many things no gate judged, null when it is not known; v_unproven lists them';

create view v_unproven as
select c.run, c.n as candidate, u ->> 'gate' as gate, u ->> 'kind' as kind, u ->> 'reason' as reason,
    coalesce(u -> 'part' = 'true', false) as part, c.verdict, r.workspace, r.state, c.at
from candidate c join run r on r.id = c.run cross join lateral jsonb_path_query(c.unproven, 'lax $[*]') u
where jsonb_typeof(c.unproven) = 'array';
comment on view v_unproven is 'What of a change did no gate judge, and why? One row for each thing: a gate with a row and part false judged nothing, whatever its verdict.';
comment on column v_unproven.gate is 'Gate that would have judged it; for a language that no gate reads, syntax';
comment on column v_unproven.kind is 'Why, for programs: no-tests, no-runner, script, not-installed, not-collected, none-found, all-skipped, not-judged, not-run or no-gate';
comment on column v_unproven.part is 'True when the gate judged something else';
comment on column v_unproven.verdict is 'How the candidate was judged by what did judge it';
comment on column v_unproven.at is 'When the candidate was recorded';

-- A run of the loop, and every run for a goal is one, has its requests recorded under its
-- iteration, as in v_first_pass_rate.
create or replace view v_reviews as
select p.run, r.workspace, p.at as promoted, r.intent, p.approved_by, p.undo_of,
    (select min(u.run) from promotion u where u.undo_of = p.run and u.status = 'committed') as undone_by,
    case when p.undo_of is not null then 'undo' when r.patch is not null then 'patch' else (
        select string_agg(distinct c.vendor || '/' || c.model, ', ') from model_call c
        where c.run in (r.id, r.iteration) and c.purpose in ('PP', 'IF', 'ALF', 'FRE', 'PIR', 'PCF') and c.ended is not null and c.kind is null
    ) end as model,
    (select (sum(c.cost) / 1000000.0)::numeric(20, 6) from model_call c where c.run in (r.id, r.iteration) and c.priced) as cost,
    v.id as review, v.reviewer, v.verdict, nullif(v.comment, '') as comment, v.at
from promotion p join run r on r.id = p.run left join review v on v.run = p.run
where p.status = 'committed' and r.state not in ('rejected', 'conflict', 'failed', 'cancelled');
comment on column v_reviews.cost is 'Of all requests of the run and its iteration whose price is known, in the currency of the prices, null for none';

{{ template "shared/reader.sql" . }}
