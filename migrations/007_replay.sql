-- A run can be judged again from the record alone: what decided its verdict is kept with
-- it, and the files that it saw as blobs.

-- What a candidate was made of. Null in runs of before.
alter table candidate
    add column response text constraint candidate_response_sha256 references blob, -- as it was given, in any form of edits
    add column target   text,                 -- the file that a block without a name means
    add column onto     text,                 -- digest of the changeset that it came on top of, '' for the workspace
    add column asked    text;                 -- digest of the changeset before the gates, '' where the response gave none

create table recording (
    run       text   primary key references run on delete cascade,
    inventory text   constraint recording_inventory_sha256 references blob, -- the paths, modes and digests of the files; null: they were not kept
    lacking   text   not null,        -- why they were not kept, '' where they were
    files     integer not null,
    bytes     bigint not null,
    settings  jsonb  not null,
    constraint recording_check check ((inventory is null) = (lacking <> ''))
);

create view v_recordings as
select r.run, r.inventory is not null as replayable, nullif(r.lacking, '') as lacking, r.files, r.bytes,
    r.settings->>'toolchain' as toolchain, nullif(r.settings->>'installed', '') as installed, r.settings->>'definitions' as definitions,
    r.settings->'versions' as versions
from recording r;
comment on view v_recordings is 'Which runs can be judged again by `agent runs replay`, and with which tools were they judged?';
comment on column v_recordings.replayable is 'Whether the files that the run saw were kept';
comment on column v_recordings.lacking is 'Why the files that the run saw were not kept, null where they were';
comment on column v_recordings.files is 'How many files the run saw';
comment on column v_recordings.bytes is 'How large they were together; content is kept once for all runs';
comment on column v_recordings.toolchain is 'Image of the tools';
comment on column v_recordings.installed is 'State of the installed dependencies, null for none';
comment on column v_recordings.definitions is 'Version of the definitions of the gates';
comment on column v_recordings.versions is 'Name and version of each tool';

{{ template "shared/reader.sql" . }}
