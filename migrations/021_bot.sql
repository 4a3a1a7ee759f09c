-- What people ask the agent for on a forge, and what becomes of it; and which pull requests hold the change of a run.
-- The table is the queue too: a worker renews beat, and who takes a
-- job raises token.

create table bot_job (
    id         bigint      generated always as identity primary key,
    host       text        not null,
    repository text        not null,
    event      text        not null, -- that it was asked by: 'comment 17', 'label of issue 3'
    delivery   text,                 -- the forge's number of the message
    asked_by   text        not null,
    word       text        not null, -- behind /agent
    number     integer     not null constraint bot_job_number_check check (number > 0),
    is_pull    boolean     not null,
    act        text        constraint bot_job_act_check check (act in ('run', 'review', 'fix', 'integrate', 'stop')),
    state      text        not null default 'asked' constraint bot_job_state_check check (state in ('asked', 'queued', 'running', 'done', 'failed', 'refused', 'stopped')),
    why        text        not null default '',
    owner      text        not null default '',
    token      bigint      not null default 0,
    tries      integer     not null default 0,
    stop       boolean     not null default false, -- somebody wants it to end
    answered   boolean     not null default false, -- or needs no answer
    at         timestamptz not null default clock_timestamp(),
    decided    timestamptz,
    after      timestamptz not null default clock_timestamp(), -- it is not taken before
    beat       timestamptz not null default clock_timestamp(),
    begun      timestamptz,
    ended      timestamptz,
    unique (host, repository, event),
    unique (host, delivery)
);
create index bot_job_open on bot_job (host, repository, id) where not answered;
create index bot_job_person on bot_job (host, asked_by, at);
create index bot_job_repository on bot_job (host, repository, at);

create view v_bot_jobs as
select id as job, host, repository, number, is_pull, asked_by, word, act, state, nullif(why, '') as why, tries, event, delivery, answered, at, begun, ended,
    extract(epoch from coalesce(ended, clock_timestamp()) - begun)::double precision as seconds
from bot_job;
comment on view v_bot_jobs is 'What did people ask the agent for on a forge, and what became of it? One row for each thing that was asked of `agent serve`.';
comment on column v_bot_jobs.job is 'Its number';
comment on column v_bot_jobs.host is 'Host of the forge, with its port';
comment on column v_bot_jobs.repository is 'Owner and name of the repository';
comment on column v_bot_jobs.number is 'Number of the issue or pull request';
comment on column v_bot_jobs.is_pull is 'Whether that is a pull request';
comment on column v_bot_jobs.asked_by is 'Account that asked, as the forge says';
comment on column v_bot_jobs.word is 'What was asked: the word behind /agent, or what a label or an assignment stands for';
comment on column v_bot_jobs.act is 'What is done: run, review, fix, integrate, stop; null where nothing is';
comment on column v_bot_jobs.state is 'How far it came: asked, queued, running, done, failed, refused, stopped';
comment on column v_bot_jobs.why is 'What was done, or why nothing was';
comment on column v_bot_jobs.tries is 'How often it was begun';
comment on column v_bot_jobs.event is 'What it was asked by; one event leads to one job';
comment on column v_bot_jobs.delivery is 'Number of the forge''s message, null where it was polled';
comment on column v_bot_jobs.answered is 'Whether it was answered on the forge, or needs no answer';
comment on column v_bot_jobs.at is 'When it was heard of';
comment on column v_bot_jobs.begun is 'When it was first begun, null before';
comment on column v_bot_jobs.ended is 'When it ended, null before';
comment on column v_bot_jobs.seconds is 'Seconds from its beginning to its end, or to now';

create view v_pull_runs as
select r.run, p.host, p.repository, p.number, p.url, r.commit, 'opened' as part, null as author
from pull_run r join pull p on p.id = r.pull
union all
select c.run, c.host, c.repository, c.number, p.url, c.fix_commit, 'build', null
from ci_round c left join pull p on (p.host, p.repository, p.number) = (c.host, c.repository, c.number) where c.run is not null and c.fix_commit <> ''
union all
select c.run, c.host, c.repository, c.number, p.url, c.fix_commit, 'comment', c.author
from review_comment c left join pull p on (p.host, p.repository, p.number) = (c.host, c.repository, c.number) where c.run is not null and c.fix_commit <> '';
comment on view v_pull_runs is 'Which pull requests hold the change of a run, and what was it made for? One row for each commit that the agent made of a run.';
comment on column v_pull_runs.run is 'The run';
comment on column v_pull_runs.host is 'Host of the forge, with its port';
comment on column v_pull_runs.repository is 'Owner and name of the repository';
comment on column v_pull_runs.number is 'Number of the pull request in its repository';
comment on column v_pull_runs.url is 'Page of the pull request, null for one that others opened';
comment on column v_pull_runs.commit is 'Commit with the change';
comment on column v_pull_runs.part is 'opened: it was opened with it; build: it repaired its build; comment: a comment of a review was taken up';
comment on column v_pull_runs.author is 'Who wrote that comment, null for none';

{{ template "shared/reader.sql" . }}
