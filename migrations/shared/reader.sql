-- agent_reader reads views and nothing else. Roles belong to the whole server,
-- so another database or another process may be making it at this moment. A
-- user who may not make roles goes on without it: reader_query then stays with
-- that user, in a transaction that only reads.
do $$
declare
    view_name name;
begin
    begin
        create role agent_reader nologin;
    exception when duplicate_object or unique_violation then
        null;
    end;
    if not pg_has_role(current_user, 'agent_reader', 'member') then
        grant agent_reader to current_user;
    end if;
    grant usage on schema {{.schema}} to agent_reader;
    for view_name in
        select c.relname from pg_class c where c.relnamespace = quote_ident(current_schema())::regnamespace and c.relkind = 'v'
    loop
        execute format('grant select on %I.%I to agent_reader', current_schema(), view_name);
    end loop;
    -- A new owner must be allowed to create in the schema, for this moment only.
    grant create on schema {{.schema}} to agent_reader;
    alter function {{.schema}}.reader_query(text) owner to agent_reader;
    revoke create on schema {{.schema}} from agent_reader;
exception when insufficient_privilege then
    raise notice 'agent_reader is not used: %', sqlerrm;
end $$;
