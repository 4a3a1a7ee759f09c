-- How workspaces stood, each time that somebody asked.

create table report (
    id        text        primary key,
    workspace text        not null,
    snapshot  text        not null, -- digest of the manifest
    score     real, -- null where no analyzer was measured whole
    fast      boolean     not null,
    at        timestamptz not null default clock_timestamp()
);
create index report_workspace on report (workspace, at desc);

create table report_row (
    report   text     not null references report on delete cascade,
    n        integer  not null, -- the place of the analyzer in the report, from 1
    analyzer text     not null,
    status   text     not null constraint report_row_status_check check (status in ('pass', 'warn', 'fail', 'unknown', 'none')),
    score    real     constraint report_row_score_check check (score between 0 and 1),
    fails    integer  not null,
    warns    integer  not null,
    notes    integer  not null, -- with those that were left out of the report
    summary  text     not null,
    primary key (report, n)
);
create index report_row_analyzer on report_row (analyzer, report);

create view v_reports as
select r.workspace, r.at, w.analyzer, w.status, round(w.score::numeric, 2) as score,
    (select round(b.score::numeric, 2) from report p join report_row b on b.report = p.id
        where p.workspace = r.workspace and b.analyzer = w.analyzer and b.score is not null and (p.at, p.id) < (r.at, r.id)
        order by p.at desc, p.id desc limit 1) as before,
    w.fails, w.warns, w.notes, w.summary, r.snapshot, r.fast, r.id as report
from report r join report_row w on w.report = r.id;
comment on view v_reports is 'How did workspaces stand, by analyzer, and is it getting better? One row for each analyzer of each report of agent analyze --report.';
comment on column v_reports.workspace is 'Directory that was looked at';
comment on column v_reports.at is 'When the report was made';
comment on column v_reports.analyzer is 'Name of the analyzer, such as tests';
comment on column v_reports.status is 'pass, warn, fail, unknown (a part was not measured) or none (nothing to judge)';
comment on column v_reports.score is 'From 0 to 1, by what docs/report.md says; null where a part was not measured';
comment on column v_reports.before is 'The last score of the same analyzer before, in the same workspace, null for none';
comment on column v_reports.fails is 'How many things were missing or broken';
comment on column v_reports.warns is 'How many should be fixed';
comment on column v_reports.notes is 'How many could be better';
comment on column v_reports.summary is 'What was seen, in a line';
comment on column v_reports.snapshot is 'Digest of the files that were looked at: equal ones are the same bytes';
comment on column v_reports.fast is 'True when nothing ran in boxes';
comment on column v_reports.report is 'Identifier of the report, which its rows share';

{{ template "shared/reader.sql" . }}
