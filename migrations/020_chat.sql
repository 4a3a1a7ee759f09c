-- Conversations of people with models about a workspace. Requests to models and calls of tools are recorded under the
-- name chat:N, as those of a run are under that of the run.

alter table conversation drop constraint conversation_cause_check;
alter table conversation add constraint conversation_cause_check check (cause in (
    'finished', 'talked', 'repeated', 'errors', 'rounds', 'calls', 'output', 'interrupted'));

create table chat (
    id        bigint      generated always as identity primary key,
    op        uuid        not null unique, -- names the attempt to record it, so that a retry finds it
    workspace text        not null,
    title     text        not null,
    fence     text        not null,
    draft     bytea       not null default '', -- what is changed so far, as a response to the edit engine; empty for nothing
    note      text        not null default '', -- what the model is told with the next question, of what was done meanwhile
    created   timestamptz not null default clock_timestamp()
);
create index chat_workspace on chat (workspace, id);

-- One row for each question of the person. asked and pictures are what the model was asked, from which one that was cut off
-- is carried on; said is what both add to what the model is shown from then on, byte for byte.
create table chat_turn (
    chat      bigint      not null references chat on delete cascade,
    n         integer     not null constraint chat_turn_n_check check (n > 0),
    op        uuid        not null unique,
    typed     text        not null,
    asked     bytea       not null,
    pictures  bytea       not null default '',
    answer    bytea       not null default '',
    model     text        not null default '',
    cause     text        constraint chat_turn_cause_check check (cause in (
        'talked', 'repeated', 'errors', 'rounds', 'calls', 'output', 'interrupted', 'failed')), -- null while it is under way
    rounds    integer     not null default 0,
    calls     integer     not null default 0,
    said      bytea       not null default '',
    compacted boolean     not null default false,
    begun     timestamptz not null default clock_timestamp(),
    ended     timestamptz,
    end_op    uuid,
    primary key (chat, n)
);

create view v_chats as
select c.id as chat, c.workspace, c.title, t.questions, t.answered, t.compacted, octet_length(c.draft) > 0 as draft,
    m.requests, m.tokens, m.cost, c.created, t.last
from chat c cross join lateral (
    select count(*) as questions, count(*) filter (where t.cause is not null and t.cause not in ('interrupted', 'failed')) as answered,
        count(*) filter (where t.compacted) as compacted, max(coalesce(t.ended, t.begun)) as last
    from chat_turn t where t.chat = c.id
) t cross join lateral (
    select count(*) as requests, coalesce(sum(c2.tokens_in + c2.tokens_out), 0)::bigint as tokens,
        (sum(c2.cost) filter (where c2.priced) / 1000000.0)::numeric(20, 6) as cost
    from model_call c2 where c2.run = 'chat:' || c.id
) m;
comment on view v_chats is 'Which conversations were held about a workspace, how long are they, and what did they cost? One row for each.';
comment on column v_chats.chat is 'Number of the conversation, as `agent chat --resume` takes it';
comment on column v_chats.workspace is 'Directory that it is about';
comment on column v_chats.title is 'Beginning of its first question, with credentials hidden';
comment on column v_chats.questions is 'How many questions were asked in it';
comment on column v_chats.answered is 'How many of them were answered';
comment on column v_chats.compacted is 'In how many of them a summary took the place of what was said before';
comment on column v_chats.draft is 'Whether there is a change that was neither written nor dropped';
comment on column v_chats.requests is 'Requests to models for it';
comment on column v_chats.tokens is 'Tokens of these, in and out';
comment on column v_chats.cost is 'Of the requests whose price is known, null for none';
comment on column v_chats.created is 'When it was begun';
comment on column v_chats.last is 'When something was asked or answered in it last, null for never';

{{ template "shared/reader.sql" . }}
