-- What people said of promotions when they looked at them afterwards.

create table review (
    id       bigint      generated always as identity primary key,
    op       uuid        not null unique, -- a retry of the insert whose answer was lost finds its row by it
    run      text        not null references promotion on delete cascade,
    reviewer text        not null,
    verdict  text        not null constraint review_verdict_check check (verdict in ('accepted', 'commented', 'undone')),
    comment  text        not null default '',
    at       timestamptz not null default clock_timestamp()
);
create index review_run on review (run, id);

-- The history of a file goes on under the name that it had before.
create index promotion_file_from on promotion_file (from_path) where from_path is not null;

-- Whose words a change is: all models that answered when code was asked for,
-- since a promotion does not say which answer it was made of.
create view v_reviews as
select p.run, r.workspace, p.at as promoted, r.intent, p.approved_by, p.undo_of,
    (select min(u.run) from promotion u where u.undo_of = p.run and u.status = 'committed') as undone_by,
    case when p.undo_of is not null then 'undo' when r.patch is not null then 'patch' else (
        select string_agg(distinct c.vendor || '/' || c.model, ', ') from model_call c
        where c.run = p.run and c.purpose in ('PP', 'IF', 'ALF', 'FRE', 'PIR', 'PCF') and c.ended is not null and c.kind is null
    ) end as model,
    (select (sum(c.cost) / 1000000.0)::numeric(20, 6) from model_call c where c.run = p.run and c.priced) as cost,
    v.id as review, v.reviewer, v.verdict, nullif(v.comment, '') as comment, v.at
from promotion p join run r on r.id = p.run left join review v on v.run = p.run
where p.status = 'committed' and r.state not in ('rejected', 'conflict', 'failed', 'cancelled');
comment on view v_reviews is 'Which promotions did a person look at afterwards, and what was said? One row for each review, and one for each promotion without any.';
comment on column v_reviews.promoted is 'When the files were written';
comment on column v_reviews.approved_by is 'The flag, the terminal or the policy that let it be written';
comment on column v_reviews.undo_of is 'Run whose promotion this one reversed, null for none';
comment on column v_reviews.undone_by is 'Run that took the promotion back, null while it stands';
comment on column v_reviews.model is 'Models that answered when code was asked for; patch for a patch that was given, undo for an undo';
comment on column v_reviews.cost is 'Of all requests of the run whose price is known, in the currency of the prices, null for none';
comment on column v_reviews.review is 'Number of the review, null for a promotion that nobody reviewed';
comment on column v_reviews.reviewer is 'Who looked at it';
comment on column v_reviews.comment is 'What was said, null for nothing';
comment on column v_reviews.verdict is 'accepted, commented or undone';
comment on column v_reviews.at is 'When it was reviewed';

{{ template "shared/reader.sql" . }}
