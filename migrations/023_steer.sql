-- Loops that are paused or ended from elsewhere, and who wrote what a plan delivered that takes its answers from another one.

alter table iteration add column wanted text not null default '' -- what somebody asked of the process that works on its loop
    constraint iteration_wanted_check check (wanted in ('', 'pause', 'cancel'));

-- Who wrote what a plan delivered that was carried out again from its record: no model was asked then, and the answers are those of the plan before.

create or replace view v_reviews as
select p.run, r.workspace, p.at as promoted, r.intent, p.approved_by, p.undo_of,
    (select min(u.run) from promotion u where u.undo_of = p.run and u.status = 'committed') as undone_by,
    case when p.undo_of is not null then 'undo' when o.patch is not null then 'patch' else (
        select string_agg(distinct c.vendor || '/' || c.model, ', ') from model_call c
        where (c.run in (o.id, o.iteration) or c.run in (
                select w.id from plan_attempt d join plan n on n.id = d.plan join plan_attempt w on w.plan in (n.id, n.replays) and w.kind = 'task'
                where d.id = o.iteration and d.kind = 'deliver'))
            and c.purpose in ('PP', 'IF', 'ALF', 'FRE', 'PIR', 'PCF', 'CF') and c.ended is not null and c.kind is null
    ) end as model,
    (select (sum(c.cost) / 1000000.0)::numeric(20, 6) from model_call c
        where c.priced and (c.run in (o.id, o.iteration) or c.run in (select w.id from plan_attempt d join plan_attempt w on w.plan = d.plan where d.id = o.iteration and d.kind = 'deliver'))) as cost,
    v.id as review, v.reviewer, v.verdict, nullif(v.comment, '') as comment, v.at
from promotion p join run r on r.id = p.run join run o on o.id = coalesce(r.applies, r.id) join state s on s.name = r.state
    left join review v on v.run = p.run
where p.status = 'committed' and not s.failed;

{{ template "shared/reader.sql" . }}
