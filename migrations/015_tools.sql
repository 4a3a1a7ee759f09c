-- What models called on workbenches, and how those conversations ended. As with requests
-- to models nothing here refers to a run by a foreign key.

-- One row for each call that is over. What a model wrote as its arguments is kept as it is
-- shown, with credentials hidden; the digest is that of the bytes.
create table tool_call (
    id        bigint      generated always as identity primary key,
    run       text        not null, -- a run, or the iteration that the conversation was held for
    step      text        not null,
    round     integer     not null,
    number    integer     not null,
    tool      text        not null,
    arguments text        not null,
    digest    text        not null, -- hex SHA-256 of tool and arguments
    head      text        not null,
    file      text        not null,
    answer    bytea       not null, -- byte for byte, from which a conversation goes on
    failed    boolean     not null,
    shown     integer     not null, -- bytes
    duration  bigint      not null, -- microseconds
    begun     timestamptz not null,
    unique (run, step, number, digest)
);

create table conversation (
    run    text        not null,
    step   text        not null,
    cause  text        not null constraint conversation_cause_check check (cause in (
        'finished', 'talked', 'repeated', 'errors', 'rounds', 'calls', 'output')),
    detail text        not null,
    rounds integer     not null,
    calls  integer     not null,
    shown  bigint      not null, -- bytes
    ended  timestamptz not null default clock_timestamp(),
    primary key (run, step)
);

create view v_tool_calls as
select coalesce(r.id, i.run) as run,
    coalesce(i.id, r.iteration) as iteration,
    t.step, t.round,
    t.number as call,
    t.tool, t.arguments, t.failed, t.shown as bytes,
    encode(sha256(t.answer), 'hex') as answer,
    (t.duration / 1000000.0)::numeric(14, 6) as seconds,
    t.begun,
    c.cause as conversation_end
from tool_call t left join run r on r.id = t.run left join iteration i on i.id = t.run
    left join conversation c on c.run = t.run and c.step = t.step;
comment on view v_tool_calls is 'What did models call on their workbenches, and what came of it? One row for each call that is over, without its answer.';
comment on column v_tool_calls.run is 'Run that it was made for; of a conversation that an iteration held, the last run of it';
comment on column v_tool_calls.iteration is 'Iteration of the loop, null outside of one';
comment on column v_tool_calls.step is 'Conversation within the run, such as propose/2; its questions are those of v_model_calls whose step begins so';
comment on column v_tool_calls.round is 'Number of the question that the call answers, from 1';
comment on column v_tool_calls.call is 'Number of the call within its conversation, from 1';
comment on column v_tool_calls.tool is 'Name of the tool';
comment on column v_tool_calls.arguments is 'What it was called with, as JSON, with credentials hidden';
comment on column v_tool_calls.failed is 'True when the call did not do what was asked of it';
comment on column v_tool_calls.bytes is 'Bytes that the model was shown of the answer';
comment on column v_tool_calls.answer is 'SHA-256 of the answer, in hex';
comment on column v_tool_calls.begun is 'When it was made';
comment on column v_tool_calls.conversation_end is 'Why the conversation ended: finished, talked, repeated, errors, or the cap that ended it (rounds, calls, output); null while it goes on, and for ever if the process died';

{{ template "shared/reader.sql" . }}
