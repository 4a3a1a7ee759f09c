-- A gate is made of several tools' checks: each finding says whose it is.

alter table finding add column tool text not null default '';

create or replace view v_findings as
select f.run, f.candidate, g.name as gate, f.file, f.line, f.col, f.rule, f.message, f.source,
    f.old, f.fixable, nullif(f.help, '') as help, nullif(f.tool, '') as tool
from finding f join gate g on (g.run, g.candidate, g.n) = (f.run, f.candidate, f.gate);
comment on column v_findings.tool is 'The check that found it, such as ruff; a gate is made of one for each tool';
