-- What workers keep about themselves: which generations exist, and how the lanes fare.

create table rea.work_generation (
    generation  bigint      primary key,
    worker_no   integer     not null,
    pid         integer     not null,
    start_time  timestamptz not null
);
comment on table rea.work_generation is 'One row per worker start whose claims may still have to be taken back';
comment on column rea.work_generation.generation is 'Number of the start, its time in microseconds; the owner mark in work_queue';
comment on column rea.work_generation.worker_no is 'Number of the worker in this database, from 0';
comment on column rea.work_generation.pid is 'Process id';
comment on column rea.work_generation.start_time is 'When it started';

create table rea.lane_stat (
    lane          text        primary key,
    in_flight     integer     not null,
    max_in_flight integer     not null,
    success_count bigint      not null,
    failure_count bigint      not null,
    p95_ms        integer,
    gone          boolean     not null,
    update_time   timestamptz not null
) with (fillfactor = 50);
comment on table rea.lane_stat is 'How each lane fares, written by its worker every few seconds while there is work';
comment on column rea.lane_stat.lane is 'The lane';
comment on column rea.lane_stat.in_flight is 'Attempts running or about to run at update_time';
comment on column rea.lane_stat.max_in_flight is 'Bound on them';
comment on column rea.lane_stat.success_count is 'Attempts that succeeded since the worker started';
comment on column rea.lane_stat.failure_count is 'Attempts that failed since the worker started';
comment on column rea.lane_stat.p95_ms is '95th percentile of the last 128 attempts'' duration in ms';
comment on column rea.lane_stat.gone is 'True after the receiver answered 410 Gone';
comment on column rea.lane_stat.update_time is 'When the worker wrote this row';

create view rea.held_instance as
select i.instance_id, i.event_uid, i.workflow_name, i.workflow_version, i.version, i.current_action_index,
       i.retry_count, i.first_try_time, i.update_time, i.deadline_time, i.context::text as context, i.biz_key,
       i.key_no, i.status,
       case when i.parent_instance_id is not null or i.scripts is not null or i.end_status is not null
            then pg_catalog.jsonb_build_object(
                'parent', i.parent_instance_id, 'parentAction', i.parent_action, 'branch', i.branch,
                'itemIndex', i.item_index, 'item', i.item, 'detached', i.detached, 'scripts', i.scripts, 'endStatus', i.end_status,
                'compensation', i.compensation, 'undoNo', i.undo_no, 'errorCode', i.error_code,
                'error', i.error)::text end as extra,
       e.event_type, e.event_id, e.source, e.correlation_id, e.causation_id,
       e.attributes ->> 'traceparent' as traceparent, e.depth, e.payload
from rea.work_instance i
join rea.work_event e on e.event_uid = i.event_uid;
comment on view rea.held_instance is 'An instance and its event as a worker takes them in hand; granted to nobody';
