-- What models were asked and what it cost, and what a run leaves to those
-- after it: memory, the cascade queue, iterations, symbols and proposals.
-- Nothing here refers to a run by a foreign key: a call is paid for and a
-- memory is learnt also when the run is removed by hand.

-- Plans are kept as json, not jsonb: word for word, escapes of NUL included,
-- since a replay that asks in other words finds no answer.
alter table run
    add column plan json, -- what the run sets out to do
    add column iteration text, -- the iteration of the loop that it belongs to
    add column directive text; -- the order of DIRECTIVES.md that its plan is for
create index run_iteration on run (iteration) where iteration is not null;
create index run_directive on run (workspace) where directive is not null;

-- The same shape of a finding everywhere: see verify.Finding. An empty help is
-- that of a rule whose page is not known.
alter table finding
    add column fixable boolean not null default false,
    add column help text not null default '',
    add column old boolean not null default false; -- it was there before the patch

-- One row for each request. It holds the identifier of a key, never a key.
create table model_call (
    id             bigint      generated always as identity primary key,
    op             uuid        not null unique, -- a retry of the insert whose answer was lost finds its row by it
    end_op         uuid,                        -- and a retry of the end knows itself by this one
    run            text        not null,        -- a run, or the iteration that the call was made for
    step           text        not null,
    attempt        integer     not null,
    vendor         text        not null,
    model          text        not null,
    key_id         text        not null,
    purpose        text        not null,
    template       text        not null,
    digest         text        not null,
    request        bytea       not null, -- JSON, byte for byte
    answer         bytea       not null default '', -- the text, byte for byte
    version        text        not null default '',
    tokens_in      bigint      not null, -- until the end, these five are what the request may cost
    in_estimated   boolean     not null,
    tokens_out     bigint      not null,
    out_estimated  boolean     not null,
    tokens_cached  bigint      not null,
    tokens_reason  bigint      not null,
    cost           bigint      not null, -- in millionths of the currency of the prices
    priced         boolean     not null,
    duration       bigint      not null, -- microseconds
    kind           text        constraint model_call_kind_check check (kind in (
        'quota', 'rate_limit', 'auth', 'balance', 'network', 'refused', 'overloaded', 'malformed', 'truncated',
        'missing', 'invalid', 'unknown', 'cancelled')), -- null: an answer, or not ended
    detail         text        not null default '',
    begun          timestamptz not null,
    ended          timestamptz
);
create index model_call_find on model_call (run, step, digest, id);
create index model_call_begun on model_call (begun);

-- What is known about a key moves one way only. The collation is that of Go,
-- in which the later of two reasons is the same in every locale.
create table model_key (
    vendor  text        not null,
    key_id  text        not null,
    used    timestamptz,
    until   timestamptz,
    reason  text        collate "C" constraint model_key_reason_check check (reason in (
        'quota', 'rate_limit', 'auth', 'balance', 'network', 'refused', 'overloaded', 'malformed', 'truncated',
        'missing', 'invalid', 'unknown')),
    retired text        collate "C" constraint model_key_retired_check check (retired in (
        'quota', 'rate_limit', 'auth', 'balance', 'network', 'refused', 'overloaded', 'malformed', 'truncated',
        'missing', 'invalid', 'unknown')),
    primary key (vendor, key_id)
);

-- Every version of a memory stays: a bad merge can be looked at.
create table memory (
    workspace text        not null,
    iteration integer     not null check (iteration > 0),
    op        uuid        not null,
    run       text        not null,
    text      text        not null,
    at        timestamptz not null default clock_timestamp(),
    primary key (workspace, iteration)
);

create table cascade (
    id        bigint      generated always as identity primary key,
    workspace text        not null,
    path      text        not null,
    because   text        not null,
    diff      text        not null,
    runs      text[]      not null,
    queued    timestamptz not null default clock_timestamp(),
    served    timestamptz,
    served_by text,
    constraint cascade_served_check check ((served is null) = (served_by is null))
);
create unique index cascade_waiting on cascade (workspace, path) where served is null;
create index cascade_path on cascade (workspace, path);

create table iteration (
    id        text        primary key check (length(id) between 1 and 64),
    workspace text        not null,
    n         integer     not null check (n > 0),
    owner     text        not null, -- the process that works on it
    loop      text        not null, -- the loop that it belongs to: the first iteration's id
    goal      text        not null,
    "order"   json        not null, -- what the loop was told, and how far it was
    fence     text        not null,
    plan      json,
    run       text,
    phase     text        not null constraint iteration_phase_check check (phase in ('work', 'learn', 'settled')),
    outcome   text        not null,
    session   text        not null, -- what happened, as the memory was told
    started   timestamptz not null,
    unique (workspace, n)
);
-- Two loops on one workspace would work against each other.
create unique index iteration_open on iteration (workspace) where phase <> 'settled';
create index iteration_run on iteration (run) where run is not null;
create index iteration_loop on iteration (loop);

-- The files of the ledger, as the scanner described them. What another scanner
-- found is no measure for what this one finds: hence its name.
create table symbol_file (
    workspace text not null,
    path      text not null,
    scanner   text not null,
    sha256    text not null,
    doc       jsonb not null,
    language  text generated always as (doc ->> 'language') stored,
    primary key (workspace, path)
);

-- What a model said of a file, or for the empty path of the project. It holds
-- for the content with that digest.
create table summary (
    workspace text not null,
    path      text not null,
    sha256    text not null,
    text      text not null,
    model     text not null,
    at        timestamptz not null default clock_timestamp(),
    primary key (workspace, path)
);

create table proposal (
    id        bigint      generated always as identity primary key,
    op        uuid        not null unique,
    workspace text        not null,
    kind      text        not null constraint proposal_kind_check check (kind in (
        'PEER_REVIEW', 'FEATURE', 'FAILED_PEER_REVIEW', 'FAILED_FEATURE')),
    path      text        not null,
    goal      text        not null,
    text      text        not null,
    patch     bytea,      -- in git's form, byte for byte
    reason    text        not null,
    run       text,
    state     text        not null default 'open' constraint proposal_state_check check (state in ('open', 'done', 'dropped')),
    at        timestamptz not null default clock_timestamp()
);
create index proposal_workspace on proposal (workspace, id);

create or replace view v_gates as
select g.run, g.candidate, g.n, g.name as gate, g.verdict, g.seconds,
    (select count(*) from finding f where (f.run, f.candidate, f.gate) = (g.run, g.candidate, g.n) and not f.old) as findings,
    g.old, g.fixed, g.tool, g.peak_bytes, g.detail, g.output
from gate g;
comment on column v_gates.old is 'Findings that were there before and are not held against the patch; v_findings lists the first 100';

create or replace view v_findings as
select f.run, f.candidate, g.name as gate, f.file, f.line, f.col, f.rule, f.message, f.source,
    f.old, f.fixable, nullif(f.help, '') as help
from finding f join gate g on (g.run, g.candidate, g.n) = (f.run, f.candidate, f.gate);
comment on view v_findings is 'What exactly did a gate have against a patch, and what was there before it? One row for each finding.';
comment on column v_findings.line is 'From 1, 0 when the finding belongs to no line';
comment on column v_findings.col is 'Column of the line, from 1, 0 when the tool names none';
comment on column v_findings.old is 'True when it was there before the patch and is not held against it; the first 100 of a gate are listed';
comment on column v_findings.fixable is 'True when the tool offers a repair that does not change what the program does';
comment on column v_findings.help is 'Address of what the tool''s makers say of the rule, null when none is known';

create view v_model_calls as
select c.id as call,
    coalesce(r.id, i.run) as run,
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
from model_call c left join run r on r.id = c.run left join iteration i on i.id = c.run;
comment on view v_model_calls is 'What was each model asked for, by which run, and what did it cost? One row for each request, without its texts.';
comment on column v_model_calls.call is 'Number of the request, in the order in which they were begun';
comment on column v_model_calls.run is 'Run that asked; of a request that an iteration made, the last run of it';
comment on column v_model_calls.iteration is 'Iteration of the loop, null outside of one';
comment on column v_model_calls.step is 'Place in the run, such as propose/2';
comment on column v_model_calls.attempt is 'Number of the request among those for one question, from 1';
comment on column v_model_calls.purpose is 'What the question was for, such as propose or heal';
comment on column v_model_calls.template is 'Digest of the template of the prompt, empty for none';
comment on column v_model_calls.key_id is 'First digits of the SHA-256 of the key, null for a vendor that needs none';
comment on column v_model_calls.tokens_in is 'Tokens of the question, cached ones included';
comment on column v_model_calls.tokens_out is 'Tokens of the answer, reasoning included';
comment on column v_model_calls.estimated is 'True when the vendor did not count all of the tokens, or the request did not end';
comment on column v_model_calls.cost is 'In the currency of the prices, null when the price is not known; an estimate until the request ends';
comment on column v_model_calls.error_kind is 'Why there was no answer, null for an answer and while the request is under way';
comment on column v_model_calls.ended is 'Null while the request is under way, and for ever if the process died';

create view v_model_keys as
select k.vendor,
    nullif(k.key_id, '') as key_id,
    case when k.retired is not null then 'retired' when k.until > clock_timestamp() then 'resting' else 'ready' end as state,
    k.used, k.until, k.reason, k.retired
from model_key k;
comment on view v_model_keys is 'Which keys are in use, which rest and until when, and which are not used again? One row for each key.';
comment on column v_model_keys.key_id is 'First digits of the SHA-256 of the key, null for a vendor that needs none';
comment on column v_model_keys.state is 'ready, resting or retired, by the clock of the database';
comment on column v_model_keys.used is 'When it was last chosen, null for never';
comment on column v_model_keys.until is 'End of its last rest, null when it never rested';
comment on column v_model_keys.reason is 'Kind of error that made it rest';
comment on column v_model_keys.retired is 'Kind of error after which it is not used again, null while it is';

create view v_memory as
select m.workspace, m.iteration, m.run, m.at, m.text,
    m.iteration = max(m.iteration) over (partition by m.workspace) as current
from memory m;
comment on view v_memory is 'What did the iterations learn about a workspace, and what did each change of it? One row for each version.';
comment on column v_memory.iteration is 'Number of the merge, from 1';
comment on column v_memory.run is 'Run whose work was merged';
comment on column v_memory.current is 'True for the version that prompts show';

create view v_cascade as
select c.workspace, c.path,
    case when c.served is null then row_number() over (partition by c.workspace, c.served is null order by c.id) end as place,
    c.because, c.runs, c.queued, c.served, c.served_by, c.diff
from cascade c;
comment on view v_cascade is 'Which files use something that changed and wait to be looked at, and why? One row for each wait.';
comment on column v_cascade.place is 'Place in the queue of the workspace, from 1; null when it was served';
comment on column v_cascade.because is 'Changes that concern the file, one a line';
comment on column v_cascade.runs is 'Runs that made these changes; a name that begins with edit- stands for edits of the user''s own';
comment on column v_cascade.served_by is 'Run that attended to it, null while it waits';
comment on column v_cascade.diff is 'What these runs changed';

create view v_iterations as
select i.id as iteration, i.workspace, i.loop, i.n, i.phase, nullif(i.goal, '') as goal, i.run, nullif(i.outcome, '') as outcome, nullif(i.session, '') as session, i.started,
    (select count(*) from run r where r.iteration = i.id) as runs,
    c.calls, c.cost
from iteration i cross join lateral (
    select count(*) as calls, (coalesce(sum(m.cost), 0) / 1000000.0)::numeric(20, 6) as cost
    from model_call m where m.run in (select i.id union all select r.id from run r where r.iteration = i.id)
) c;
comment on view v_iterations is 'What did each round of the loop choose, and what came of it? One row for each iteration.';
comment on column v_iterations.loop is 'Iterations of one loop have the same, that of its first';
comment on column v_iterations.n is 'Number in its workspace, from 1';
comment on column v_iterations.phase is 'Next thing to do: work, learn, or settled when nothing is left';
comment on column v_iterations.run is 'Last run of the iteration, null before it began';
comment on column v_iterations.outcome is 'How the run ended, or why there was none';
comment on column v_iterations.session is 'What happened in a few lines, as the memory was told';
comment on column v_iterations.runs is 'Number of runs';
comment on column v_iterations.calls is 'Requests to models, of the iteration and its runs; v_model_calls lists them';
comment on column v_iterations.cost is 'Of the requests whose price is known, in the currency of the prices';

-- The diff is that of the candidate whose files were promoted: of several
-- that passed only one was, and a promotion names none.
create view v_history as
select p.run, r.workspace, p.at, r.intent, p.approved_by, f.files,
    array_to_string(f.paths[1:3], ', ') || case when f.files > 3 then format(' and %s more', f.files - 3) else '' end as path,
    coalesce(d.diff, '') as diff
from promotion p join run r on r.id = p.run
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
where p.status = 'committed' and p.undo_of is null and r.state not in ('rejected', 'conflict', 'failed', 'cancelled')
    and not exists (select from promotion u where u.undo_of = p.run and u.status = 'committed');
comment on view v_history is 'What was changed in a workspace and stands? One row for each promotion that was not undone.';
comment on column v_history.at is 'When the files were written';
comment on column v_history.files is 'Number of files; v_promotion_files lists them';
comment on column v_history.path is 'The files, the first three by name';
comment on column v_history.diff is 'The change, as git writes it';

create view v_proposals as
select p.id as proposal, p.workspace, p.kind, p.state, nullif(p.path, '') as path, nullif(p.goal, '') as goal, p.text,
    octet_length(p.patch) as patch_bytes, nullif(p.reason, '') as reason, p.run, p.at
from proposal p;
comment on view v_proposals is 'Which changes were proposed but not made, and what became of them? One row for each proposal.';
comment on column v_proposals.kind is 'What it is; a kind that begins with FAILED was tried and did not pass';
comment on column v_proposals.state is 'open while somebody has to decide, else done or dropped';
comment on column v_proposals.path is 'File that it is about, null for none';
comment on column v_proposals.goal is 'What it is for, in the words of a person; null for none';
comment on column v_proposals.patch_bytes is 'Size of the change in the form of git, null for a proposal without one';
comment on column v_proposals.reason is 'Why it was made, or why it did not pass';
comment on column v_proposals.run is 'Run that proposed or tried it, null for none';

-- An order was attended to by a run that changed something for it, and by one
-- that was turned down; a question that was never sent is no attempt.
create view v_directives as
select r.workspace, r.directive, r.id as run, r.state, r.started,
    coalesce(p.status = 'committed', false)
        or r.state = 'rejected' and (r.verdict is distinct from 'policy' or exists (select from candidate c where c.run = r.id)) as attended
from run r left join promotion p on p.run = r.id
where r.directive is not null;
comment on view v_directives is 'Which orders of .agent/DIRECTIVES.md were taken up, and what came of them? One row for each run.';
comment on column v_directives.directive is 'The order as it stood in the file, white space collapsed';
comment on column v_directives.attended is 'True when it is not taken up again until its text changes';

-- The documents come from a scan of files that may hold anything: whatever
-- has another shape than a definition is passed over, not an error.
create view v_symbols as
select s.workspace, s.path, s.language,
    d ->> 'name' as name,
    d ->> 'kind' as kind,
    nullif(d ->> 'parent', '') as parent,
    case when jsonb_typeof(d -> 'line') = 'number' then (d -> 'line')::numeric end as line,
    d ->> 'signature' as signature
from symbol_file s cross join lateral jsonb_path_query(s.doc, 'lax $.definitions[*]') d
where d ->> 'name' is not null;
comment on view v_symbols is 'Where is a function, class or constant of a workspace defined? One row for each definition.';
comment on column v_symbols.kind is 'function, method, class, constant and so on';
comment on column v_symbols.parent is 'What it is defined in, such as the class of a method; null for none';
comment on column v_symbols.line is 'First line of the definition, from 1';

create view v_analysis as
select coalesce(f.workspace, s.workspace) as workspace,
    nullif(coalesce(f.path, s.path), '') as path,
    f.language,
    case when jsonb_typeof(f.doc -> 'lines') = 'number' then (f.doc -> 'lines')::numeric end as lines,
    case when jsonb_typeof(f.doc -> 'definitions') = 'array' then jsonb_array_length(f.doc -> 'definitions') else 0 end as definitions,
    coalesce(nullif(s.text, ''), nullif(f.doc ->> 'summary', '')) as summary,
    s.model as described_by,
    s.sha256 is distinct from f.sha256 and s.path <> '' as outdated,
    nullif(f.doc ->> 'problem', '') as problem
from symbol_file f full join summary s on s.workspace = f.workspace and s.path = f.path;
comment on view v_analysis is 'What is each file of a workspace, and the whole, for? One row for each file, and one for the project once a model described it.';
comment on column v_analysis.path is 'The file, null for the project';
comment on column v_analysis.lines is 'Number of lines, null for a file that was not read';
comment on column v_analysis.definitions is 'Number of functions, classes and so on; v_symbols lists them';
comment on column v_analysis.summary is 'Words of a model, or else the first line of the file''s own description';
comment on column v_analysis.described_by is 'Model whose words the summary is, null for none';
comment on column v_analysis.outdated is 'True when the file changed since a model described it, null when none did';
comment on column v_analysis.problem is 'Why the file was not read in full, null when it was';

{{ template "shared/reader.sql" . }}
