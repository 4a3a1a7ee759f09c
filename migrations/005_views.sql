-- What an operator asks of the history: how much of the work came through, where it
-- stopped, what it cost, and what was left behind. Days are those of UTC.

-- One run of many is found by the beginning of its name, and runs by their state.
create index run_prefix on run (id collate "C");
create index run_by_state on run (state, created desc);
-- Removing a blob asks whether anybody refers to it, in each of these.
create index candidate_file_before on candidate_file (before_sha256) where before_sha256 is not null;
create index candidate_file_after on candidate_file (after_sha256) where after_sha256 is not null;
create index promotion_file_before on promotion_file (before_sha256) where before_sha256 is not null;
create index promotion_file_after on promotion_file (after_sha256) where after_sha256 is not null;
-- Few of the findings are of tests that fail by chance.
create index finding_flaky on finding (run) where old and message like '%: flaky: failed %';
create index model_call_open on model_call (begun) where ended is null;
create index proposal_run on proposal (run) where run is not null;

-- A moment that changes while a statement runs would keep the view from being joined
-- run by run: all of it was worked out for one.
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
    r.runtime
from run r left join promotion p on p.run = r.id;
comment on column v_gates.peak_bytes is 'The most memory that the box of the gate held, 0 when it had none of its own';
comment on column v_history.approved_by is 'The flag, the terminal or the policy that decided';
comment on column v_model_calls.tokens_cached is 'Tokens of the question that the vendor knew already';
comment on column v_model_calls.tokens_reasoned is 'Tokens of the answer that were reasoning and are not in its text';
comment on column v_proposals.proposal is 'Number, as `agent proposals` takes it';
comment on column v_runs.heartbeat is 'When its process was last heard of, by the clock of the database';
comment on column v_runs.candidates is 'Changes that were judged; v_candidates lists them';

create view v_candidates as
select c.run, c.n, c.verdict,
    (select count(*) from candidate_file f where f.run = c.run and f.candidate = c.n) as files,
    (select count(*) from gate g where g.run = c.run and g.candidate = c.n) as gates,
    (select g.name from gate g where g.run = c.run and g.candidate = c.n and g.verdict <> 'pass' order by g.n limit 1) as stopped_by,
    case when jsonb_typeof(c.holds) = 'array' then jsonb_array_length(c.holds) else 0 end as holds,
    nullif(c.thought, '') as thought,
    c.digest, c.diff, c.at
from candidate c;
comment on view v_candidates is 'Which changes were tried in a run, in which order, and what became of each? One row for each candidate.';
comment on column v_candidates.n is 'Number of the candidate in its run, from 1, in the order in which they were judged';
comment on column v_candidates.files is 'Files that it changes';
comment on column v_candidates.gates is 'Gates that judged it; v_gates lists them';
comment on column v_candidates.stopped_by is 'First gate that it did not pass, null for none';
comment on column v_candidates.holds is 'Changes that a person should see first; v_policy_hits lists them';
comment on column v_candidates.thought is 'What the response said of itself: never evidence';
comment on column v_candidates.digest is 'Digest of the change: two candidates with one digest are the same';
comment on column v_candidates.diff is 'The change, as git writes it';
comment on column v_candidates.at is 'When it was recorded, which is after it was judged';

-- A run that takes a promotion back proposes nothing, so it is no part of the funnel.
create view v_funnel_daily as
select (r.created at time zone 'UTC')::date as day,
    count(*) as runs,
    count(*) filter (where exists (select from candidate c where c.run = r.id)) as tried,
    count(*) filter (where exists (select from candidate c where c.run = r.id and c.verdict = 'pass')) as passed,
    count(*) filter (where v.promoted) as promoted,
    count(*) filter (where v.undone_by is not null) as undone,
    count(*) filter (where r.state in ('rejected', 'conflict', 'failed', 'cancelled')) as ended_badly,
    count(*) filter (where r.ended is null) as under_way,
    (count(*) filter (where v.promoted) / count(*)::numeric)::numeric(6, 4) as promoted_share
from run r join v_runs v on v.run = r.id left join promotion p on p.run = r.id
where p.undo_of is null
group by 1;
comment on view v_funnel_daily is 'Of the runs that began on a day, how many came how far? One row for each day; runs that undo are not counted.';
comment on column v_funnel_daily.day is 'Day of UTC on which the runs were recorded';
comment on column v_funnel_daily.tried is 'Runs that brought at least one candidate to its judgement';
comment on column v_funnel_daily.passed is 'Runs of which a candidate passed every gate';
comment on column v_funnel_daily.promoted is 'Runs whose files were written, also when they were undone since';
comment on column v_funnel_daily.undone is 'Promotions among them that were taken back, on whatever day';
comment on column v_funnel_daily.ended_badly is 'Runs that ended rejected, in conflict, failed or cancelled';
comment on column v_funnel_daily.under_way is 'Runs whose end is not recorded';
comment on column v_funnel_daily.promoted_share is 'promoted / runs, from 0 to 1';

-- Requests of a run of the loop are recorded under its iteration. The end of a request and the candidate
-- are dated by one clock, that of the database; the begin of a request is not.
create view v_first_pass_rate as
select (r.created at time zone 'UTC')::date as day,
    m.model,
    count(*) as runs,
    count(*) filter (where c.verdict = 'pass') as passed,
    (count(*) filter (where c.verdict = 'pass') / count(*)::numeric)::numeric(6, 4) as rate
from candidate c join run r on r.id = c.run
left join lateral (
    select m.vendor || '/' || m.model as model from model_call m
    where m.run in (r.id, r.iteration) and m.kind is null and m.ended <= c.at
    order by m.ended desc, m.id desc limit 1
) m on true
where c.n = 1
group by 1, 2;
comment on view v_first_pass_rate is 'How often does the first candidate of a run pass every gate? One row for each day and model.';
comment on column v_first_pass_rate.day is 'Day of UTC on which the runs were recorded';
comment on column v_first_pass_rate.model is 'Model whose answer was the last before the candidate, as vendor/model; null for patches that were given';
comment on column v_first_pass_rate.runs is 'Runs that have a candidate';
comment on column v_first_pass_rate.passed is 'Runs whose first candidate passed';
comment on column v_first_pass_rate.rate is 'passed / runs, from 0 to 1';

create view v_failure_taxonomy as
select r.state, r.verdict, r.error_kind, g.gate,
    count(*) as runs,
    (count(*) / sum(count(*)) over ())::numeric(6, 4) as share,
    max(r.ended) as last,
    (array_agg(r.id order by r.ended desc, r.id desc))[1] as last_run
from run r
left join lateral (
    select (select g.name from gate g where g.run = c.run and g.candidate = c.n and g.verdict <> 'pass' order by g.n limit 1) as gate
    from candidate c where c.run = r.id order by c.n desc limit 1
) g on true
where r.state in ('rejected', 'conflict', 'failed', 'cancelled')
group by r.state, r.verdict, r.error_kind, g.gate;
comment on view v_failure_taxonomy is 'Why do runs end without success, and how often each way? One row for each way.';
comment on column v_failure_taxonomy.verdict is 'infra is never the fault of the patch';
comment on column v_failure_taxonomy.error_kind is 'Kind of the error that the user was shown';
comment on column v_failure_taxonomy.gate is 'First gate that the last candidate did not pass, null for none';
comment on column v_failure_taxonomy.share is 'Share of all runs that ended so or in another of these ways, from 0 to 1';
comment on column v_failure_taxonomy.last is 'When the last of them ended';
comment on column v_failure_taxonomy.last_run is 'The last of them, to look at';

create view v_gate_latency as
select g.name as gate,
    count(*) as times,
    (percentile_cont(0.5) within group (order by g.seconds))::numeric(12, 3) as p50,
    (percentile_cont(0.95) within group (order by g.seconds))::numeric(12, 3) as p95,
    (percentile_cont(0.99) within group (order by g.seconds))::numeric(12, 3) as p99,
    max(g.seconds)::numeric(12, 3) as longest
from gate g
group by g.name;
comment on view v_gate_latency is 'How long does each gate take? One row for each gate, in seconds.';
comment on column v_gate_latency.times is 'How often it judged';
comment on column v_gate_latency.p50 is 'Half of the times took no longer, in seconds';
comment on column v_gate_latency.p95 is '95 of 100 times took no longer, between two times in proportion';
comment on column v_gate_latency.p99 is '99 of 100 times took no longer';
comment on column v_gate_latency.longest is 'The longest time, in seconds';

create view v_heal_attempts as
select r.id as run, r.workspace, r.state, count(*) as candidates,
    min(c.n) filter (where c.verdict = 'pass') as passed_at,
    (array_agg(c.verdict order by c.n))[1] as first_verdict,
    (array_agg(c.verdict order by c.n desc))[1] as last_verdict,
    extract(epoch from max(c.at) - min(c.at))::numeric(12, 3) as seconds,
    min(c.at) as at
from run r join candidate c on c.run = r.id
group by r.id;
comment on view v_heal_attempts is 'How many candidates did a run need, and which of them passed? One row for each run that has candidates.';
comment on column v_heal_attempts.candidates is 'Candidates that were judged, those that other candidates were chosen over included';
comment on column v_heal_attempts.passed_at is 'Number of the first one that passed, 1 when nothing had to be mended; null for none';
comment on column v_heal_attempts.first_verdict is 'How the first was judged';
comment on column v_heal_attempts.last_verdict is 'How the last was judged';
comment on column v_heal_attempts.seconds is 'Between the judgements of the first and the last';
comment on column v_heal_attempts.at is 'When the first was recorded';

-- The text is that of the repetition, see flaky in package verify.
create view v_flaky as
select r.workspace, t.test, f.file,
    count(*) as seen,
    sum(t.failed) as failed,
    sum(t.times) as times,
    (sum(t.failed) / nullif(sum(t.times), 0))::numeric(6, 4) as rate,
    max(c.at) as last,
    (array_agg(f.run order by c.at desc, f.run desc))[1] as last_run
from finding f
join candidate c on c.run = f.run and c.n = f.candidate
join run r on r.id = f.run
cross join lateral (
    select m[1] as test, m[2]::numeric as failed, m[3]::numeric as times
    from regexp_match(f.message, '^(.*?): flaky: failed (\d{1,9}) of (\d{1,9}) times before the patch') m
    where m is not null
) t
where f.old and f.message like '%: flaky: failed %'
group by 1, 2, 3;
comment on view v_flaky is 'Which tests fail by chance? One row for each test of a workspace that failed with a patch and, repeated, also without it.';
comment on column v_flaky.test is 'The test, as its runner names it';
comment on column v_flaky.file is 'File that it failed in';
comment on column v_flaky.seen is 'Candidates that were excused for it';
comment on column v_flaky.failed is 'Repetitions without the patch that failed';
comment on column v_flaky.times is 'Repetitions without the patch';
comment on column v_flaky.rate is 'failed / times, from 0 to 1';
comment on column v_flaky.last is 'When the last of them was recorded';
comment on column v_flaky.last_run is 'The last run that met it';

create view v_cost_per_promoted as
select c.model,
    count(distinct c.run) as runs,
    count(distinct c.run) filter (where c.promoted) as promoted,
    count(*) as calls,
    sum(c.tokens_in + c.tokens_out) as tokens,
    sum(c.cost) as cost,
    count(*) filter (where c.cost is null) as unpriced,
    (sum(c.tokens_in + c.tokens_out) / nullif(count(distinct c.run) filter (where c.promoted), 0))::numeric(20, 1) as tokens_per_promoted,
    (sum(c.cost) / nullif(count(distinct c.run) filter (where c.promoted), 0))::numeric(20, 6) as cost_per_promoted
from (
    select c.vendor || '/' || c.model as model, c.run, c.tokens_in, c.tokens_out, c.cost, v.promoted
    from v_model_calls c left join v_runs v on v.run = c.run
) c
group by c.model;
comment on view v_cost_per_promoted is 'What does a promoted run cost, what came to nothing included? One row for each model.';
comment on column v_cost_per_promoted.model is 'As vendor/model';
comment on column v_cost_per_promoted.runs is 'Runs that asked it';
comment on column v_cost_per_promoted.promoted is 'Those among them whose files were written';
comment on column v_cost_per_promoted.calls is 'Requests to it, of whatever run and outcome; v_model_calls lists them';
comment on column v_cost_per_promoted.tokens is 'Tokens of all questions and answers';
comment on column v_cost_per_promoted.cost is 'Of the requests whose price is known, in the currency of the prices; null when none is';
comment on column v_cost_per_promoted.unpriced is 'Requests whose price is not known';
comment on column v_cost_per_promoted.tokens_per_promoted is 'tokens / promoted, null when none was promoted';
comment on column v_cost_per_promoted.cost_per_promoted is 'cost / promoted, null when none was promoted or no price is known';

-- A state may be entered twice in a row: when another process took the run over, and with each request that left
-- a box. A wait begins with the first of such rows and ends with the next other one.
create view v_human_latency as
select w.run, r.workspace, w.at as asked, w.until as answered,
    extract(epoch from coalesce(w.until, statement_timestamp()) - w.at)::numeric(12, 3) as seconds,
    w.then, p.approved_by
from (
    select s.run, s.at, s.state, lead(s.at) over later as until, lead(s.state) over later as "then"
    from (
        select s.run, s.n, s.at, s.state, s.state is distinct from lag(s.state) over (partition by s.run order by s.n) as entered
        from run_state s
    ) s
    where s.entered
    window later as (partition by s.run order by s.n)
) w join run r on r.id = w.run left join promotion p on p.run = w.run
where w.state = 'awaiting_approval';
comment on view v_human_latency is 'How long did a proven change wait for its answer, and what was it? One row for each wait.';
comment on column v_human_latency.asked is 'When the run began to wait';
comment on column v_human_latency.answered is 'When it went on, null while it waits';
comment on column v_human_latency.seconds is 'How long it waited, or has waited so far';
comment on column v_human_latency.then is 'State that followed, null while it waits';
comment on column v_human_latency.approved_by is 'Who let it pass: the terminal for a person, a flag for a policy, which takes no time; null when it was not written';

create view v_reverted as
select p.run, r.workspace, r.intent, p.at as promoted, u.at as undone, u.run as undone_by, u.approved_by,
    extract(epoch from u.at - p.at)::numeric(14, 3) as stood_seconds,
    (select count(*) from promotion_file f where f.run = p.run) as files,
    (select min(a.run) from promotion a where a.undo_of = u.run and a.status = 'committed') as redone_by
from promotion p join run r on r.id = p.run
join promotion u on u.undo_of = p.run and u.status = 'committed'
where p.undo_of is null;
comment on view v_reverted is 'Which promotions were taken back, when, and how long had they stood? One row for each.';
comment on column v_reverted.promoted is 'When the files were written';
comment on column v_reverted.undone is 'When they were put back';
comment on column v_reverted.undone_by is 'Run that put them back';
comment on column v_reverted.approved_by is 'Who let that pass';
comment on column v_reverted.stood_seconds is 'Seconds between the two';
comment on column v_reverted.files is 'Number of files; v_promotion_files lists them';
comment on column v_reverted.redone_by is 'Run that took the undoing back, null when none did';

create view v_policy_hits as
select h.run, h.candidate, h.source, h.kind, h.path, h.reason, h.blocks, h.at, r.workspace, r.state, p.approved_by
from (
    select c.run, c.n as candidate, 'hold' as source, h ->> 'kind' as kind, nullif(h ->> 'path', '') as path, h ->> 'reason' as reason,
        coalesce(h -> 'block' = 'true', false) as blocks, c.at
    from candidate c cross join lateral jsonb_path_query(c.holds, 'lax $[*]') h
    where jsonb_typeof(c.holds) = 'array'
    union all
    select g.run, g.candidate, 'gate', coalesce(nullif(f.rule, ''), g.name), nullif(f.file, ''), coalesce(f.message, g.detail), true, c.at
    from gate g join candidate c on c.run = g.run and c.n = g.candidate
    left join finding f on f.run = g.run and f.candidate = g.candidate and f.gate = g.n and not f.old
    where g.verdict = 'policy'
) h join run r on r.id = h.run left join promotion p on p.run = h.run and p.status = 'committed';
comment on view v_policy_hits is 'Which changes did a rule hold for a person to see, and were they let through? One row for each.';
comment on column v_policy_hits.source is 'hold for a rule about files, gate for one about what is proved';
comment on column v_policy_hits.kind is 'Kind of the hold, as --allow takes it, or rule of the gate''s finding';
comment on column v_policy_hits.path is 'File that it is about, null for none';
comment on column v_policy_hits.reason is 'A sentence for the person who decides';
comment on column v_policy_hits.blocks is 'True when nothing is written without approval, false when it is only shown';
comment on column v_policy_hits.approved_by is 'Who let the run pass, null when nothing was written';

create view v_resource_peaks as
select r.workspace, g.name as gate,
    count(*) as times,
    max(g.peak_bytes) as peak_bytes,
    (percentile_cont(0.95) within group (order by g.peak_bytes))::numeric(20, 0) as p95_bytes,
    max(g.seconds)::numeric(12, 3) as longest,
    count(*) filter (where g.verdict = 'oom') as ooms,
    count(*) filter (where g.verdict = 'timeout') as timeouts,
    (array_agg(g.run order by g.peak_bytes desc, g.run desc))[1] as peak_run
from gate g join run r on r.id = g.run
group by r.workspace, g.name;
comment on view v_resource_peaks is 'How much memory and time do the gates of a workspace need at most? One row for each gate.';
comment on column v_resource_peaks.times is 'How often it judged';
comment on column v_resource_peaks.peak_bytes is 'The most memory that its box held';
comment on column v_resource_peaks.p95_bytes is '95 of 100 times held no more';
comment on column v_resource_peaks.longest is 'The longest time, in seconds';
comment on column v_resource_peaks.ooms is 'Times it ran out of memory';
comment on column v_resource_peaks.timeouts is 'Times it ran out of time';
comment on column v_resource_peaks.peak_run is 'Run with the most memory, to look at';

-- A heartbeat of more than 90 s is that of a dead process, see orphanAfter in orchestrator/run.
create view v_stuck as
select r.id as run, r.workspace, r.state, r.owner,
    case when r.state = 'awaiting_approval' and not o.silent then 'approval' else 'silent' end as why,
    s.since,
    extract(epoch from statement_timestamp() - s.since)::numeric(14, 3) as seconds,
    case when r.state = 'awaiting_approval' and not o.silent then 'answer at its terminal'
        else 'any command on the host of its process settles it, if that is dead' end as next_step
from run r
cross join lateral (select r.beat < statement_timestamp() - interval '90 seconds' as silent) o
cross join lateral (
    select case when o.silent then r.beat else (
        select min(s.at) from run_state s where s.run = r.id and s.n > coalesce(
            (select max(b.n) from run_state b where b.run = r.id and b.state <> r.state), 0)) end as since
) s
where r.ended is null and (r.state = 'awaiting_approval' or o.silent);
comment on view v_stuck is 'Which runs do not go on by themselves, since when, and what helps? One row for each.';
comment on column v_stuck.owner is 'Process that works on it: host, boot, process and its start';
comment on column v_stuck.why is 'approval: it waits for a person; silent: its process has given no sign of life for 90 s';
comment on column v_stuck.since is 'When the wait began, or its process was last heard of';
comment on column v_stuck.seconds is 'How long ago that is';
comment on column v_stuck.next_step is 'What to do';

create view v_leaks as
select l.kind, l.run, l.what, l.since
from (
    select 'promotion' as kind, p.run, 'prepared and never ended: the workspace ' || r.workspace || ' may hold its journal' as what, p.at as since
    from promotion p join run r on r.id = p.run
    where p.status = 'prepared' and (r.ended is not null or r.beat < statement_timestamp() - interval '90 seconds')
    union all
    select 'lease', r.id, 'its process is silent: ' || r.owner, r.beat
    from run r where r.ended is null and r.beat < statement_timestamp() - interval '90 seconds'
    union all
    select 'request', coalesce(r.id, i.run), 'request ' || c.id || ' to ' || c.vendor || '/' || c.model || ' never ended and counts as spent', c.begun
    from model_call c left join run r on r.id = c.run left join iteration i on i.id = c.run
    where c.ended is null and (r.ended is not null or c.begun < statement_timestamp() - interval '1 hour')
    union all
    select 'box', g.run, g.detail, c.at
    from gate g join candidate c on c.run = g.run and c.n = g.candidate
    where g.detail like '%close the box of %'
) l;
comment on view v_leaks is 'What did runs leave behind that the record knows of? One row for each; `agent sandbox ls` shows what is left on the engine, `agent db prune --dry-run` what of the record nothing refers to.';
comment on column v_leaks.kind is 'promotion, lease, request or box';
comment on column v_leaks.run is 'Run that left it';
comment on column v_leaks.what is 'What it is, and what it means';
comment on column v_leaks.since is 'When it was last seen in order';

{{ template "shared/reader.sql" . }}
