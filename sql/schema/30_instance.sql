-- Runs of workflows: the lasting row, and the queue row that exists while the run is alive.
-- Columns that change stand at the end of work_instance, so that an update writes little WAL.
-- fillfactor 50: the rows of a page are often updated by one transaction, and each needs room for its next version there
-- to stay heap-only (measured: 58 % heap-only at 70, all at 50).

create table rea.work_instance (
    instance_id          uuid        primary key,
    event_uid            uuid        not null,
    create_time          timestamptz not null,
    workflow_version     integer     not null,
    route_version        integer     not null,
    workflow_name        text        not null,
    route_name           text        not null,
    biz_key              text        not null,
    event_id             text        not null,
    source               text        not null,
    fired_by             name        not null,
    parent_instance_id   uuid,
    parent_action        text,
    branch               text,
    item_index           integer,
    item                 jsonb,
    detached             boolean     not null default false,
    scripts              jsonb,
    deadline_time        timestamptz,
    status               text        not null check (status in
        ('PENDING', 'RUNNING', 'WAITING', 'PAUSED', 'COMPENSATING', 'SUCCESS', 'FAILED', 'DEAD', 'CANCELLED')),
    current_action_index integer     not null,
    retry_count          integer     not null,
    key_no               integer     not null default 1,
    version              integer     not null,
    update_time          timestamptz not null,
    first_try_time       timestamptz,
    next_retry_time      timestamptz,
    paused_time          timestamptz,
    end_time             timestamptz,
    context              jsonb,
    result               jsonb,
    error_code           text,
    error                text,
    end_status           text        check (end_status in ('FAILED', 'DEAD', 'CANCELLED')),
    compensation         text        check (compensation in ('running', 'done', 'failed', 'none')),
    undo_no              integer     not null default 0
) with (fillfactor = 50);
create index work_instance_biz_key on rea.work_instance (biz_key);
create index work_instance_event on rea.work_instance (event_uid);
create index work_instance_parent on rea.work_instance (parent_instance_id) where parent_instance_id is not null;
create index work_instance_workflow_time on rea.work_instance (workflow_name, create_time);

comment on table rea.work_instance is 'One row per run of a workflow, kept after its end';
comment on column rea.work_instance.instance_id is 'Identity (UUID version 7)';
comment on column rea.work_instance.event_uid is 'Event that started it';
comment on column rea.work_instance.create_time is 'When the event was routed';
comment on column rea.work_instance.workflow_version is 'Version of the definition it runs, to its end';
comment on column rea.work_instance.route_version is 'Version of the route that chose it';
comment on column rea.work_instance.workflow_name is 'Workflow it runs';
comment on column rea.work_instance.route_name is 'Route that chose it';
comment on column rea.work_instance.biz_key is 'Business key of the event';
comment on column rea.work_instance.event_id is 'Id of the event as its source knows it';
comment on column rea.work_instance.source is 'Source of the event';
comment on column rea.work_instance.fired_by is 'Role that fired the event; decides who may see the instance';
comment on column rea.work_instance.parent_instance_id is 'Instance that started it as a branch or child workflow; null for one that a route started';
comment on column rea.work_instance.parent_action is 'Action of the parent that started it';
comment on column rea.work_instance.branch is 'Branch of that action: its name, the number of an item or of a case, or default; null for a child workflow';
comment on column rea.work_instance.item_index is 'Position of its item in the array of a foreach, from 0; else null';
comment on column rea.work_instance.item is 'Its item of a foreach; else null';
comment on column rea.work_instance.detached is 'True for a child workflow that its parent does not wait for';
comment on column rea.work_instance.scripts is 'Versions of the scripts it uses, by name: the newest ones when it started';
comment on column rea.work_instance.deadline_time is 'When timeoutSeconds ends it; null when none was given';
comment on column rea.work_instance.status is 'PENDING, RUNNING, WAITING, PAUSED, COMPENSATING; SUCCESS, FAILED, DEAD, CANCELLED are final';
comment on column rea.work_instance.current_action_index is 'Resume point: index, from 0, of the action that runs now or runs next';
comment on column rea.work_instance.retry_count is 'Retries used by the current action';
comment on column rea.work_instance.key_no is 'Number of its idempotency keys: 1, and one more for each retry_instance with fresh_key';
comment on column rea.work_instance.version is 'Counts every row written about the instance; every change is made only if it is still the one read';
comment on column rea.work_instance.update_time is 'When the row last changed';
comment on column rea.work_instance.first_try_time is 'When the first attempt of the current action began; null before';
comment on column rea.work_instance.next_retry_time is 'When the current action is tried again; null when none is planned';
comment on column rea.work_instance.paused_time is 'When it was paused; null when not paused';
comment on column rea.work_instance.end_time is 'When it reached a final status; null while alive';
comment on column rea.work_instance.context is 'Outputs of finished actions by name, and statuses other than SUCCESS';
comment on column rea.work_instance.result is 'Value of the workflow''s output template after success';
comment on column rea.work_instance.error_code is 'Code of the failure that ended or paused it';
comment on column rea.work_instance.error is 'Message of that failure';
comment on column rea.work_instance.end_status is 'Final status it will have once compensation is through; null before';
comment on column rea.work_instance.compensation is 'running, done, failed (an undo failed for good) or none (nothing to undo); null unless it failed or was cancelled';
comment on column rea.work_instance.undo_no is 'Undo actions that are through';

create table rea.work_queue (
    instance_id      uuid        primary key,
    due_time         timestamptz not null,
    deadline_time    timestamptz,
    owner_generation bigint,
    attempt_no       integer     not null,
    lost_count       integer     not null,
    lane             text        not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
create index work_queue_lane_due on rea.work_queue (lane, due_time);
create index work_queue_deadline on rea.work_queue (deadline_time) where deadline_time is not null;

comment on table rea.work_queue is 'One row per live instance: where it queues and which worker generation holds it';
comment on column rea.work_queue.instance_id is 'The instance';
comment on column rea.work_queue.due_time is 'When its next attempt may start; infinity while paused';
comment on column rea.work_queue.deadline_time is 'When timeoutSeconds ends it; null when none, or while paused';
comment on column rea.work_queue.owner_generation is 'Worker generation that holds the instance; null when it is free';
comment on column rea.work_queue.attempt_no is 'Number of the current action''s attempt that runs now or ran last; 0 before the first';
comment on column rea.work_queue.lost_count is 'Attempts of the current action whose worker vanished';
comment on column rea.work_queue.lane is 'Named queue in front of one downstream, at most 255 bytes; ~wait while it waits for something, ~flow for steps that need no downstream';
