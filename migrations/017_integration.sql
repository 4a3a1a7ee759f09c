-- What the agent does with pull requests once they are open: builds that it repairs, comments that it
-- takes up, and the whole way from a repository to a pull request.

-- One process at a time works on a repository. It renews beat every 30 seconds; who takes the lease over raises token.
create table forge_lease (
    host       text        not null,
    repository text        not null,
    owner      text        not null,
    token      bigint      not null default 1,
    beat       timestamptz not null default clock_timestamp(),
    primary key (host, repository)
);

create table ci_round (
    id         bigint      generated always as identity primary key,
    host       text        not null,
    repository text        not null,
    number     integer     not null constraint ci_round_number_check check (number > 0),
    head_commit text       not null, -- that the build servers judged
    failed     text[]      not null, -- names of jobs
    flaky      text[]      not null,
    reproduced text        not null, -- what the gates say of the failure, '' where they do not show it
    run        text,       -- that made the repair; of another record it may be
    fix_commit text        not null default '', -- made, and perhaps not pushed yet
    pushed     boolean     not null default false,
    why        text        not null default '', -- why there is none
    op         uuid        not null unique, -- the write that made it, which is repeated where its answer was lost
    begun      timestamptz not null default clock_timestamp()
);
create index ci_round_pull on ci_round (host, repository, number, id);

create table review_comment (
    host       text        not null,
    repository text        not null,
    number     integer     not null constraint review_comment_number_check check (number > 0),
    thread     text        not null, -- the forge's name of it
    comment    text        not null, -- the last one in it that is not the agent's
    author     text        not null,
    path       text        not null,
    line       integer     not null,
    state      text        not null constraint review_comment_state_check check (state in ('open', 'committed', 'pushed', 'answered')),
    run        text,
    fix_commit text        not null default '',
    answer     text        not null default '',
    at         timestamptz not null default clock_timestamp(),
    primary key (host, repository, number, thread, comment)
);

create table integration (
    id         text        primary key,
    host       text        not null,
    repository text        not null,
    goal       text        not null,
    issue      integer,
    state      text        not null constraint integration_state_check check (state in (
        'cloning', 'building', 'pr_open', 'self_review', 'ci_watch', 'reviewing', 'done', 'failed', 'given_up')),
    workspace  text        not null default '',
    base       text        not null default '',
    base_commit text       not null default '',
    runs       text        not null default '',
    head       text        not null default '',
    number     integer,
    url        text        not null default '',
    why        text        not null default '', -- why it stopped
    begun      timestamptz not null default clock_timestamp(),
    changed    timestamptz not null default clock_timestamp(),
    ended      timestamptz
);
create unique index integration_open on integration (host, repository) where ended is null;

create view v_ci as
select c.host, c.repository, c.number, row_number() over (partition by c.host, c.repository, c.number order by c.id) as round,
    c.head_commit, array_to_string(c.failed, ', ') as failed, array_to_string(c.flaky, ', ') as flaky, c.reproduced, c.run, nullif(c.fix_commit, '') as fix_commit, c.pushed, c.why, c.begun
from ci_round c;
comment on view v_ci is 'Which builds of pull requests failed, and what did the agent do about it? One row for each round of `agent pr fix-ci`.';
comment on column v_ci.host is 'Host of the forge, with its port';
comment on column v_ci.repository is 'Owner and name of the repository';
comment on column v_ci.number is 'Number of the pull request in its repository';
comment on column v_ci.round is 'Rounds of a pull request are counted from 1';
comment on column v_ci.head_commit is 'Commit whose build failed';
comment on column v_ci.failed is 'Jobs that failed, twice where they could be run again';
comment on column v_ci.flaky is 'Jobs that failed first and passed then, on the same commit';
comment on column v_ci.reproduced is 'What the workspace''s own gates say of the failure; empty where they do not show it';
comment on column v_ci.run is 'Run that made the repair, or tried to';
comment on column v_ci.fix_commit is 'Commit with the repair, null for none';
comment on column v_ci.pushed is 'Whether that commit is on the branch of the pull request';
comment on column v_ci.why is 'Why the round made no commit, or did not push it; empty where it did';
comment on column v_ci.begun is 'When the round began';

create view v_review_comments as
select host, repository, number, thread, comment, author, path, line, state, run, nullif(fix_commit, '') as fix_commit, answer, at from review_comment;
comment on view v_review_comments is 'Which comments of reviews did the agent take up, and what came of them? One row for each comment.';
comment on column v_review_comments.host is 'Host of the forge, with its port';
comment on column v_review_comments.repository is 'Owner and name of the repository';
comment on column v_review_comments.number is 'Number of the pull request in its repository';
comment on column v_review_comments.thread is 'Thread as the forge names it; one on the whole pull request begins with "all "';
comment on column v_review_comments.comment is 'The last comment in it that is not the agent''s own';
comment on column v_review_comments.author is 'Who wrote that';
comment on column v_review_comments.path is 'File that it is about, empty for all of the pull request';
comment on column v_review_comments.line is 'Line of the file, 0 for none';
comment on column v_review_comments.state is 'How far it came: open, committed, pushed, answered';
comment on column v_review_comments.run is 'Run that made the change, or tried to';
comment on column v_review_comments.fix_commit is 'Commit with the change, null for none';
comment on column v_review_comments.answer is 'What was answered';
comment on column v_review_comments.at is 'When that row last changed';

create view v_integrations as
select id as integration, host, repository, goal, issue, state, workspace, base, base_commit, runs, nullif(head, '') as head, number, nullif(url, '') as url, why, begun, changed, ended from integration;
comment on view v_integrations is 'How far did `agent pr run` come with each repository? One row for each time that it was begun.';
comment on column v_integrations.integration is 'Its name, for --resume';
comment on column v_integrations.host is 'Host of the forge, with its port';
comment on column v_integrations.repository is 'Owner and name of the repository';
comment on column v_integrations.goal is 'What the change is for';
comment on column v_integrations.issue is 'Number of the issue that it is for, null for none';
comment on column v_integrations.state is 'What it does, or how it ended: cloning, building, pr_open, self_review, ci_watch, reviewing, done, failed, given_up';
comment on column v_integrations.workspace is 'Directory of the agent''s own that holds the files';
comment on column v_integrations.base is 'Branch that the pull request goes to';
comment on column v_integrations.base_commit is 'Commit of that branch whose files are in the directory';
comment on column v_integrations.runs is 'Runs that made the change, in the order of their commits; empty before';
comment on column v_integrations.head is 'Branch of the pull request, null before it is open';
comment on column v_integrations.number is 'Number of the pull request, null before it is open';
comment on column v_integrations.url is 'Page of the pull request, null before it is open';
comment on column v_integrations.why is 'Why it stopped, empty where it did not';
comment on column v_integrations.begun is 'When it was begun';
comment on column v_integrations.changed is 'When its state last changed';
comment on column v_integrations.ended is 'When it ended, null while it goes on or can be resumed';

{{ template "shared/reader.sql" . }}
