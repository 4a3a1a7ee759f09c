-- The record: what every run was asked, tried, found and wrote. Names of
-- states, verdicts, operations and statuses are constrained here; which state
-- may follow which is decided in one place, the table in orchestrator/run.

create table run (
    id            text        primary key check (length(id) between 1 and 64),
    last_op       uuid        not null, -- the write that came last: a retry whose answer was lost knows itself by it
    workspace     text        not null,
    intent        text        not null,
    patch         bytea,
    owner         text        not null,
    token         bigint      not null constraint run_token_check check (token > 0),
    state         text        not null constraint run_state_check check (state in (
        'queued', 'analyzing', 'planning', 'proposing', 'verifying', 'awaiting_approval', 'promoting', 'promoted',
        'pr_open', 'self_review', 'ci_watch', 'reviewing', 'done', 'rejected', 'conflict', 'failed', 'cancelled')),
    snapshot      text,
    started       timestamptz not null,
    created       timestamptz not null default clock_timestamp(),
    beat          timestamptz not null default clock_timestamp(),
    ended         timestamptz,
    verdict       text        constraint run_verdict_check check (verdict in (
        'pass', 'fail', 'policy', 'timeout', 'oom', 'infra', 'conflict', 'cancelled', 'budget')),
    exit_code     integer,
    error_kind    text,
    error_message text,
    error_next    text,
    constraint run_ended_check check (ended is null or state in (
        'promoted', 'done', 'rejected', 'conflict', 'failed', 'cancelled'))
);
create index run_workspace on run (workspace, created desc);
create index run_created on run (created desc);
create index run_unfinished on run (created) where ended is null;

-- A late writer is harmless: the token never falls, and a run that has ended
-- stays as it is, unless a promoted one goes on to the forge.
create function run_guard() returns trigger language plpgsql as $$
begin
    if new.token < old.token then
        raise exception 'fencing token of run % may not fall', old.id using errcode = 'check_violation';
    end if;
    if old.ended is not null and new.state <> old.state
        and not (old.state = 'promoted' and new.state in ('pr_open', 'done')) then
        raise exception 'run % ended as %', old.id, old.state using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger run_guard before update on run for each row execute function run_guard();

create table run_state (
    run   text        not null references run on delete cascade,
    n     integer     not null check (n > 0),
    state text        not null constraint run_state_state_check check (state in (
        'queued', 'analyzing', 'planning', 'proposing', 'verifying', 'awaiting_approval', 'promoting', 'promoted',
        'pr_open', 'self_review', 'ci_watch', 'reviewing', 'done', 'rejected', 'conflict', 'failed', 'cancelled')),
    note  text        not null default '',
    token bigint      not null,
    at    timestamptz not null default clock_timestamp(),
    primary key (run, n)
);

-- Content is kept once, whoever refers to it.
create table blob (
    sha256  text  primary key check (sha256 ~ '^[0-9a-f]{64}$'),
    content bytea not null
);

create table candidate (
    run     text        not null references run on delete cascade,
    n       integer     not null check (n > 0),
    verdict text        not null constraint candidate_verdict_check check (verdict in (
        'pass', 'fail', 'policy', 'timeout', 'oom', 'infra', 'conflict', 'cancelled', 'budget')),
    digest  text        not null,
    diff    text        not null,
    thought text        not null,
    edits   jsonb       not null,
    skipped jsonb       not null,
    holds   jsonb       not null,
    at      timestamptz not null default clock_timestamp(),
    primary key (run, n)
);

create table candidate_file (
    run           text    not null,
    candidate     integer not null,
    path          text    not null,
    op            text    not null constraint candidate_file_op_check check (op in ('create', 'modify', 'delete', 'rename')),
    from_path     text,
    mode          integer not null check (mode between 0 and 511),
    old_mode      integer not null default 0 check (old_mode between 0 and 511), -- 0: the change leaves the bits alone
    before_sha256 text    references blob,
    after_sha256  text    references blob,
    primary key (run, candidate, path),
    foreign key (run, candidate) references candidate on delete cascade
);

create table gate (
    run        text             not null,
    candidate  integer          not null,
    n          integer          not null check (n > 0),
    name       text             not null,
    verdict    text             not null constraint gate_verdict_check check (verdict in (
        'pass', 'fail', 'policy', 'timeout', 'oom', 'infra', 'conflict', 'cancelled', 'budget')),
    seconds    double precision not null,
    old        integer          not null,
    fixed      integer          not null,
    detail     text             not null,
    output     text             not null,
    tool       text             not null,
    peak_bytes bigint           not null,
    primary key (run, candidate, n),
    foreign key (run, candidate) references candidate on delete cascade
);

create table finding (
    run       text    not null,
    candidate integer not null,
    gate      integer not null,
    n         integer not null check (n > 0),
    file      text    not null,
    line      integer not null,
    col       integer not null,
    rule      text    not null,
    message   text    not null,
    source    text    not null,
    primary key (run, candidate, gate, n),
    foreign key (run, candidate, gate) references gate on delete cascade
);
create index finding_rule on finding (rule);

create table promotion (
    run         text        primary key references run on delete cascade,
    status      text        not null constraint promotion_status_check check (status in (
        'prepared', 'committed', 'rolled_back')),
    undo_of     text        references run,
    approved_by text        not null,
    created     timestamptz not null default clock_timestamp(),
    at          timestamptz not null default clock_timestamp()
);
create index promotion_undo_of on promotion (undo_of) where undo_of is not null;

create table promotion_file (
    run           text    not null references promotion on delete cascade,
    path          text    not null,
    op            text    not null constraint promotion_file_op_check check (op in ('create', 'modify', 'delete', 'rename')),
    from_path     text,
    mode          integer not null check (mode between 0 and 511),
    old_mode      integer not null default 0 check (old_mode between 0 and 511), -- 0: the change leaves the bits alone
    before_sha256 text    references blob,
    after_sha256  text    references blob,
    primary key (run, path)
);
create index promotion_file_path on promotion_file (path);

-- Results that stay true: baselines and proofs of gates. Not evidence: it may be emptied at any time.
create table cache (
    key  text        primary key,
    data bytea       not null,
    used timestamptz not null default clock_timestamp()
);

create view v_runs as
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
    (select min(u.run) from promotion u where u.undo_of = r.id and u.status = 'committed') as undone_by
from run r left join promotion p on p.run = r.id;
comment on view v_runs is 'What was asked, and how did it end? One row for each run.';
comment on column v_runs.run is 'Identifier, sorted by time; the other views join on it';
comment on column v_runs.state is 'Where the run stands; promoted, done, rejected, conflict, failed and cancelled are ends';
comment on column v_runs.verdict is 'How the run was judged, null while it goes on; infra is never the fault of the patch';
comment on column v_runs.seconds is 'How long the run took, or has taken so far, by the clock of the database';
comment on column v_runs.exit_code is 'What the command returned to the shell';
comment on column v_runs.error is 'Kind of the error and what happened, null when there was none';
comment on column v_runs.next_step is 'What the user was advised to do';
comment on column v_runs.snapshot is 'Digest of the manifest of the workspace that was judged';
comment on column v_runs.owner is 'Process that works or worked on it: host, boot, process and its start';
comment on column v_runs.promoted is 'True when the files of the workspace were written';
comment on column v_runs.undone_by is 'Run that took the promotion back, null when none did';

create view v_states as
select s.run, s.n, s.state, s.note, s.at,
    greatest(extract(epoch from lead(s.at) over (partition by s.run order by s.n) - s.at), 0)::numeric(12, 3) as seconds
from run_state s;
comment on view v_states is 'Which states did a run go through, when and why? One row for each transition, in order of n.';
comment on column v_states.seconds is 'How long the run stayed in the state, null for the last one';

create view v_gates as
select g.run, g.candidate, g.n, g.name as gate, g.verdict, g.seconds,
    (select count(*) from finding f where (f.run, f.candidate, f.gate) = (g.run, g.candidate, g.n)) as findings,
    g.old, g.fixed, g.tool, g.peak_bytes, g.detail, g.output
from gate g;
comment on view v_gates is 'Which verification steps ran on a candidate, how long did they take and what did they say?';
comment on column v_gates.candidate is 'Number of the candidate in its run, from 1';
comment on column v_gates.n is 'Order of the gate in its candidate, from 1';
comment on column v_gates.findings is 'Findings that the patch brought; v_findings lists them';
comment on column v_gates.old is 'Findings that were there before and are not held against the patch';
comment on column v_gates.fixed is 'Findings of the unpatched snapshot that are gone';
comment on column v_gates.tool is 'Program and version that judged';
comment on column v_gates.output is 'End of what the tool or program wrote';

create view v_findings as
select f.run, f.candidate, g.name as gate, f.file, f.line, f.col, f.rule, f.message, f.source
from finding f join gate g on (g.run, g.candidate, g.n) = (f.run, f.candidate, f.gate);
comment on view v_findings is 'What exactly did a gate have against a patch? One row for each new finding.';
comment on column v_findings.file is 'Path in the workspace, empty when the finding belongs to no file';
comment on column v_findings.rule is 'Code of the tool, such as F821';
comment on column v_findings.source is 'Line of the file, without its indentation';

create view v_promotions as
select p.run, p.status, p.undo_of, p.approved_by, p.at, r.workspace, r.intent,
    (select count(*) from promotion_file f where f.run = p.run) as files
from promotion p join run r on r.id = p.run;
comment on view v_promotions is 'What was written to a workspace, when, and who let it pass? One row for each promotion.';
comment on column v_promotions.status is 'prepared (journal written), committed (files written) or rolled_back (files put back)';
comment on column v_promotions.undo_of is 'Run whose promotion this one reversed, null for none';
comment on column v_promotions.approved_by is 'The flag, the terminal or the policy that decided';
comment on column v_promotions.at is 'When it reached its status';
comment on column v_promotions.files is 'Number of files; v_promotion_files lists them';

create view v_promotion_files as
select f.run, f.path, f.op, f.from_path, format('0%s%s%s', f.mode >> 6 & 7, f.mode >> 3 & 7, f.mode & 7) as mode, f.before_sha256, f.after_sha256
from promotion_file f;
comment on view v_promotion_files is 'Which files did a promotion change, from which content to which?';
comment on column v_promotion_files.from_path is 'Old path of a rename, else null';
comment on column v_promotion_files.mode is 'Permission bits afterwards, in octal';
comment on column v_promotion_files.before_sha256 is 'SHA-256 of the content before, null for a file that was created';
comment on column v_promotion_files.after_sha256 is 'SHA-256 of the content afterwards, null for a file that was deleted';

-- Runs one query for a reader and returns its rows as text. A statement given
-- by somebody else runs inside this function because there a role cannot be
-- changed back: SET ROLE alone is undone by select set_config('role', …).
create function reader_query(statement text) returns setof text[]
language plpgsql security definer set search_path = {{.schema}}, pg_temp as $$
begin
    return query execute statement;
end $$;
revoke all on function reader_query(text) from public;

{{ template "shared/reader.sql" . }}
