-- The pull requests that the agent opened, and which runs their commits are.

create table pull (
    id         bigint      generated always as identity primary key,
    workspace  text        not null, -- from which it was opened
    host       text        not null,
    repository text        not null,
    number     integer     not null constraint pull_number_check check (number > 0),
    url        text        not null,
    title      text        not null,
    base       text        not null,
    head       text        not null,
    head_commit text       not null,
    draft      boolean     not null,
    opened     timestamptz not null default clock_timestamp(),
    unique (host, repository, number)
);
create index pull_workspace on pull (workspace, opened desc);

create table pull_run (
    pull   bigint  not null references pull on delete cascade,
    n      integer not null, -- the commits of a pull request in their order, from 1
    run    text    not null references run on delete cascade,
    commit text    not null,
    primary key (pull, n)
);
create index pull_run_run on pull_run (run);

create view v_pulls as
select p.host, p.repository, p.number, p.url, p.title, p.base, p.head, p.head_commit, p.draft, p.workspace, p.opened,
    (select string_agg(r.run, ' ' order by r.n) from pull_run r where r.pull = p.id) as runs,
    (select count(*) from pull_run r where r.pull = p.id) as commits,
    (select sum(v.cost) from pull_run r join v_reviews v on v.run = r.run
        where r.pull = p.id and v.review is not distinct from (select max(w.id) from review w where w.run = r.run)) as cost
from pull p;
comment on view v_pulls is 'Which pull requests did the agent open, from which runs, and what did they cost? One row for each pull request.';
comment on column v_pulls.host is 'Host of the forge, with its port';
comment on column v_pulls.repository is 'Owner and name of the repository';
comment on column v_pulls.number is 'Number of the pull request in its repository';
comment on column v_pulls.url is 'Page of the pull request';
comment on column v_pulls.title is 'Title as it was opened';
comment on column v_pulls.base is 'Branch that it goes to';
comment on column v_pulls.head is 'Branch that it comes from';
comment on column v_pulls.head_commit is 'Commit of that branch as the agent pushed it';
comment on column v_pulls.draft is 'Whether it was opened as a draft: something of it was not proved';
comment on column v_pulls.workspace is 'Directory that it was opened from';
comment on column v_pulls.opened is 'When it was opened';
comment on column v_pulls.runs is 'Runs whose changes its commits are, in their order; null for a branch made by hand';
comment on column v_pulls.commits is 'How many commits of it are runs';
comment on column v_pulls.cost is 'Of all requests to models for these runs whose price is known, null for none';

{{ template "shared/reader.sql" . }}
