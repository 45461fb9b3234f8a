-- What the application calls: rea.grant_app gives exactly these functions, nobody has them by default.
-- Each is a C function and SECURITY INVOKER: it knows its caller and acts on the tables as the extension's owner.

create function rea.fire_event(
    event_type     text,
    biz_key        text,
    payload        jsonb       default '{}',
    event_id       text        default null,
    source         text        default '',
    attributes     jsonb       default '{}',
    correlation_id text        default null,
    causation_id   text        default null,
    occurred_at    timestamptz default null)
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_fire_event';
comment on function rea.fire_event(text, text, jsonb, text, text, jsonb, text, text, timestamptz) is
    'Reports what happened, in the caller''s transaction; returns the event id. The same source and event_id again changes nothing and returns the stored id';

create function rea.fire_events(events jsonb)
returns setof text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_fire_events';
comment on function rea.fire_events(jsonb) is
    'Fires each object of an array, its members named like the arguments of fire_event; returns the event ids in the order of the array';

create function rea.fire_on_change()
returns trigger language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_fire_on_change';
comment on function rea.fire_on_change() is
    'Trigger function for AFTER row triggers: fires an event per changed row. Arguments: event type, name of the column that holds the business key';

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
    'What a business key''s events started and why it is not moving: a row per instance, and one per event that is ACCEPTED or UNROUTED. Shows the caller''s own events; all of them to viewers';

create function rea.retry_instance(instance_id uuid)
returns text language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_retry_instance';
comment on function rea.retry_instance(uuid) is
    'Starts a FAILED or DEAD instance again from the failed action, with a full set of retries and the same idempotency keys; returns its new status';

create function rea.operation(event_id text, source text default '')
returns jsonb language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_operation_of_event';
comment on function rea.operation(text, text) is
    'The state of everything an event started: {operationId, status, steps, result, error, retryAfterSeconds}; retryAfterSeconds is null once nothing moves by itself any more. Null when the event is unknown or another role''s';

create function rea.operation(instance_id uuid)
returns jsonb language c stable parallel unsafe as 'MODULE_PATHNAME', 'rea_operation_of_instance';
comment on function rea.operation(uuid) is
    'The same document for a single instance; its operationId is the instance id';

create function rea.wait_operation(event_id text, source text default '', timeout_ms integer default 3000)
returns jsonb language c volatile parallel unsafe as 'MODULE_PATHNAME', 'rea_wait_operation';
comment on function rea.wait_operation(text, text, integer) is
    'The document of operation() as soon as nothing moves by itself any more, or as it stands after timeout_ms (at most rea.max_wait). A timeout cancels nothing';
