-- What the application calls: rea.grant_app gives exactly these functions, nobody has them by default.
-- All are SECURITY INVOKER; those in C know their caller and act on the tables as the extension's owner.

create function rea.fire_event(
    event_type     text,
    biz_key        text,
    payload        jsonb       default '{}',
    event_id       text        default null,
    source         text        default '',
    attributes     jsonb       default '{}',
    correlation_id text        default null,
    causation_id   text        default null,
    occurred_at    timestamptz default null,
    fire_at        timestamptz default null)
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_fire_event';
comment on function rea.fire_event(text, text, jsonb, text, text, jsonb, text, text, timestamptz, timestamptz) is
    'Reports what happened, in the caller''s transaction; returns the event id. The same source and event_id again '
    'changes nothing and returns the stored id. With fire_at in the future it is routed then';

-- Not a C function: a loop over fire_event in the caller's own name. The given ids are stored in sorted order, so that two
-- batches can never wait for each other.
create function rea.fire_events(events jsonb)
returns setof text language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp as $body$
declare
    known constant text[] := array['event_type', 'biz_key', 'payload', 'event_id', 'source', 'attributes',
                                   'correlation_id', 'causation_id', 'occurred_at', 'fire_at', 'eventUid'];
    ids text[];
    event record;
    stranger text;
begin
    if events is null then
        raise exception 'events must not be null' using errcode = 'null_value_not_allowed';
    end if;
    if jsonb_typeof(events) <> 'array' then
        raise exception 'events must be a JSON array' using errcode = 'invalid_parameter_value',
            hint = 'Pass an array of objects with members named like the arguments of rea.fire_event.';
    end if;
    for event in
        select e.body, e.position from jsonb_array_elements(events) with ordinality e (body, position)
        order by coalesce(e.body ->> 'source', ''), e.body ->> 'event_id', e.position
    loop
        if jsonb_typeof(event.body) <> 'object' then
            raise exception 'event % is not a JSON object', event.position using errcode = 'invalid_parameter_value',
                hint = 'Pass an array of objects with members named like the arguments of rea.fire_event.';
        end if;
        select k.name into stranger from jsonb_object_keys(event.body) k (name) where k.name <> all (known) limit 1;
        if found then
            raise exception 'event % has an unknown member "%"', event.position, stranger
                using errcode = 'invalid_parameter_value', hint = format('Known members are %s.', array_to_string(known, ', '));
        end if;
        ids[event.position] := rea.fire_event(
            event.body ->> 'event_type', event.body ->> 'biz_key', coalesce(event.body -> 'payload', '{}'),
            event.body ->> 'event_id', coalesce(event.body ->> 'source', ''), coalesce(event.body -> 'attributes', '{}'),
            event.body ->> 'correlation_id', event.body ->> 'causation_id', (event.body ->> 'occurred_at')::timestamptz,
            (event.body ->> 'fire_at')::timestamptz);
    end loop;
    return query select i.id from unnest(ids) with ordinality i (id, position) order by i.position;
end
$body$;
comment on function rea.fire_events(jsonb) is
    'Fires each object of an array, its members named like the arguments of fire_event; returns the event ids in the '
    'order of the array';

create function rea.fire_on_change()
returns trigger language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp as $body$
declare
    row_now jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) end;
    row_before jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
    row_known jsonb := coalesce(row_now, row_before);
begin
    if tg_when <> 'AFTER' or tg_level <> 'ROW' then
        raise exception 'rea.fire_on_change must be an AFTER trigger for each row'
            using errcode = 'object_not_in_prerequisite_state',
                  hint = 'create trigger … after insert or update on … for each row execute function rea.fire_on_change(…)';
    end if;
    if tg_nargs <> 2 then
        raise exception 'rea.fire_on_change takes an event type and the name of the business key''s column'
            using errcode = 'invalid_parameter_value',
                  hint = 'For example rea.fire_on_change(''order.created'', ''id'').';
    end if;
    if not row_known ? tg_argv[1] then
        raise exception 'table % has no column "%"', tg_relid::regclass, tg_argv[1] using errcode = 'undefined_column';
    end if;
    perform rea.fire_event(tg_argv[0], row_known ->> tg_argv[1],
                           jsonb_build_object('op', tg_op, 'new', row_now, 'old', row_before));
    return null;
end
$body$;
comment on function rea.fire_on_change() is
    'Trigger function for AFTER row triggers: fires an event per changed row. Arguments: event type, name of the '
    'column that holds the business key';

create function rea.cancel_event(event_id text, source text default '')
returns boolean language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_cancel_event';
comment on function rea.cancel_event(text, text) is
    'Takes back an event that was to fire later; false when it has fired already. It is shown as CANCELLED';

create function rea.query_instance(biz_key text)
returns table (
    biz_key          text,
    event_id         text,
    event_type       text,
    source           text,
    instance_id      uuid,
    workflow_name    text,
    workflow_version integer,
    status           text,
    phase            text,
    current_action   text,
    action_index     integer,
    retry_count      integer,
    next_retry_time  timestamptz,
    waiting_for      text,
    error_code       text,
    error            text,
    steps            jsonb,
    create_time      timestamptz,
    update_time      timestamptz,
    end_time         timestamptz)
language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_query_instance';
comment on function rea.query_instance(text) is
    'What a business key''s events started and why it is not moving: a row per instance, and one per event that is '
    'ACCEPTED or UNROUTED. Shows the caller''s own events; all of them to viewers';

create function rea.retry_instance(instance_id uuid, fresh_key boolean default false)
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_retry_instance';
comment on function rea.retry_instance(uuid, boolean) is
    'Starts a FAILED, DEAD or PAUSED instance again from the action it stopped at, with a full set of retries; returns its new status. The idempotency keys stay the same; fresh_key appends ~2, ~3 … for receivers that remember a refusal';

create function rea.operation(event_id text, source text default '')
returns jsonb language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_operation_of_event';
comment on function rea.operation(text, text) is
    'The state of everything an event started: {operationId, status, steps, result, error, retryAfterSeconds}; '
    'retryAfterSeconds is null once nothing moves by itself any more. Null when the event is unknown or another '
    'role''s';

create function rea.operation(instance_id uuid)
returns jsonb language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_operation_of_instance';
comment on function rea.operation(uuid) is
    'The same document for a single instance; its operationId is the instance id';

create function rea.wait_operation(event_id text, source text default '', timeout_ms integer default 3000)
returns jsonb language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_wait_operation';
comment on function rea.wait_operation(text, text, integer) is
    'The document of operation() as soon as nothing moves by itself any more, or as it stands after timeout_ms (at '
    'most rea.max_wait). A timeout cancels nothing';
