-- What runs did, thing by thing: the log that somebody who was not there reads later.

create table event (
    id      bigint      generated always as identity primary key,
    op      uuid        not null, -- the write that brought it: a retry whose answer was lost knows itself by it
    n       integer     not null, -- its place in that write
    run     text        not null references run on delete cascade,
    at      timestamptz not null,
    kind    text        not null constraint event_kind_check check (kind in (
        'state', 'model', 'tool', 'gate', 'policy', 'approval', 'egress', 'engine')),
    actor   text        not null,
    subject text        not null,
    detail  jsonb       not null check (jsonb_typeof(detail) = 'object'),
    unique (op, n)
);
create index event_run on event (run, id);
comment on table event is
    'Rows are only ever added: UPDATE, DELETE and TRUNCATE are refused to every role, its owner and a superuser included, '
    'also where triggers are off for a replica. A row goes with its run and in no other way, so whoever removes runs removes '
    'their events. That holds against a mistake and against a statement that somebody smuggles in. It does not hold against a '
    'role that alters the table, as its owner may, nor against one that deletes the run: to be safe from the agent''s own '
    'role, copy what `agent runs logs --json` prints to where that role has no access.';

-- By the time a foreign key cascades, the run is not there any more.
create function event_guard() returns trigger language plpgsql set search_path = {{.schema}}, pg_temp as $$
begin
    if tg_op = 'DELETE' then
        if not exists (select from run where id = old.run) then
            return old;
        end if;
    end if;
    raise exception 'events are only ever added: % is refused', tg_op using errcode = 'check_violation';
end $$;
create trigger event_rows before update or delete on event for each row execute function event_guard();
create trigger event_whole before truncate on event for each statement execute function event_guard();
alter table event enable always trigger event_rows;
alter table event enable always trigger event_whole;

create view v_events as
select e.run, e.id as event, e.at,
    greatest(extract(epoch from e.at - r.created), 0)::numeric(12, 3) as seconds,
    e.kind, e.actor, e.subject, e.detail
from event e join run r on r.id = e.run;
comment on view v_events is 'What exactly did a run do, who decided, and when? One row for each thing, in order of event; nothing here is ever changed.';
comment on column v_events.event is 'Number that grows with time; there may be gaps';
comment on column v_events.at is 'When it happened, by the clock of the database; never before the row above it';
comment on column v_events.seconds is 'The same as seconds since the run was recorded';
comment on column v_events.kind is 'state entered; model that was asked; tool (a command in a box); gate that judged; policy that held something; approval asked for; egress (what left a box); engine that was called';
comment on column v_events.actor is 'Who did or decided it: agent, a model, a box, the terminal, --yes';
comment on column v_events.subject is 'What it was done to: a state, a step, a command, a gate, a path, a decision, a host, a method and path of the engine';
comment on column v_events.detail is 'The rest, as an object; no secret that the agent knows of or that looks like one, no body of a request, no value of an environment';

{{ template "shared/reader.sql" . }}
