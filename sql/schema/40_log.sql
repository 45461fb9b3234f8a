-- What was done: every attempt, every status change, and what waits for a person.
-- log_id is drawn from the instance's version, so the rows of both logs together tell its story in order.

create table rea.work_action_log (
    instance_id      uuid        not null,
    log_id           integer     not null,
    attempt_no       integer     not null,
    cost_ms          integer     not null,
    start_time       timestamptz not null,
    end_time         timestamptz not null,
    create_time      timestamptz not null,
    next_retry_time  timestamptz,
    action_name      text        not null,
    status           text        not null check (status in ('SUCCESS', 'FAILED', 'SKIPPED', 'LOST')),
    request_summary  text,
    response_summary text,
    error_code       text,
    error_msg        text,
    calls            jsonb,
    log              jsonb,
    primary key (instance_id, log_id)
) with (autovacuum_vacuum_insert_scale_factor = 0.2);
comment on table rea.work_action_log is 'One row per attempt of an action, lost and skipped ones included';
comment on column rea.work_action_log.instance_id is 'The instance';
comment on column rea.work_action_log.log_id is 'Order inside the instance, shared with work_instance_log';
comment on column rea.work_action_log.attempt_no is 'Number of the attempt, per action from 1, never used twice; 0 for a skipped action';
comment on column rea.work_action_log.cost_ms is 'Duration of the attempt in ms, by the monotonic clock';
comment on column rea.work_action_log.start_time is 'When the attempt began; for a lost one when it was claimed';
comment on column rea.work_action_log.end_time is 'When its answer was there; for a lost one when the loss was noticed';
comment on column rea.work_action_log.create_time is 'When this row was written';
comment on column rea.work_action_log.next_retry_time is 'When the action is tried again; null when it is not';
comment on column rea.work_action_log.action_name is 'Name of the action';
comment on column rea.work_action_log.status is 'SUCCESS, FAILED, SKIPPED (when was not true) or LOST (worker vanished, outcome unknown)';
comment on column rea.work_action_log.request_summary is 'Start of the request, cut at rea.summary_chars; no headers';
comment on column rea.work_action_log.response_summary is 'Status and start of the response, cut at rea.summary_chars';
comment on column rea.work_action_log.error_code is 'Code of the failure, for example http_503, timeout, missing_value';
comment on column rea.work_action_log.calls is 'What a script did: each rea.http and rea.kv.set with its result; null for other actions';
comment on column rea.work_action_log.log is 'What a script wrote with rea.log, level debug only while rea.log_level is debug; null for other actions';
comment on column rea.work_action_log.error_msg is 'Message of the failure';

create table rea.work_instance_log (
    instance_id uuid        not null,
    log_id      integer     not null,
    create_time timestamptz not null,
    old_status  text        not null,
    new_status  text        not null,
    cause       text        not null,
    primary key (instance_id, log_id)
) with (autovacuum_vacuum_insert_scale_factor = 0.2);
comment on table rea.work_instance_log is 'One row per status change of an instance';
comment on column rea.work_instance_log.instance_id is 'The instance';
comment on column rea.work_instance_log.log_id is 'Version of the instance after the change';
comment on column rea.work_instance_log.create_time is 'When it changed';
comment on column rea.work_instance_log.old_status is 'Status before; PENDING at the start';
comment on column rea.work_instance_log.new_status is 'Status after';
comment on column rea.work_instance_log.cause is 'Why, for example claimed, retry, http_503, deadline, retry_instance';

create table rea.work_dead_letter (
    instance_id    uuid        primary key,
    create_time    timestamptz not null,
    announced_time timestamptz,
    workflow_name  text        not null,
    biz_key        text        not null,
    status         text        not null check (status in ('FAILED', 'DEAD')),
    action_name    text,
    error_code     text        not null,
    error          text        not null
);
create index work_dead_letter_time on rea.work_dead_letter (create_time);
comment on table rea.work_dead_letter is 'Instances that ended FAILED or DEAD; retry_instance takes them out again';
comment on column rea.work_dead_letter.instance_id is 'The instance';
comment on column rea.work_dead_letter.create_time is 'When it ended';
comment on column rea.work_dead_letter.announced_time is 'When the alert named it; null when not yet';
comment on column rea.work_dead_letter.workflow_name is 'Its workflow';
comment on column rea.work_dead_letter.biz_key is 'Business key of its event';
comment on column rea.work_dead_letter.status is 'FAILED (cannot succeed, or too late) or DEAD (retries used up)';
comment on column rea.work_dead_letter.action_name is 'Action that failed';
comment on column rea.work_dead_letter.error_code is 'Code of its last failure';
comment on column rea.work_dead_letter.error is 'Message of its last failure';
