-- How many of the lines that a patch changes in a file were executed, where it was measured.

-- Lists of {path, lines, executed}; [] where nothing was measured, null in rows of before.
alter table candidate add column executed jsonb;

create view v_executed as
select c.run, c.n as candidate, x ->> 'path' as path, (x ->> 'lines')::integer as lines, (x ->> 'executed')::integer as executed,
    c.verdict, r.workspace, r.state, c.at
from candidate c join run r on r.id = c.run cross join lateral jsonb_path_query(c.executed, 'lax $[*]') x
where jsonb_typeof(c.executed) = 'array';
comment on view v_executed is 'How many of the lines that a change makes in a program did its tests and its smoke test execute? One row for each file of which it was measured.';
comment on column v_executed.lines is 'Changed lines on which something can be executed';
comment on column v_executed.executed is 'Those of them that were executed at least once';
comment on column v_executed.verdict is 'How the candidate was judged';
comment on column v_executed.at is 'When the candidate was recorded';
comment on column v_unproven.kind is 'Why, for programs: no-tests, no-runner, script, not-installed, not-collected, none-found, all-skipped, not-judged, not-run, no-gate, no-dependencies or not-executed';

{{ template "shared/reader.sql" . }}
