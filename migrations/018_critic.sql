-- What critics said of candidates. As with requests to models nothing here refers to a run by a foreign
-- key, for what is reviewed may be something else: a plan, or a pull request of others.

create table critique (
    run     text        not null, -- a run, or the name of what else was reviewed
    n       integer     not null, -- in the order of asking, from 1
    subject text        not null, -- digest of what was reviewed
    agree   integer     not null constraint critique_agree_check check (agree > 0),
    outcome text        not null constraint critique_outcome_check check (outcome in ('unreviewed', 'clean', 'kept', 'sent back')),
    at      timestamptz not null default clock_timestamp(),
    primary key (run, n)
);

-- One row for each critic that was asked, whether it answered or not. Its own findings are a list; those of all
-- together, which people ask about, are rows.
create table critique_opinion (
    run        text    not null,
    n          integer not null,
    k          integer not null, -- the critics in their order, from 1
    critic     text    not null,
    model      text    not null,
    unreviewed text    not null, -- why there is no opinion, empty where there is one
    partial    text    not null,
    findings   jsonb   not null,
    primary key (run, n, k),
    foreign key (run, n) references critique on delete cascade
);

create table critique_finding (
    run      text    not null,
    n        integer not null,
    k        integer not null,
    severity text    not null constraint critique_finding_severity_check check (severity in ('blocker', 'major', 'minor', 'nit')),
    file     text    not null,
    line     integer not null,
    message  text    not null,
    critics  text[]  not null,
    agreed   boolean not null,
    primary key (run, n, k),
    foreign key (run, n) references critique on delete cascade
);

create view v_critiques as
select c.run, c.n as critique, c.subject as digest, c.outcome, c.agree,
    (select string_agg(o.critic, ' ' order by o.k) from critique_opinion o where (o.run, o.n) = (c.run, c.n)) as critics,
    (select string_agg(o.critic || ': ' || coalesce(nullif(o.unreviewed, ''), o.partial), '; ' order by o.k)
        from critique_opinion o where (o.run, o.n) = (c.run, c.n) and (o.unreviewed <> '' or o.partial <> '')) as not_reviewed,
    f.severity, nullif(f.file, '') as file, nullif(f.line, 0) as line, f.message, array_to_string(f.critics, ' ') as found_by, f.agreed, c.at
from critique c left join critique_finding f on f.run = c.run and f.n = c.n;
comment on view v_critiques is 'What did other models say of changes that passed their gates? One row for each finding, and one for each review without any. It is no verdict: a gate decided before.';
comment on column v_critiques.critique is 'Number of the review within its run, from 1';
comment on column v_critiques.digest is 'Digest of the changeset that was reviewed, as in v_candidates';
comment on column v_critiques.outcome is 'unreviewed: no critic gave an opinion; clean: nothing serious was agreed on; sent back: the author was asked once about the serious findings; kept: they stay, for a person to see';
comment on column v_critiques.agree is 'How many critics have to find the same for it to count';
comment on column v_critiques.critics is 'Models that were asked, in their order';
comment on column v_critiques.not_reviewed is 'Critics that gave no review, or have not seen all of it, and why; null for none';
comment on column v_critiques.severity is 'blocker, major, minor or nit: the worst that as many as must agree give it';
comment on column v_critiques.file is 'File that it is about, null for the whole change';
comment on column v_critiques.line is 'Line in the file after the change, null where none is named';
comment on column v_critiques.message is 'What a critic said, with credentials hidden; an opinion and no evidence';
comment on column v_critiques.found_by is 'Critics that have it';
comment on column v_critiques.agreed is 'Whether as many have it as have to';
comment on column v_critiques.at is 'When it was recorded';

-- What the author changed after a review is its work too.
create or replace view v_reviews as
select p.run, r.workspace, p.at as promoted, r.intent, p.approved_by, p.undo_of,
    (select min(u.run) from promotion u where u.undo_of = p.run and u.status = 'committed') as undone_by,
    case when p.undo_of is not null then 'undo' when o.patch is not null then 'patch' else (
        select string_agg(distinct c.vendor || '/' || c.model, ', ') from model_call c
        where c.run in (o.id, o.iteration) and c.purpose in ('PP', 'IF', 'ALF', 'FRE', 'PIR', 'PCF', 'CF') and c.ended is not null and c.kind is null
    ) end as model,
    (select (sum(c.cost) / 1000000.0)::numeric(20, 6) from model_call c where c.run in (o.id, o.iteration) and c.priced) as cost,
    v.id as review, v.reviewer, v.verdict, nullif(v.comment, '') as comment, v.at
from promotion p join run r on r.id = p.run join run o on o.id = coalesce(r.applies, r.id) join state s on s.name = r.state
    left join review v on v.run = p.run
where p.status = 'committed' and not s.failed;

{{ template "shared/reader.sql" . }}
