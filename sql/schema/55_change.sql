-- The shapes in which a worker hands over what it writes: one array of rows per statement is far cheaper than one array
-- per column. Internal; nothing is stored in them.

create type rea.new_instance as (
    instance_id          uuid,
    event_uid            uuid,
    workflow_version     integer,
    route_version        integer,
    workflow_name        text,
    route_name           text,
    biz_key              text,
    event_id             text,
    source               text,
    fired_by             text,
    parent_instance_id   uuid,
    parent_action        text,
    branch               text,
    item_index           integer,
    item                 text,
    detached             boolean,
    scripts              text,
    deadline_time        timestamptz,
    status               text,
    current_action_index integer,
    retry_count          integer,
    version              integer,
    first_try_time       timestamptz,
    next_retry_time      timestamptz,
    paused_time          timestamptz,
    end_time             timestamptz,
    context              text,
    result               text,
    error_code           text,
    error                text,
    end_status           text,
    compensation         text,
    undo_no              integer
);
comment on type rea.new_instance is 'An instance to create';

create type rea.instance_change as (
    instance_id          uuid,
    guard_version        integer,
    deadline_time        timestamptz,
    status               text,
    current_action_index integer,
    retry_count          integer,
    version              integer,
    first_try_time       timestamptz,
    next_retry_time      timestamptz,
    paused_time          timestamptz,
    end_time             timestamptz,
    context              text,
    result               text,
    error_code           text,
    error                text,
    end_status           text,
    compensation         text,
    undo_no              integer
);
comment on type rea.instance_change is 'What became of an instance, and the version it must still have';

create type rea.queue_change as (
    instance_id      uuid,
    due_time         timestamptz,
    deadline_time    timestamptz,
    owner_generation bigint,
    attempt_no       integer,
    lost_count       integer,
    lane             text
);
comment on type rea.queue_change is 'A queue row to write';

create type rea.attempt as (
    instance_id      uuid,
    log_id           integer,
    attempt_no       integer,
    cost_ms          integer,
    start_time       timestamptz,
    end_time         timestamptz,
    next_retry_time  timestamptz,
    action_name      text,
    status           text,
    request_summary  text,
    response_summary text,
    error_code       text,
    error_msg        text,
    calls            text,
    log              text
);
comment on type rea.attempt is 'An attempt to log';

create type rea.status_change as (
    instance_id uuid,
    log_id      integer,
    create_time timestamptz,
    old_status  text,
    new_status  text,
    cause       text
);
comment on type rea.status_change is 'A status change to log';

create type rea.new_event as (
    event_uid      uuid,
    instance_id    uuid,
    event_type     text,
    biz_key        text,
    payload        text,
    attributes     text,
    correlation_id text,
    causation_id   text,
    depth          integer
);
comment on type rea.new_event is 'An event that an instance brings forth';

create type rea.new_wait as (
    instance_id    uuid,
    action_name    text,
    wait_no        integer,
    event_type     text,
    biz_key        text,
    correlation_id text,
    match_contains text,
    match_path     text,
    lookback       double precision
);
comment on type rea.new_wait is 'An event to wait for';
